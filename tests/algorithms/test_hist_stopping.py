"""Tests of the conditions that stop boosting."""

import lightgbm
import numpy as np
import pytest

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)


def table(n=400, mean=1000.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, mean + X[:, 0] + 0.1 * rng.normal(size=n)


def started_at_zero(**params):
    """Return a booster that starts at 0 instead of the best constant."""
    return HistogramBoostingRegressor(boost_from_average=False, random_state=0, **params)


# ------------------------------------------------------------------ rounds without a split


@pytest.mark.parametrize("objective", ["regression", "regression_l1", "poisson", "gamma"])
def test_first_tree_without_split_holds_the_best_constant_as_in_lightgbm(objective):
    X, y = table()
    params = {"objective": objective, "boost_from_average": False, "min_data_in_leaf": 300}
    theirs = lightgbm.train({**params, "verbose": -1}, lightgbm.Dataset(X, y), 3).predict(X)
    ours = started_at_zero(objective=objective, min_child_samples=300, n_estimators=3).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs, rtol=1e-6)
    assert ours.ensemble_.base.tolist() == [0.0]  # the tree holds the constant, not the base


def test_equal_gradients_do_not_end_training():
    X, y = table()
    model = started_at_zero(objective="huber", n_estimators=60).fit(X, y)
    assert model.n_iter_ == 60
    assert np.mean((model.predict(X) - y) ** 2) < 0.1 * y.var()


def test_init_scores_are_kept_if_no_split_is_found():
    X, y = table()
    model = started_at_zero(min_child_samples=300, n_estimators=3).fit(X, y, init_score=y * 0.0)
    assert (model.predict(X) == 0.0).all()
    assert model.n_iter_ == 1


def test_rounds_with_changing_leaves_continue():
    X, y = table()
    model = started_at_zero(objective="regression_l1", min_child_samples=300, n_estimators=50)
    model.fit(X, y, init_score=np.zeros(len(y)))  # each round reduces the residual by a tenth
    assert model.n_iter_ == 50
    left = 0.9**50 * np.median(y)
    np.testing.assert_allclose(model.predict(X), np.median(y) - left, rtol=1e-9)


def test_redrawn_thresholds_may_split_in_the_next_round():
    X = np.arange(200.0)[:, None]
    y = (X[:, 0] > 100) * 1.0
    params = {"extra_trees": True, "min_split_gain": 25.0, "n_estimators": 40}
    models = [HistogramBoostingRegressor(**params, random_state=k).fit(X, y) for k in range(5)]
    assert any(model.ensemble_.offsets[1] == 1 for model in models)  # no split to begin with
    assert [model.n_iter_ for model in models] == [40] * 5
    assert all(model.ensemble_.n_nodes > 40 for model in models)


def test_constant_target_needs_one_round():
    X, _ = table()
    assert HistogramBoostingRegressor().fit(X, np.full(len(X), 7.1)).n_iter_ == 1


# ------------------------------------------------------------------ early stopping


@pytest.mark.parametrize(
    ("kind", "patience"),
    [
        (HistogramBoostingRegressor, "early_stopping_round"),
        (NewtonBoostingRegressor, "early_stopping_rounds"),
    ],
)
def test_metric_improves_from_nan_with_its_first_number(kind, patience):
    X, y = table(mean=0.0)
    values = []

    def metric(truth, found):
        values.append(np.nan if len(values) < 2 else float(np.mean((truth - found) ** 2)))
        return ("own", values[-1], False) if kind is HistogramBoostingRegressor else values[-1]

    model = kind(n_estimators=30, random_state=0, **{patience: 5})
    if kind is HistogramBoostingRegressor:
        model.set_params(metric="None").fit(X, y, eval_set=[(X.copy(), y)], eval_metric=metric)
        rounds, best = model.n_iter_, model.best_score_["valid_0"]["own"]
    else:
        model.set_params(eval_metric=metric).fit(X, y, eval_set=[(X, y)])
        rounds, best = model.n_iter_, model.best_score
    assert rounds > 8
    assert best == min(values[2:])


def test_metric_that_is_always_nan_is_reported():
    X, y = table(mean=0.0)
    model = HistogramBoostingClassifier(n_estimators=30, early_stopping_round=4, metric="auc")
    with pytest.warns(UserWarning, match="NaN in all of 4 rounds") as message:  # of one class alone
        model.fit(X, y > 0, eval_set=[(X[y > 0], y[y > 0] > 0)])
    assert message[0].filename == __file__
    assert model.n_estimators_ == 4


@pytest.mark.parametrize("least", [0.0, 0.01, 0.1])
def test_improvement_below_min_delta_does_not_count(least):
    X, y = table(mean=0.0)
    model = HistogramBoostingRegressor(
        n_estimators=60, early_stopping_round=3, early_stopping_min_delta=least, random_state=0
    ).fit(X, y, eval_set=[(X.copy(), y)])
    (values,) = model.evals_result_["valid_0"].values()
    best, at = values[0], 1
    for number, value in enumerate(values[1:], 2):
        if value < best - least:
            best, at = value, number
    assert (model.best_iteration_, model.best_score_) == (at, {"valid_0": {"l2": best}})
    assert model.n_iter_ == at
    assert len(values) == (at + 3 if least else 60)


# ------------------------------------------------------------------ evaluation tables


@pytest.mark.parametrize("kind", [HistogramBoostingRegressor, NewtonBoostingRegressor])
@pytest.mark.parametrize("n_labels", [1, 50])
def test_evaluation_set_with_fewer_targets_than_rows_is_refused(kind, n_labels):
    X, y = table()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind(n_estimators=2).fit(X, y, eval_set=[(X[:100], y[:n_labels])])


def test_metric_is_a_name_or_a_callable():
    X, y = table()
    with pytest.raises(TypeError, match="names and callables"):
        HistogramBoostingRegressor(n_estimators=2).fit(X, y, eval_set=[(X, y)], eval_metric=[1])


@pytest.mark.parametrize("kind", [HistogramBoostingRegressor, NewtonBoostingRegressor])
def test_objective_may_modify_its_scores_argument(kind):
    X, y = table(mean=3.0)

    def pure(y, score):
        return score - y, np.ones_like(y)

    def in_place(y, score):
        score -= y
        return score, np.ones_like(y)

    models = [
        kind(objective=function, n_estimators=5, random_state=0).fit(X, y)
        for function in (pure, in_place)
    ]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))
