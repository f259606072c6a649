"""HistogramBoostingRanker: objectives, metrics, groups, and LightGBM's own trees in parity mode."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
from parity_lightgbm import SETTINGS, difference
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from algorithms import HistogramBoostingRanker, HistogramBoostingRegressor
from algorithms.gbdt.kernels.ranking import write_average_precision, write_ndcg
from algorithms.gbdt.query_groups import find_discounts, local_order, read_group
from algorithms.gbdt.ranking_objectives import RankingGradients, find_ranking_objective
from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.runtime.jit import kernel
from algorithms.runtime.math_functions import log
from algorithms.runtime.threads import Workers


def queries(seed=0, n_queries=40, longest=30, n_features=5):
    """Return X, labels 0 … 4 and group sizes of random queries."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, longest, n_queries)
    X = rng.normal(size=(group.sum(), n_features))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X, np.clip(np.round(signal + 0.5), 0, 4).astype(int), group


X, Y, GROUP = queries()
X_VALID, Y_VALID, GROUP_VALID = queries(1)
VALID = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [GROUP_VALID]}


def ranker(**params):
    return HistogramBoostingRanker(**{"n_estimators": 5, "min_child_samples": 5, **params})


def gradients(params, y, score, group, weight=None, n_threads=1):
    """Return g and h of a ranking objective."""
    objective, bounds = find_ranking_objective(params), read_group(group, len(y))
    g, h = np.empty((2, len(y)), np.float32)
    made = RankingGradients(objective, y.astype(float), bounds, seed=3)
    with Workers(n_threads) as workers:
        made.write(score, weight, g, h, 2, workers)
    return g, h


def lambdarank_of_query(params, y, score):
    """Return g and h of the documents of one query, pair by pair."""
    g, h = np.zeros((2, len(y)))
    order = np.argsort(-score, kind="stable")
    gain, discount = 2.0**y - 1.0, 1.0 / np.log2(2.0 + np.arange(len(y)))
    level = params.lambdarank_truncation_level
    best = (np.sort(gain)[::-1] * discount)[:level].sum()
    total = 0.0
    for i, a in enumerate(order):
        for j, b in list(enumerate(order))[i + 1 :]:
            if i >= level or y[a] == y[b]:
                continue
            high, low = (a, b) if y[a] > y[b] else (b, a)
            delta = (gain[high] - gain[low]) * abs(discount[i] - discount[j]) / best
            gap = score[high] - score[low]
            if params.lambdarank_norm and score.max() != score.min():
                delta /= 0.01 + abs(gap)
            p = 1.0 / (1.0 + np.exp(params.sigmoid * gap))
            g[high] -= params.sigmoid * delta * p
            g[low] += params.sigmoid * delta * p
            h[[high, low]] += params.sigmoid**2 * delta * p * (1.0 - p)
            total += 2.0 * params.sigmoid * delta * p
    scale = np.log2(1.0 + total) / total if params.lambdarank_norm and total > 0.0 else 1.0
    return g * scale, h * scale


def xendcg_of_query(y, score, u):
    """Return g and h of the documents of one query."""
    if len(y) == 1:
        return np.zeros(1), np.zeros(1)
    rho = np.exp(score - score.max())
    rho /= rho.sum()
    phi = 2.0**y - u
    first = rho - phi / phi.sum()
    term = first / (1.0 - rho)
    second = rho * (term.sum() - term)
    term = second / (1.0 - rho)
    return first + second + rho * (term.sum() - term), rho * (1.0 - rho)


# ------------------------------------------------------------------ gradients


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"lambdarank_norm": False, "sigmoid": 2.0},
        {"lambdarank_truncation_level": 3},
        {"objective": "xendcg"},
    ],
)
def test_gradients_are_those_of_the_formulas(given, ties):
    rng = np.random.default_rng(5)
    group = [1, 2, 17, 40, 70]
    score = rng.normal(size=130)
    score = np.round(score) if ties else score
    y = rng.integers(0, 4, 130)
    y[1:3] = 0  # a query without a relevant document
    weight = rng.uniform(0.5, 2.0, 130)
    params = ranker(**given)
    found = gradients(params, y, score, group, weight)
    u = (hash_numbers(np.uint32(seed_of(3, 2, 6)), 130) >> 8) * 2.0**-24
    wanted, start = [], 0
    for size in group:
        rows = slice(start, start + size)
        if "objective" in given:
            wanted.append(xendcg_of_query(y[rows], score[rows], u[rows]))
        else:
            wanted.append(lambdarank_of_query(params, y[rows], score[rows]))
        start += size
    for values, parts in zip(found, zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(values, np.concatenate(parts) * weight, rtol=2e-6, atol=1e-7)
    again = gradients(params, y, score, group, weight, n_threads=2)
    np.testing.assert_array_equal(found, again)


def test_the_order_of_the_last_round_does_not_change_gradients():
    rng = np.random.default_rng(0)
    made = RankingGradients(
        find_ranking_objective(ranker()), Y.astype(float), read_group(GROUP, len(Y)), seed=0
    )
    with Workers(1) as workers:
        for number in range(4):
            score = np.round(rng.normal(size=len(Y)), 1)
            g, h = np.empty((2, len(Y)), np.float32)
            made.write(score, None, g, h, number, workers)
            np.testing.assert_array_equal(g, gradients(ranker(), Y, score, GROUP)[0])


def test_logarithm():
    @kernel
    def write_logs(x, out):
        for i in range(len(x)):
            out[i] = log(x[i])

    x = np.concatenate([np.logspace(-300, 300, 5001), np.linspace(0.5, 2.0, 5001)])
    out = np.empty_like(x)
    write_logs(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=1e-15, atol=0.0)


# ------------------------------------------------------------------ parity


def parity_case(seed):
    """Return what a random case's model and LightGBM's differ in."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, int(rng.choice([4, 20, 80])), int(rng.integers(3, 40)))
    n = int(group.sum())
    X = np.round(rng.normal(size=(n, 4)), int(rng.integers(1, 6)))
    X[rng.random((n, 4)) < rng.choice([0.0, 0.2])] = np.nan
    signal = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=n) * 0.5
    y = np.clip(np.round(signal), 0, int(rng.choice([1, 4]))).astype(int)
    weight = rng.lognormal(size=n) if rng.random() < 0.4 else None
    params = {
        "num_leaves": int(rng.choice([4, 15, 31])),
        "min_child_samples": int(rng.choice([1, 5, 20])),
        "learning_rate": float(rng.choice([0.1, 0.5])),
        "reg_lambda": float(rng.choice([0.0, 0.3])),
        "sigmoid": float(rng.choice([1.0, 2.0, 0.37])),
        "lambdarank_norm": bool(rng.random() < 0.7),
        "lambdarank_truncation_level": int(rng.choice([1, 5, 30])),
    }
    if rng.random() < 0.3:
        params["label_gain"] = [0, 1.5, 2.25, 7, 9.1]
    ours = HistogramBoostingRanker(parity="lightgbm", n_estimators=8, **params)
    ours.fit(X, y, group=group, sample_weight=weight)
    rows = lightgbm.Dataset(X, label=y, group=group, weight=weight, params=SETTINGS | params)
    given = SETTINGS | params | {"objective": "lambdarank"}
    return difference(ours, lightgbm.train(given, rows, num_boost_round=8))


def test_parity_mode_grows_lightgbms_trees():
    assert [parity_case(seed) for seed in range(12)] == [""] * 12


@pytest.mark.slow
def test_parity_mode_grows_lightgbms_trees_in_many_cases():
    assert [parity_case(seed) for seed in range(12, 250)] == [""] * 238


def test_parity_mode_supports_lambdarank_only():
    with pytest.raises(ValueError, match="objective='rank_xendcg' is not supported"):
        ranker(objective="rank_xendcg", parity="lightgbm").fit(X, Y, group=GROUP)


# ------------------------------------------------------------------ metrics


def test_ndcg_and_average_precision_of_a_query():
    rng = np.random.default_rng(2)
    group, levels = np.array([1, 4, 30, 5]), np.array([1, 3, 10])
    y, score = rng.integers(0, 4, 40).astype(float), np.round(rng.normal(size=40), 3)
    y[35:] = 0.0  # a query without a relevant document
    bounds = read_group(group, 40)
    spare, gain = np.empty(30, np.int32), 2.0 ** np.arange(4) - 1.0
    ndcg, precision = np.empty((2, 4, 3))
    given = score, y, bounds, gain, find_discounts(bounds), levels
    write_ndcg(*given, local_order(bounds), spare, np.empty(4, np.int64), ndcg)
    write_average_precision(score, y, bounds, levels, local_order(bounds), spare, precision)
    for q, k in [(1, 1), (2, 0), (2, 1), (2, 2), (3, 1)]:
        rows = slice(bounds[q], bounds[q + 1])
        relevant = y[rows][np.argsort(-score[rows])] > 0.5
        hits = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
        if not relevant.any():
            assert ndcg[q, k] == precision[q, k] == 1.0
            continue
        wanted = ndcg_score([2.0 ** y[rows] - 1.0], [score[rows]], k=levels[k])
        assert ndcg[q, k] == pytest.approx(wanted, rel=1e-12)
        top = slice(min(levels[k], len(relevant)))
        wanted = hits[top][relevant[top]].sum() / min(relevant.sum(), len(relevant[top]))
        assert precision[q, k] == pytest.approx(wanted, rel=1e-12)


def test_metrics_are_lightgbms_for_the_same_scores():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(Y_VALID))
    y = Y_VALID.copy()
    y[np.cumsum(GROUP_VALID) - 1] = 2  # LightGBM does not weigh queries without a relevant document
    valid = {"eval_set": [(X_VALID, y)], "eval_group": [GROUP_VALID], "eval_metric": ["map"]}
    model = ranker(metric="ndcg").fit(X, Y, group=GROUP, eval_sample_weight=[weight], **valid)
    booster = lightgbm.Booster(model_str=model.booster_.model_to_string())
    rows = lightgbm.Dataset(X_VALID, y, weight=weight, group=GROUP_VALID, params=SETTINGS)
    again = lightgbm.train(
        SETTINGS | {"objective": "lambdarank", "metric": ["ndcg", "map"], "learning_rate": 1e-30},
        rows,
        1,
        init_model=booster,
        valid_sets=[rows],
        valid_names=["valid_0"],
    )
    theirs = again.best_score["valid_0"]
    assert {"ndcg@1", "map@5"} < theirs.keys()
    assert model.best_score_["valid_0"] == pytest.approx(
        dict(theirs), rel=1e-7
    )  # its weights are float32


def test_early_stopping_by_ndcg():
    model = ranker(n_estimators=200, early_stopping_round=5, learning_rate=0.3)
    model.fit(X, Y, group=GROUP, **VALID, eval_at=[3])
    history = model.evals_result_["valid_0"]["ndcg@3"]
    assert list(model.evals_result_["valid_0"]) == ["ndcg@3"]
    assert model.best_iteration_ == np.argmax(history) + 1 < 200
    assert model.n_iter_ == model.best_iteration_ == len(history) - 5
    assert model.best_score_["valid_0"]["ndcg@3"] == max(history)


def test_eval_at_of_the_constructor_counts_more():
    with pytest.warns(UserWarning, match="Found 'ndcg_at' in params"):
        model = ranker(ndcg_at="2,4").fit(X, Y, group=GROUP, **VALID)
    assert list(model.best_score_["valid_0"]) == ["ndcg@2", "ndcg@4"]


def test_user_functions_get_the_groups():
    seen = []

    def objective(y, score, weight, group):
        seen.append((weight, group.tolist()))
        return score - y, np.ones(len(y))

    def metric(y, score, weight, group):
        seen.append((weight, group.tolist()))
        return "mse", np.mean((y - score) ** 2), False

    model = ranker(objective=objective, n_estimators=2)
    model.fit(X, Y, group=GROUP, **VALID, eval_metric=metric)
    assert seen[:2] == [(None, GROUP.tolist()), (None, GROUP_VALID.tolist())]
    assert model.evals_result_["valid_0"]["mse"][1] < model.evals_result_["valid_0"]["mse"][0]


# ------------------------------------------------------------------ models


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_ranks_as_well_as_lightgbm(objective):
    rows, valid = queries(2, 200), queries(3, 200)
    shared = {"objective": objective, "n_estimators": 30, "min_child_samples": 5}
    ours = HistogramBoostingRanker(**shared).fit(rows[0], rows[1], group=rows[2])
    theirs = lightgbm.LGBMRanker(**shared, verbose=-1, n_jobs=1)
    theirs.fit(rows[0], rows[1], group=rows[2])
    found = [mean_ndcg(model.predict(valid[0]), *valid[1:]) for model in (ours, theirs)]
    constant = mean_ndcg(np.zeros(len(valid[0])), *valid[1:])
    assert found[0] > found[1] - 0.01
    assert found[0] > constant + 0.2


def mean_ndcg(score, y, group):
    """Return the mean NDCG@5 of queries with several documents."""
    ends = np.cumsum(group)
    parts = [slice(end - n, end) for end, n in zip(ends, group, strict=True) if n > 1]
    return np.mean([ndcg_score([2.0 ** y[one] - 1], [score[one]], k=5) for one in parts])


@pytest.mark.parametrize(
    "params",
    [
        {"objective": "xendcg"},
        {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
        {"boosting_type": "goss", "learning_rate": 1.0},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    ],
)
def test_the_model_does_not_depend_on_the_number_of_threads(params):
    rows = queries(4, 900)
    weight = np.random.default_rng(0).integers(0, 3, len(rows[1]))  # some rows have weight 0
    given = {"group": rows[2], "sample_weight": weight}
    one, two = (ranker(n_jobs=n, **params).fit(*rows[:2], **given) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(rows[0]), two.predict(rows[0]))
    assert np.ptp(one.predict(rows[0])) > 0.0


def test_rows_of_weight_0_keep_their_places_in_the_ranking():
    weight = np.ones(len(Y))
    weight[::3] = 0.0
    left_out = ranker().fit(X, Y, group=GROUP, sample_weight=weight)
    size = [np.sum(part > 0) for part in np.split(weight, np.cumsum(GROUP)[:-1])]
    dropped = ranker().fit(X[weight > 0], Y[weight > 0], group=size)
    assert (left_out.predict(X) != dropped.predict(X)).any()
    with pytest.raises(ValueError, match="at least one non-zero"):
        ranker().fit(X, Y, group=GROUP, sample_weight=np.zeros(len(Y)))


@pytest.mark.parametrize("name", ["model.json", "model.txt"])
@pytest.mark.parametrize("objective", [None, "xe_ndcg"])
def test_saved_models(tmp_path, name, objective):
    model = ranker(objective=objective).fit(X, Y, group=GROUP)
    model.save_model(tmp_path / name)
    again = HistogramBoostingRanker().load_model(tmp_path / name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    if name.endswith("txt"):
        booster = lightgbm.Booster(model_file=tmp_path / name)
        np.testing.assert_allclose(booster.predict(X), model.predict(X), rtol=1e-12)
        written = (tmp_path / name).read_text()
        assert f"objective={'rank_xendcg' if objective else 'lambdarank'}" in written
        again.save_model(tmp_path / "again.txt")
        assert again.objective in (tmp_path / "again.txt").read_text()


def test_a_model_of_lightgbm_is_continued():
    first = lightgbm.LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1).fit(X, Y, group=GROUP)
    model = ranker().fit(X, Y, group=GROUP, init_model=first)
    assert model.n_iter_ == 8
    np.testing.assert_allclose(model.predict(X, num_iteration=3), first.predict(X), rtol=1e-12)


def test_prediction_options_and_attributes():
    model = ranker().fit(pd.DataFrame(X, columns=list("abcde")), Y, group=list(GROUP))
    frame = pd.DataFrame(X, columns=list("abcde"))
    contrib = model.predict(frame, pred_contrib=True)
    np.testing.assert_allclose(contrib.sum(axis=1), model.predict(frame, raw_score=True))
    assert model.predict(frame, pred_leaf=True).shape == (len(X), 5)
    assert model.feature_name_ == list("abcde")
    assert model.objective_ == "lambdarank"
    assert not hasattr(model, "_bounds") or model._bounds is None
    assert not hasattr(model, "classes_")


def test_estimator_conventions():
    model = ranker(lambdarank_truncation_level=7, label_gain=[0, 1, 2, 3, 4])
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["lambdarank_truncation_level"] == 7
    for check in (
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
    ):
        check("HistogramBoostingRanker", HistogramBoostingRanker())
    with pytest.raises(TypeError, match="did you mean 'lambdarank_norm'"):
        HistogramBoostingRanker(lambdarank_normm=True)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (None, "Should set group"),
        ([len(Y) - 1], "Sum of query counts"),
        ([len(Y) + 1, -1], "none of them negative"),
        ([len(Y) - 0.5, 0.5], "whole numbers"),
        ([[len(Y)]], "one-dimensional"),
        ([], "one-dimensional"),
        (["a"], "one-dimensional"),
    ],
)
def test_groups_that_are_refused(group, words):
    with pytest.raises(ValueError, match=words):
        ranker().fit(X, Y, group=group)


@pytest.mark.parametrize(
    ("params", "given", "words"),
    [
        ({"objective": "regression"}, {}, "not one for ranking"),
        ({"sigmoid": 0.0}, {}, "sigmoid must be"),
        ({"lambdarank_truncation_level": 0}, {}, "truncation_level must be"),
        ({"label_gain": [0, 3, 1, 4, 5]}, {}, "do not decrease"),
        ({"label_gain": "0,1"}, {}, "has no gain: label_gain is of 2 labels"),
        ({}, {"eval_at": [0]}, "whole numbers above 0"),
        ({}, {"eval_group": None}, "eval_group cannot be None"),
        ({}, {"eval_group": [None]}, "Should set group for all"),
        (
            {},
            {"eval_group": [GROUP_VALID, GROUP]},
            r"Length of eval_group \(2\) not equal to length of eval_set \(1\)",
        ),
        ({}, {"eval_group": [GROUP_VALID[1:]]}, "eval_group holds the number of rows"),
        ({}, {"eval_metric": "binary_error"}, "no eval_metric 'binary_error'"),
        ({}, {"eval_set": [(X_VALID, Y_VALID + 0.5)]}, "of eval_set has"),
    ],
)
def test_arguments_that_are_refused(params, given, words):
    with pytest.raises(ValueError, match=words):
        ranker(**params).fit(X, Y, group=GROUP, **(VALID | given))


@pytest.mark.parametrize("wrong", [-1, 31, 0.5, np.nan])
def test_labels_that_are_refused(wrong):
    y = Y.astype(float)
    y[3] = wrong
    with pytest.raises(ValueError, match=r"label|NaN"):
        ranker().fit(X, y, group=GROUP)


def test_a_query_of_no_rows_is_left_out():
    given = [0, *GROUP, 0]
    found = [ranker().fit(X, Y, group=one).predict(X) for one in (GROUP, given)]
    np.testing.assert_array_equal(*found)


def test_other_estimators_have_no_ranking_objective():
    with pytest.raises(ValueError, match="not one for regression"):
        HistogramBoostingRegressor(objective="lambdarank").fit(X, Y)
