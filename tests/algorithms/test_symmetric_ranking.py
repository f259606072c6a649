"""SymmetricBoostingRanker: derivatives, metrics, pairs, weights, files, and CatBoost's ranker."""

import json
import os
import pickle
import sys
from itertools import pairwise
from pathlib import Path

import catboost
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from algorithms import SymmetricBoostingRanker
from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.runtime.threads import Workers
from algorithms.symmetric.query_pairs import Pairs, read_group_id
from algorithms.symmetric.ranking_objectives import DRAW, PairDerivatives, find_ranking_objective
from harness import Spec, Task
from harness.plugins.registry import load_registry

QUIET = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
FIXED = {"bootstrap_type": "No", "random_strength": 0, "depth": 4, "learning_rate": 0.1}


def queries(seed=0, n_queries=40, longest=20):
    """Return X, labels 0 … 4 and the query of each row."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    X = rng.normal(size=(len(group), 5)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X, np.clip(np.round(signal + 0.5), 0, 4), group


X, Y, GROUP = queries()
X_VALID, Y_VALID, GROUP_VALID = queries(1)
VALID = {"eval_set": (X_VALID, Y_VALID), "eval_group_id": GROUP_VALID}
BOUNDS = read_group_id(GROUP, len(Y))


def ranker(loss="YetiRank", **params):
    """Return a small ranker."""
    return SymmetricBoostingRanker(**{"loss_function": loss, "iterations": 5, **params})


def library(loss, pool, **params):
    """Return CatBoost's ranker, fitted."""
    return catboost.CatBoostRanker(loss_function=loss, **QUIET, **params).fit(pool)


def derivatives(loss, score, weight, pairs=None, n_threads=1):
    """Return g, h and the weights of the pairs of each row."""
    found = PairDerivatives(find_ranking_objective(loss), Y, BOUNDS, weight, pairs)
    sums = np.empty((3, len(Y)))
    with Workers(n_threads) as workers:
        found.write(np.exp(score), sums, 7, workers)
    return sums


def sum_pairs(score, pairs):
    """Return g, h and the weights of each row, pair by pair: (winner, loser, weight)."""
    sums = np.zeros((3, len(score)))
    for a, b, w in pairs:
        p = 1.0 / (1.0 + np.exp(score[a] - score[b]))
        sums[:, a] += w * p, -w * p * (1.0 - p), w
        sums[:, b] += -w * p, -w * p * (1.0 - p), w
    return sums


# ------------------------------------------------------------------ derivatives


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("given", [False, True])
def test_derivatives_of_pairlogit_are_those_of_the_pairs(given, n_threads):
    rng = np.random.default_rng(3)
    score, weight = rng.normal(size=len(Y)), rng.uniform(0.5, 2.0, len(BOUNDS) - 1)
    every = [
        (a, b, weight[q])
        for q in range(len(weight))
        for a in range(BOUNDS[q], BOUNDS[q + 1])
        for b in range(BOUNDS[q], BOUNDS[q + 1])
        if Y[a] > Y[b]
    ]
    pairs = Pairs.from_labels(Y, BOUNDS).scale(weight)
    if given:
        chosen = rng.permutation(len(every))[:150]
        own = rng.uniform(size=150)
        every = [every[k] for k in chosen]
        rows = np.array([one[:2] for one in every])
        pairs = Pairs.from_rows(rows, BOUNDS, own).scale(weight)
        every = [(a, b, w * of_pair) for (a, b, w), of_pair in zip(every, own, strict=True)]
    found = derivatives("PairLogit", score, weight, pairs, n_threads)
    np.testing.assert_allclose(found, sum_pairs(score, every), rtol=1e-12, atol=1e-14)


def test_derivatives_of_yetirank_are_those_of_neighbors_in_drawn_orders():
    rng = np.random.default_rng(3)
    score, weight = rng.normal(size=len(Y)), rng.uniform(0.5, 2.0, len(BOUNDS) - 1)
    seeds = hash_numbers(seed_of(7, 0, DRAW), 3)
    pairs = []
    for seed in seeds:
        u = (hash_numbers(seed, len(Y)) >> 8) * 2.0**-24
        noisy = np.exp(score) * (u / (1.000001 - u))
        for q in range(len(weight)):
            start, end = BOUNDS[q], BOUNDS[q + 1]
            order = start + np.argsort(-noisy[start:end], kind="stable")
            for rank, (a, b) in enumerate(pairwise(order)):
                w = 0.15 * 0.5**rank * abs(Y[a] - Y[b]) * weight[q] / 3
                pairs.append((a, b, w) if Y[a] > Y[b] else (b, a, w))
    found = derivatives("YetiRank:permutations=3;decay=0.5", score, weight)
    np.testing.assert_allclose(found, sum_pairs(score, pairs), rtol=1e-12, atol=1e-14)


# ------------------------------------------------------------------ CatBoost's ranker


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"leaf_estimation_iterations": 5},
        {"score_function": "L2", "l2_leaf_reg": 0},
        {"leaf_estimation_method": "Gradient"},
    ],
)
def test_pairlogit_predicts_as_catboost_without_random_numbers(params):
    theirs = library(
        "PairLogit", catboost.Pool(X, Y, group_id=GROUP), iterations=8, **FIXED, **params
    )
    ours = ranker("PairLogit", **FIXED, **{**params, "iterations": 8}).fit(X, Y, GROUP)
    found, expected = ours.predict(X_VALID), theirs.predict(X_VALID)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pairlogit_predicts_as_catboost_with_pairs_or_weights():
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.5, 2.0, len(BOUNDS) - 1)[GROUP]
    every = Pairs.from_labels(Y, BOUNDS)
    chosen = rng.random(len(every.winner)) < 0.3
    pairs = np.column_stack([every.winner, every.loser])[chosen]
    weighted = catboost.Pool(X, Y, group_id=GROUP, group_weight=weight)
    paired = catboost.Pool(X, Y, group_id=GROUP, pairs=pairs)
    for pool, given in ((weighted, {"sample_weight": weight}), (paired, {"pairs": pairs})):
        theirs = library("PairLogit", pool, iterations=8, **FIXED)
        ours = ranker("PairLogit", iterations=8, **FIXED).fit(X, Y, GROUP, **given)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "metric", ["NDCG", "NDCG:top=5", "NDCG:top=3;type=Exp", "MAP", "MAP:top=3", "PairLogit", None]
)
def test_metrics_equal_catboost(metric):
    pool = catboost.Pool(X, Y, group_id=GROUP)
    valid = catboost.Pool(X_VALID, np.minimum(Y_VALID, 2), group_id=GROUP_VALID)
    theirs = catboost.CatBoostRanker(
        loss_function="PairLogit", iterations=4, eval_metric=metric, **FIXED, **QUIET
    ).fit(pool, eval_set=valid, use_best_model=False)
    ours = ranker("PairLogit", iterations=4, eval_metric=metric, **FIXED).fit(
        X,
        Y,
        GROUP,
        **{**VALID, "eval_set": (X_VALID, np.minimum(Y_VALID, 2))},
        use_best_model=False,
    )
    ((name, values),) = ours.evals_result_["validation"].items()
    expected = theirs.get_evals_result()["validation"][name]
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit"])
def test_held_out_queries_are_ranked_as_well_as_by_catboost(loss):
    train, test = queries(5, 150), queries(6, 150)
    pool = catboost.Pool(train[0], train[1], group_id=train[2])
    theirs = library(loss, pool, iterations=60, learning_rate=0.1, depth=4)
    ours = ranker(loss, iterations=60, learning_rate=0.1, depth=4).fit(*train)
    expected = theirs.score(catboost.Pool(test[0], test[1], group_id=test[2]))
    assert ours.score(*test) > expected - 0.015
    assert ours.score(*test) > 0.9


def real_queries():
    """Return the training and test rows of LightGBM's ranking example: (X, y, queries)."""
    folder = os.environ.get("HARNESS_MIRROR")
    if not folder:
        pytest.skip("HARNESS_MIRROR is not set")
    from sklearn.datasets import load_svmlight_file

    folder = Path(folder) / "lightgbm_lambdarank"
    for name, file in (("train", "rank.train.gz"), ("test", "rank.test")):
        rows, y = load_svmlight_file(str(folder / file), n_features=301)
        sizes = np.loadtxt(folder / f"rank.{name}.query", dtype=int)
        yield rows.toarray().astype(np.float32), y, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit"])
def test_real_queries_are_ranked_as_well_as_by_catboost(loss):
    train, test = real_queries()
    found = []
    for seed in range(3):
        params = {"iterations": 100, "learning_rate": 0.1, "random_seed": seed}
        theirs = library(loss, catboost.Pool(train[0], train[1], group_id=train[2]), **params)
        ours = ranker(loss, **params).fit(*train)
        pool = catboost.Pool(test[0], test[1], group_id=test[2])
        found.append((ours.score(*test, top=10), theirs.score(pool, top=10)))
    ours, theirs = np.mean(found, axis=0)
    sys.stdout.write(f"{loss}: NDCG at 10 is {ours:.4f}, CatBoost's {theirs:.4f}\n")
    assert ours > theirs - 0.02


# ------------------------------------------------------------------ the estimator


@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit"])
def test_the_model_depends_on_neither_threads_nor_the_names_of_queries(loss):
    expected = ranker(loss, thread_count=1, random_seed=3).fit(X, Y, GROUP).predict(X)
    names = pd.Series([f"query {99 - g}" for g in GROUP])
    for n_threads in (1, 2):
        found = ranker(loss, thread_count=n_threads, random_seed=3).fit(X, Y, names).predict(X)
        assert np.array_equal(found, expected)
    assert np.unique(expected).size > 10


@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit"])
def test_queries_of_weight_zero_are_left_out(loss):
    weight = (GROUP % 3 > 0).astype(float)
    kept = weight > 0
    expected = ranker(loss, **FIXED).fit(X[kept], Y[kept], GROUP[kept]).predict(X)
    found = ranker(loss, **FIXED).fit(X, Y, GROUP, sample_weight=weight).predict(X)
    assert np.array_equal(found, expected)


def test_pairs_of_queries_of_weight_zero_are_left_out():
    every = Pairs.from_labels(Y, BOUNDS)
    pairs = np.column_stack([every.winner, every.loser])[::-1]
    weight = (GROUP % 3 > 0).astype(float)
    found = ranker("PairLogit").fit(X, Y, GROUP, sample_weight=weight, pairs=pairs).predict(X)
    expected = ranker("PairLogit").fit(X, Y, GROUP, sample_weight=weight).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_best_iteration_is_kept():
    model = ranker("PairLogit", iterations=60, learning_rate=0.8, early_stopping_rounds=5)
    model.fit(X, Y, GROUP, **VALID)
    losses = model.evals_result_["validation"]["PairLogit"]
    assert model.best_iteration_ == int(np.argmin(losses)) == model.tree_count_ - 1
    assert model.n_iter_ == len(losses) == model.best_iteration_ + 6 < 60
    queried = [(X, Y), (X_VALID, Y_VALID)]
    both = ranker(iterations=3).fit(
        X, Y, GROUP, eval_set=queried, eval_group_id=[GROUP, GROUP_VALID]
    )
    values = [one["NDCG:type=Base"] for one in both.evals_result_.values()]
    score = both.predict(X_VALID)
    assert values[1][-1] == pytest.approx(both.score(X_VALID, Y_VALID, GROUP_VALID), rel=1e-6)
    assert len(values[0]) == 3
    assert score.shape == (len(X_VALID),)


@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit"])
def test_labels_without_a_pair_give_a_constant(loss):
    model = ranker(loss).fit(X, np.ones(len(X)), GROUP)
    assert np.array_equal(model.predict(X), np.zeros(len(X)))
    alone = ranker(loss).fit(X, Y, np.arange(len(X)))
    assert np.array_equal(alone.predict(X), np.zeros(len(X)))


def test_categorical_columns():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": X[:, 0], "c": rng.integers(0, 30, len(X)).astype(str)})
    y = np.digitize(frame["c"].astype(int) % 7 + rng.normal(size=len(X)), [2, 4])
    model = ranker(iterations=40, learning_rate=0.1).fit(frame, y, GROUP)
    alone = ranker(iterations=40, learning_rate=0.1).fit(frame[["x"]], y, GROUP)
    assert model.get_cat_feature_indices() == [1]
    assert model.score(frame, y, GROUP) > alone.score(frame[["x"]], y, GROUP) + 0.02


def test_files_pickle_and_catboost_give_the_same_scores(tmp_path):
    model = ranker("PairLogit").fit(X, Y, GROUP)
    expected = model.predict(X)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    for name in ("harness", "json"):
        path = tmp_path / f"{name}.json"
        model.save_model(path, format=name)
        found = SymmetricBoostingRanker().load_model(path)
        assert np.array_equal(found.predict(X), expected)
        assert found.objective == "PairLogit"
    theirs = catboost.CatBoost().load_model(str(path), format="json")
    np.testing.assert_allclose(theirs.predict(X), expected, rtol=1e-13)
    saved = library("YetiRank", catboost.Pool(X, Y, group_id=GROUP), iterations=5)
    saved.save_model(str(tmp_path / "theirs.json"), format="json")
    read = SymmetricBoostingRanker().load_model(tmp_path / "theirs.json")
    assert np.array_equal(read.predict(X), saved.predict(X))
    assert json.loads(path.read_text())["model_info"]["params"]["loss_function"]["type"] == (
        "PairLogit"
    )


@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({}, {"group_id": None}, "group_id is missing"),
        ({}, {"group_id": GROUP[:-1]}, "entries for"),
        ({}, {"group_id": np.arange(len(Y)) % 7}, "must be consecutive"),
        ({"loss": "RMSE"}, {}, "not supported for ranking"),
        ({"loss": "YetiRank:mode=DCG"}, {}, "mode=DCG"),
        ({"eval_metric": "RMSE"}, VALID, "not supported for ranking"),
        ({"eval_metric": "NDCG:top=0"}, VALID, "top=0"),
        ({}, {"eval_set": VALID["eval_set"]}, "eval_group_id has ids of 0 tables"),
        ({}, {"pairs": [[1, 2]]}, "pairs are for"),
        ({"loss": "PairLogit"}, {"pairs": [[0, len(Y) - 1]]}, "two different rows of one query"),
        ({"loss": "PairLogit"}, {"pairs": [[0, -1]]}, "row numbers from 0"),
        ({"loss": "PairLogit"}, {"pairs": [[0.5, 1.0]]}, "two columns of row numbers"),
        ({"loss": "PairLogit"}, {"pairs_weight": [1.0]}, "pairs_weight needs pairs"),
        ({"boosting_type": "Ordered"}, {}, "Ordered"),
        ({"parity": "catboost"}, {}, "parity is not supported"),
        ({"auto_class_weights": "Balanced"}, {}, "for classifiers"),
    ],
)
def test_invalid_arguments_are_refused(params, given, message):
    model = ranker(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, **{"group_id": GROUP, **given})
    assert not hasattr(model, "ensemble_")


def test_scikit_learns_conventions():
    model = ranker()
    for check in (
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
    ):
        check("SymmetricBoostingRanker", SymmetricBoostingRanker())
    assert clone(model).get_params() == model.get_params()
    fitted = model.fit(X, Y, GROUP)
    assert fitted is model
    assert set(vars(model)) & {"_queries", "queries_"} == set()


def test_the_harness_hands_over_the_rows_of_queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.clip(np.round(X[:, 0] + 1.0), 0, 3)
    group = np.tile([10, 20], 4)
    spec = Spec(Task.RANKING, {"n_estimators": 10}, 3, 1, 0)
    registry = load_registry(modules=["algorithms.symmetric_ranking"])
    adapter = registry.algorithm("symmetric_ranking").adapter(spec)
    adapter.fit(adapter.prepare(X, y, None, group))
    ids = np.repeat(np.arange(8), group)
    model = SymmetricBoostingRanker(n_estimators=10, random_seed=3).fit(X, y, ids)
    np.testing.assert_array_equal(adapter.predict(X), model.predict(X))
    np.testing.assert_allclose(adapter.export_trees().raw(X)[:, 0], model.predict(X))
    whole = adapter.prepare(X, y, None)
    assert whole.group.tolist() == [120]
