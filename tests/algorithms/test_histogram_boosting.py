import dataclasses
import hashlib
import itertools
import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt import boosting as hist_boosting
from algorithms.prediction.predictor import FastPredictor

BOTH = [HistogramBoostingClassifier, HistogramBoostingRegressor]


@parametrize_with_checks([E(n_estimators=10) for E in BOTH])
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def table(n, seed=0, d=8, missing=0.0):
    """Return X and a signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 3])
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal + 0.5 * rng.normal(size=n)


def digest(model):
    names = ("feature", "threshold", "left", "default_left", "value", "gain")
    arrays = [np.ascontiguousarray(getattr(model.ensemble_, name)) for name in names]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


# ------------------------------------------------------------------ bitwise equality


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"reg_alpha": 0.1, "path_smooth": 2.0, "extra_trees": True},
    ],
)
def test_model_does_not_depend_on_threads(params):
    X, y = table(20_000, missing=0.1)
    y = (y > 0.5).astype(int)
    models = [
        HistogramBoostingClassifier(n_estimators=8, random_state=0, n_jobs=n, **params).fit(X, y)
        for n in (1, 2, 3)
    ]
    assert len({digest(model) for model in models}) == 1


def test_extreme_weights_and_targets_do_not_depend_on_threads():
    X, y = table(20_000)
    y, weight = np.exp(4 * y), 10.0 ** np.random.default_rng(1).uniform(-3, 3, len(y))
    digests = {
        digest(
            HistogramBoostingRegressor(n_estimators=5, random_state=0, n_jobs=n).fit(X, y, weight)
        )
        for n in (1, 2)
    }
    assert len(digests) == 1


def test_float32_tables_grow_the_trees_of_float64_copies():
    X, y = table(2000)
    X = X.astype(np.float32)
    one, two = (
        HistogramBoostingRegressor(n_estimators=5, random_state=0).fit(data, y)
        for data in (X, X.astype(np.float64))
    )
    assert digest(one) == digest(two)


# ------------------------------------------------------------------ accuracy against LightGBM


def fit_both(kind, X, y, weight=None, **params):
    n = len(X) // 2
    part = None if weight is None else weight[:n]
    ours = getattr(__import__("algorithms"), f"HistogramBoosting{kind}")
    theirs = getattr(lightgbm, f"LGBM{kind}")
    name = "predict_proba" if kind == "Classifier" else "predict"
    results = []
    for estimator in (ours(random_state=0, **params), theirs(verbose=-1, n_jobs=1, **params)):
        model = estimator.fit(X[:n], y[:n], sample_weight=part)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            results.append(getattr(model, name)(X[n:]))
    return *results, y[n:], None if weight is None else weight[n:]


def test_log_loss_with_rare_positives_equals_lightgbm():
    X, signal = table(200_000, d=5)
    y = (signal > np.quantile(signal, 0.999)).astype(int)
    ours, theirs, truth, _ = fit_both("Classifier", X, y, num_leaves=15, n_estimators=25)
    assert log_loss(truth, ours) < 1.1 * log_loss(truth, theirs)


def test_error_on_a_log_normal_target_equals_lightgbm():
    X, signal = table(40_000, d=5)
    ours, theirs, truth, _ = fit_both("Regressor", X, np.exp(2 * signal), n_estimators=40)
    for error in (mean_squared_error, mean_absolute_error):
        assert error(truth, ours) < 1.1 * error(truth, theirs)


def test_error_with_weights_over_six_orders_of_magnitude_equals_lightgbm():
    X, y = table(40_000, d=5)
    weight = 10.0 ** np.random.default_rng(0).uniform(-3, 3, len(y))
    ours, theirs, truth, w = fit_both("Regressor", X, y, weight, n_estimators=40)
    for weights in (w, None):
        mine, other = (mean_squared_error(truth, p, sample_weight=weights) for p in (ours, theirs))
        assert mine < 1.05 * other


@pytest.mark.parametrize(
    "objective",
    ["regression", "regression_l1", "huber", "quantile", "poisson", "gamma", "tweedie"],
)
def test_every_objective_predicts_like_lightgbm(objective):
    X, signal = table(6000, d=5)
    y = np.exp(signal / 2) if objective in ("poisson", "gamma", "tweedie") else signal
    ours, theirs, truth, _ = fit_both("Regressor", X, y, objective=objective, n_estimators=40)
    spread = np.sqrt(np.mean((theirs - truth) ** 2))
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.4 * spread
    assert np.mean((ours - truth) ** 2) < 1.08 * np.mean((theirs - truth) ** 2)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_several_classes(objective):
    X, signal = table(6000, d=5)
    y = np.array(["a", "b", "c"])[np.digitize(signal, [-0.5, 0.7])]
    ours, theirs, truth, _ = fit_both("Classifier", X, y, objective=objective, n_estimators=25)
    rows, codes = np.arange(len(truth)), np.searchsorted(["a", "b", "c"], truth)
    loss, other = (-np.log(p[rows, codes]).mean() for p in (ours, theirs))
    assert loss < 1.06 * other


# ------------------------------------------------------------------ predictions


def test_predictions_equal_exported_trees():
    X, y = table(1500, missing=0.2)
    model = HistogramBoostingRegressor(n_estimators=15).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.ensemble_.predict(X))
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert np.array_equal(list(model.staged_predict(X))[4], model.predict(X, num_iteration=5))
    assert np.array_equal(model.predict(X[:1]), model.predict(X)[:1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_last_staged_scores_and_probabilities_equal_the_model(n_classes):
    X, signal = table(600)
    y = np.digitize(signal, [-0.5, 0.7][: n_classes - 1])
    model = HistogramBoostingClassifier(n_estimators=4, random_state=0).fit(X, y)
    for name in ("decision_function", "predict_proba"):
        staged = list(getattr(model, f"staged_{name}")(X))
        assert np.array_equal(staged[-1], getattr(model, name)(X))
        first = clone(model).set_params(n_estimators=2).fit(X, y)
        assert np.array_equal(staged[1], getattr(first, name)(X))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("comparison", ["<=", "<"])
def test_tree_walk_handles_rows_equal_to_thresholds(comparison):
    X, y = table(300, missing=0.2)
    trees = HistogramBoostingRegressor(n_estimators=15).fit(X, y).ensemble_
    trees = dataclasses.replace(trees, comparison=comparison)
    at = np.flatnonzero(trees.left >= 0)
    for node in at[:40]:
        X[node % 300, trees.feature[node]] = trees.threshold[node]
    assert np.array_equal(FastPredictor(trees).raw(X), trees.raw(X))


def test_importances_count_splits_or_gains():
    X, y = table(3000)
    model = HistogramBoostingRegressor(n_estimators=10).fit(X, y)
    trees = model.ensemble_
    assert model.feature_importances_.sum() == np.count_nonzero(trees.left >= 0)
    model.set_params(importance_type="gain")
    assert model.feature_importances_.sum() == pytest.approx(np.nansum(trees.gain))
    assert set(np.argsort(model.feature_importances_)[-4:]) == {0, 1, 2, 3}


def test_missing_values_unseen_in_training_go_to_the_larger_side():
    X, y = table(500)
    model = HistogramBoostingRegressor(n_estimators=1, num_leaves=2).fit(X, y)
    root = model.ensemble_
    heavier = (
        root.left[0] if root.cover[root.left[0]] >= root.cover[root.right[0]] else root.right[0]
    )
    predictions = model.predict(np.full((1, X.shape[1]), np.nan))
    assert predictions[0] == root.base[0] + root.value[heavier, 0]


# ------------------------------------------------------------------ constraints and categories


def test_monotone_features_are_monotone():
    X, y = table(4000, d=4)
    for direction in (1, -1):
        model = HistogramBoostingRegressor(
            n_estimators=30, monotone_constraints=[direction, 0, direction, 0]
        ).fit(X, y)
        probe = np.repeat(X[:50], 40, axis=0)
        probe[:, 2] = np.tile(np.linspace(-3, 3, 40), 50)
        steps = np.diff(model.predict(probe).reshape(50, 40), axis=1)
        assert (direction * steps >= -1e-12).all()


FOURS = [list(four) for four in itertools.combinations(range(8), 4)]  # 70: more than a word's bits


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], FOURS])
def test_features_of_different_groups_never_share_a_path(groups):
    X, y = table(3000, d=8)
    model = HistogramBoostingRegressor(n_estimators=10, interaction_constraints=groups).fit(X, y)
    trees = model.ensemble_
    above = {int(root): set() for root in trees.offsets[:-1]}
    for node in range(trees.n_nodes):
        if trees.left[node] >= 0:
            used = above[node] | {int(trees.feature[node])}
            assert any(used <= set(group) for group in groups)
            above[int(trees.left[node])] = above[int(trees.right[node])] = used


def test_frame_categories_are_split_as_sets_and_unseen_ones_go_right():
    rng = np.random.default_rng(0)
    names = np.array([f"c{i}" for i in range(20)])
    code = rng.integers(0, 20, 6000)
    y = np.where(np.isin(code, [1, 5, 7, 13]), 2.0, 0.0) + 0.1 * rng.normal(size=6000)
    X = pd.DataFrame({"x": rng.normal(size=6000), "c": pd.Categorical(names[code])})
    model = HistogramBoostingRegressor(n_estimators=20, min_data_per_group=1).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.35
    assert len(model.ensemble_.set_codes)
    other = X.assign(c=pd.Categorical(["unseen"] * len(X)))
    nothing = X.assign(c=pd.Categorical([None] * len(X), categories=names))
    assert np.array_equal(model.predict(other), model.predict(nothing))
    shuffled = X.assign(c=X["c"].cat.reorder_categories(names[::-1]))
    assert np.array_equal(model.predict(shuffled), model.predict(X))


def test_named_code_columns_are_categorical():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 2)).astype(float)
    y = (X[:, 1] == 1) * 1.0
    model = HistogramBoostingRegressor(n_estimators=1, num_leaves=2, categorical_feature=[1])
    trees = model.fit(X, y).ensemble_
    assert trees.set_codes.tolist() == [1]
    with pytest.raises(ValueError, match="not a column of X"):
        clone(model).set_params(categorical_feature=["gone"]).fit(X, y)
    with pytest.raises(ValueError, match="not a column of X"):
        clone(model).set_params(categorical_feature=[b"gone"]).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_leaf_changes_log_odds_by_at_most_10(n_classes):
    """The last class has a share of 1 / 1000, so its first Newton step is up to 1000."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(3000, 3))
    y = rng.integers(0, n_classes - 1, 3000)
    y[:3] = n_classes - 1
    X[:3, 0] = 9.0
    params = {"min_child_samples": 1, "n_estimators": 5, "n_jobs": 1}
    limited = HistogramBoostingClassifier(**params).fit(X, y)
    free = HistogramBoostingClassifier(**params, max_delta_step=1e9).fit(X, y)
    largest = [np.abs(model.ensemble_.value).max() for model in (limited, free)]
    assert largest[0] == 10.0 < largest[1]


# ------------------------------------------------------------------ stopping and sampling


def test_training_stops_when_the_evaluation_set_stops_improving():
    X, y = table(1000)
    other = table(1000, seed=1)
    model = HistogramBoostingRegressor(
        n_estimators=400, learning_rate=0.3, early_stopping_round=10
    ).fit(X, y, eval_set=[other])
    history = model.evals_result_["valid_0"]["l2"]
    assert model.best_iteration_ == model.n_estimators_ == int(np.argmin(history)) + 1
    assert model.n_iter_ == model.best_iteration_ == len(history) - 10 < 390
    assert mean_squared_error(other[1], model.predict(other[0])) == pytest.approx(
        model.best_score_["valid_0"]["l2"]
    )
    with pytest.raises(ValueError, match="eval_set"):
        clone(model).fit(X, y)


def test_evaluation_metric_may_be_custom():
    X, y = table(500)
    y = (y > 0).astype(int)

    def accuracy(truth, p):
        return "accuracy", float(np.mean((p > 0.5) == truth)), True

    model = HistogramBoostingClassifier(n_estimators=5, early_stopping_round=5, metric="None")
    model.fit(X, y, eval_set=[(X.copy(), y)], eval_metric=accuracy)
    values = model.evals_result_["valid_0"]
    assert list(values) == ["accuracy"]
    assert model.best_score_ == {"valid_0": {"accuracy": max(values["accuracy"])}}


@pytest.mark.parametrize(
    "params",
    [{"subsample": 0.4, "subsample_freq": 1}, {"data_sample_strategy": "goss"}],
)
def test_row_samples_keep_accuracy(params):
    X, y = table(8000, d=5)
    half = len(y) // 2
    whole = HistogramBoostingRegressor(random_state=0).fit(X[:half], y[:half])
    part = HistogramBoostingRegressor(random_state=0, **params).fit(X[:half], y[:half])
    errors = [mean_squared_error(y[half:], m.predict(X[half:])) for m in (whole, part)]
    assert errors[1] < 1.15 * errors[0]


@pytest.mark.parametrize("objective", ["regression", "mae", "quantile"])
@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 1e-6, "subsample_freq": 1},
        {"data_sample_strategy": "goss", "top_rate": 1e-6, "other_rate": 1e-6},
        {"data_sample_strategy": "goss"},
    ],
)
def test_row_sample_has_at_least_one_row(objective, params):
    for n in (1, 2, 5, 10):
        X, y = table(n + 20, d=4)
        for seed in range(3):
            model = HistogramBoostingRegressor(
                n_estimators=12, objective=objective, random_state=seed, min_child_samples=1
            )
            predictions = model.set_params(**params).fit(X[:n], y[:n]).predict(X)
            assert np.isfinite(predictions).all()


def test_custom_objective_is_used():
    X, y = table(1000)

    def squared(truth, raw):
        return raw - truth, np.ones_like(raw)

    fitted = HistogramBoostingRegressor(n_estimators=5, random_state=0, objective=squared).fit(X, y)
    ours = HistogramBoostingRegressor(n_estimators=5, random_state=0, boost_from_average=False)
    np.testing.assert_allclose(fitted.predict(X), ours.fit(X, y).predict(X), rtol=1e-9)
    wrong = HistogramBoostingRegressor(objective=lambda _y, raw: (raw[:3], raw[:3]))
    with pytest.raises(ValueError, match="shape"):
        wrong.fit(X, y)


# ------------------------------------------------------------------ unusual tables


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((50, 2)), np.arange(50.0)),
        (np.full((50, 2), np.nan), np.arange(50.0)),
        (np.arange(50.0)[:, None], np.full(50, 3.0)),
        (np.ones((1, 1)), np.array([2.0])),
    ],
)
def test_tables_without_a_split_predict_the_mean(X, y):
    model = HistogramBoostingRegressor(n_estimators=3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"objective": "gamma"}, -1.0, "y > 0"),
        ({"objective": "poisson"}, -1.0, "y >= 0"),
        ({"objective": "binary"}, 1.0, "not one for regression"),
        ({"monotone_constraints": [2]}, 1.0, "monotone_constraints"),
        ({"interaction_constraints": [[7]]}, 1.0, "interaction_constraints"),
        ({"max_bin": 300}, 1.0, "max_bin"),
        ({}, 1e300, "not finite"),
    ],
)
def test_invalid_parameters_are_an_error(params, y, message):
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match=message):
        HistogramBoostingRegressor(**params).fit(X, np.where(X[:, 0] > 20, y, 1.0))


def test_large_identifiers_can_be_categories():
    rng = np.random.default_rng(30)
    codes = rng.choice(10**7, 50, replace=False)
    which = rng.integers(50, size=2000)
    X = np.column_stack([codes[which], rng.normal(size=2000)]).astype(float)
    y = rng.normal(size=50)[which] + X[:, 1]
    params = {"n_estimators": 60, "categorical_feature": [0], "random_state": 0}
    model = HistogramBoostingRegressor(**params).fit(X, y)
    assert np.array_equal(model.predict(X), model.ensemble_.predict(X))
    rank = codes.argsort().argsort()  # the same categories in the same order, closer together
    near = np.column_stack([rank[which], X[:, 1]])
    other = HistogramBoostingRegressor(**params).fit(near, y)
    assert np.array_equal(other.predict(near), model.predict(X))


@pytest.mark.parametrize("rank", ["gh", "g"])
def test_goss_ranks_rows_by_gradient_and_hessian(rank, monkeypatch):
    seen, real = [], hist_boosting.take_one_side

    def watched(sizes, rule, g, h, *rest):
        message = np.abs(g if rank == "g" else g * h).sum(axis=0, dtype=np.float32)
        seen.append(np.array_equal(sizes, message))
        return real(sizes, rule, g, h, *rest)

    monkeypatch.setattr(hist_boosting, "take_one_side", watched)
    X, y = table(2000)
    params = {"data_sample_strategy": "goss", "learning_rate": 1.0, "goss_rank": rank}
    model = HistogramBoostingClassifier(n_estimators=3, random_state=0, **params).fit(X, y > 1)
    assert seen == [True, True]
    assert model.score(X, y > 1) > 0.8


def test_fractional_codes_are_truncated_in_training_and_prediction():
    rng = np.random.default_rng(3)
    whole = rng.integers(0, 6, 600).astype(float)
    y = np.array([3.0, -1.0, 2.0, 0.0, 5.0, 1.0])[whole.astype(int)] + 0.1 * rng.normal(size=600)
    params = {"n_estimators": 10, "categorical_feature": [0], "min_data_per_group": 5}
    between = whole + 0.9 * rng.random(600)
    one, other = (
        HistogramBoostingRegressor(random_state=0, **params).fit(x[:, None], y)
        for x in (whole, between)
    )
    assert digest(one) == digest(other)
