"""Tests of booster parameters that are valid alone and invalid together."""

import re

import lightgbm
import numpy as np
import pandas as pd
import pytest

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)


def table(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, d - 1] + 0.3 * rng.normal(size=n)


# ------------------------------------------------------------------ monotone constraints


@pytest.mark.parametrize("objective", ["regression_l1", "quantile"])
def test_monotone_constraints_on_quantile_leaves_are_refused_as_by_lightgbm(objective):
    X, y = table()
    params = {"objective": objective, "monotone_constraints": [1, 0, 0], "verbose": -1}
    with pytest.raises(lightgbm.basic.LightGBMError, match="Cannot use ``monotone_constraints``"):
        lightgbm.train(params, lightgbm.Dataset(X, y), 1)
    del params["verbose"]
    with pytest.raises(ValueError, match=f"is not supported with objective '{objective}'"):
        HistogramBoostingRegressor(**params).fit(X, y)
    params["monotone_constraints"] = [0, 0, 0]
    HistogramBoostingRegressor(n_estimators=1, **params).fit(X, y)


@pytest.mark.parametrize("objective", ["reg:absoluteerror", "reg:quantileerror"])
@pytest.mark.parametrize("signs", [(1, 0, 0), {0: -1}, "(1,0,0)"])
def test_newton_boosting_refuses_them_too(objective, signs):
    X, y = table()
    model = NewtonBoostingRegressor(n_estimators=1, objective=objective, monotone_constraints=signs)
    with pytest.raises(ValueError, match=f"is not supported with objective '{objective}'"):
        model.fit(X, y)
    model.set_params(monotone_constraints=(0, 0, 0)).fit(X, y)


def frame_of_categories(n=300):
    """Return a frame with a categorical column, and a target that depends on it."""
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 6, n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "kind": pd.Categorical(codes)})
    return frame, frame["x"] + np.array([3.0, -1.0, 2.0, 0.0, 5.0, 1.0])[codes]


@pytest.mark.parametrize("parity", [None, "lightgbm", "scikit-learn"])
@pytest.mark.parametrize("is_frame", [False, True])
def test_monotone_constraints_on_categories_are_refused_by_name(is_frame, parity):
    """As in LightGBM: "The output cannot be monotone with respect to categorical features"."""
    frame, y = frame_of_categories()
    params = {"monotone_constraints": [1, -1], "n_estimators": 1, "parity": parity}
    X, name = (frame, "kind") if is_frame else (frame.astype(float).to_numpy(), 1)
    params["categorical_feature"] = "auto" if is_frame else [1]
    model = HistogramBoostingRegressor(**params)
    message = "is not supported for categorical columns.*" + re.escape(str([name]))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    if parity is None:
        model.set_params(monotone_constraints=[1, 0]).fit(X, y)


@pytest.mark.parametrize("method", ["hist", "approx"])
def test_newton_boosting_refuses_them_unlike_xgboost(method):
    frame, y = frame_of_categories()
    params = {"n_estimators": 1, "tree_method": method}
    model = NewtonBoostingRegressor(**params, monotone_constraints={"kind": 1})
    with pytest.raises(ValueError, match=r"categorical columns.*'kind'"):
        model.fit(frame, y)
    model.set_params(monotone_constraints={"x": 1}).fit(frame, y)


# ------------------------------------------------------------------ sizes without a limit


@pytest.mark.parametrize("size", [1e3, 1e13, 1e14, 1e19, 1e300])
def test_min_hessian_above_the_total_gives_no_split(size):
    """The least h is counted in steps, of which 10¹⁴ and more would not fit into 64 bits."""
    X, y = table()
    params = {"n_estimators": 2, "min_child_weight": size}
    boosters = {
        "values": HistogramBoostingRegressor(**params),
        "classes": HistogramBoostingClassifier(**params),
        "second order": NewtonBoostingRegressor(**params, tree_method="hist"),
    }
    for name, model in boosters.items():
        target = y > 0.0 if name == "classes" else y
        trees = model.fit(X, target).ensemble_
        assert trees.n_nodes == trees.n_trees, name


@pytest.mark.parametrize("size", [10**6, 10**19])
def test_integer_parameters_have_no_upper_limit(size):
    X, y = table()
    X[:, 2] = np.round(X[:, 2])
    names = "max_depth", "max_cat_threshold", "max_cat_to_onehot", "min_data_per_group"
    params = {"n_estimators": 2, "categorical_feature": [2]} | dict.fromkeys(names, size)
    model = HistogramBoostingRegressor(**params).fit(X, y)
    assert model.ensemble_.n_nodes > 2
    for name in ("min_data_in_bin", "min_child_samples"):
        model = HistogramBoostingRegressor(n_estimators=2, **{name: size}).fit(X, y)
        assert model.ensemble_.n_nodes == model.ensemble_.n_trees
    model = NewtonBoostingRegressor(n_estimators=2, tree_method="hist", max_depth=size, gamma=1.0)
    assert model.fit(X, y).ensemble_.n_nodes > 2


def test_tiny_learning_rates_change_no_leaf_of_all_rows():
    X, y = table()
    params = {"data_sample_strategy": "goss", "learning_rate": 1e-320}
    HistogramBoostingRegressor(n_estimators=2, **params).fit(X, y)


# ------------------------------------------------------------------ shares


def test_goss_rates_refer_to_the_same_rows():
    X, y = table()
    params = {"data_sample_strategy": "goss", "top_rate": 0.6}
    requested, data = {**params, "other_rate": 0.5, "verbose": -1}, lightgbm.Dataset(X, y)
    with pytest.raises(lightgbm.basic.LightGBMError, match="top_rate"):
        lightgbm.train(requested, data, 1)
    with pytest.raises(ValueError, match="together they must be at most 1"):
        HistogramBoostingRegressor(**params, other_rate=0.5).fit(X, y)
    HistogramBoostingRegressor(**params, other_rate=0.4, n_estimators=1).fit(X, y)


@pytest.mark.parametrize("weight", [None, np.linspace(1.0, 2.0, 300)])
@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_quantile_must_be_below_one(alpha, weight):
    X, y = table()
    model = HistogramBoostingRegressor(objective="quantile", alpha=alpha)
    with pytest.raises(ValueError, match="needs alpha below 1"):
        model.fit(X, y, weight)
    model.set_params(objective="huber", n_estimators=1).fit(X, y, weight)


# ------------------------------------------------------------------ interactions


def test_columns_in_no_interaction_group_are_unused_as_in_lightgbm():
    X, y = table(d=70)
    groups = [[0, 1], [1, 2]]
    params = {"interaction_constraints": groups, "verbose": -1, "num_threads": 1}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    ours = HistogramBoostingRegressor(n_estimators=10, interaction_constraints=groups).fit(X, y)
    used = ours.feature_importances_ > 0
    assert np.array_equal(used, theirs.feature_importance() > 0)
    assert used[:3].any()
    assert not used[3:].any()


def test_no_interaction_groups_are_no_constraint_as_in_lightgbm():
    X, y = table()
    params = {"interaction_constraints": [], "verbose": -1, "num_threads": 1}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    free, empty = (
        HistogramBoostingRegressor(n_estimators=10, interaction_constraints=expected).fit(X, y)
        for expected in (None, [])
    )
    assert np.array_equal(empty.predict(X), free.predict(X))
    used = empty.feature_importances_ > 0
    assert np.array_equal(used, theirs.feature_importance() > 0)


def test_empty_interaction_groups_forbid_interactions_in_newton_boosting():
    X, y = table()
    free, empty, alone = (
        NewtonBoostingRegressor(n_estimators=10, interaction_constraints=expected).fit(X, y)
        for expected in (None, [], [[0], [1], [2]])
    )
    assert np.array_equal(empty.predict(X), alone.predict(X))
    assert not np.array_equal(empty.predict(X), free.predict(X))


@pytest.mark.parametrize("d", [3, 90])  # 90: each of 88 is a group alone
def test_newton_boosting_uses_ungrouped_columns_alone_like_xgboost(d):
    X, y = table(d=d)
    model = NewtonBoostingRegressor(n_estimators=10, interaction_constraints=[[0, 1]]).fit(X, y)
    assert (model.feature_importances_[[0, 1, d - 1]] > 0).all()


# ------------------------------------------------------------------ rounds


@pytest.mark.parametrize("rounds", [-1, 0])
def test_unlimited_rounds_use_all_rounds(rounds):
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=4).fit(X, y)
    assert np.array_equal(model.predict(X, num_iteration=rounds), model.predict(X))
    assert not np.array_equal(model.predict(X, num_iteration=3), model.predict(X))
    predictions = model.predict(X, num_iteration=rounds, pred_contrib=True)
    assert np.array_equal(predictions, model.predict(X, pred_contrib=True))


# ------------------------------------------------------------------ extra trees


@pytest.mark.parametrize("max_cat_to_onehot", [1, 40])  # sets from an order, and one alone
def test_extra_trees_draw_categorical_splits_too(max_cat_to_onehot):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (3000, 1))
    y = X[:, 0] * 8.0

    def sets(**params):
        return {
            tuple(
                HistogramBoostingRegressor(
                    n_estimators=1, num_leaves=2, categorical_feature=[0], min_data_per_group=1,
                    max_cat_to_onehot=max_cat_to_onehot, random_state=seed, **params,
                ).fit(X, y).ensemble_.set_codes
            )
            for seed in range(10)
        }  # fmt: skip

    assert len(sets()) == 1
    assert len(sets(extra_trees=True)) > 3


def test_extra_trees_take_a_category_set_of_the_drawn_size_only():
    """A column whose small sets have too few rows has no split for most small drawn sizes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 40, 4000), rng.normal(size=4000)])
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]

    def asked(seed):
        model = HistogramBoostingRegressor(
            n_estimators=1, num_leaves=2, categorical_feature=[0], min_data_per_group=1,
            min_child_samples=1500, extra_trees=True, random_state=seed,
        ).fit(X, y)  # fmt: skip
        return model.ensemble_.feature[0]

    values = np.array([asked(seed) for seed in range(40)])
    assert (
        4 < np.count_nonzero(values == 1) < 36
    )  # the number is asked where the draw was too small
