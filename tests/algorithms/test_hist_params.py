"""Parameters of the boosters that are right each alone, and wrong together."""

import lightgbm
import numpy as np
import pytest

from algorithms import HistogramBoostingRegressor, NewtonBoostingRegressor


def table(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, d - 1] + 0.3 * rng.normal(size=n)


# ------------------------------------------------------------------ monotone constraints


@pytest.mark.parametrize("objective", ["regression_l1", "quantile"])
def test_constraints_on_leaves_that_are_quantiles_are_refused_as_by_lightgbm(objective):
    X, y = table()
    params = {"objective": objective, "monotone_constraints": [1, 0, 0], "verbose": -1}
    with pytest.raises(lightgbm.basic.LightGBMError, match="Cannot use ``monotone_constraints``"):
        lightgbm.train(params, lightgbm.Dataset(X, y), 1)
    del params["verbose"]
    with pytest.raises(ValueError, match=f"cannot be had with objective '{objective}'"):
        HistogramBoostingRegressor(**params).fit(X, y)
    params["monotone_constraints"] = [0, 0, 0]
    HistogramBoostingRegressor(n_estimators=1, **params).fit(X, y)


@pytest.mark.parametrize("objective", ["reg:absoluteerror", "reg:quantileerror"])
@pytest.mark.parametrize("signs", [(1, 0, 0), {0: -1}, "(1,0,0)"])
def test_second_order_boosting_refuses_them_too(objective, signs):
    X, y = table()
    model = NewtonBoostingRegressor(n_estimators=1, objective=objective, monotone_constraints=signs)
    with pytest.raises(ValueError, match=f"cannot be had with objective '{objective}'"):
        model.fit(X, y)
    model.set_params(monotone_constraints=(0, 0, 0)).fit(X, y)


def test_categories_have_no_order_to_keep_as_in_lightgbm():
    X, y = table()
    X[:, 0] = np.arange(len(X)) % 5
    model = HistogramBoostingRegressor(n_estimators=1, categorical_feature=[0])
    with pytest.raises(ValueError, match="cannot be had of a column of categories"):
        model.set_params(monotone_constraints=[1, 0, 0]).fit(X, y)
    model.set_params(monotone_constraints=[0, 1, 0]).fit(X, y)


# ------------------------------------------------------------------ shares


def test_shares_of_one_side_sampling_are_of_the_same_rows():
    X, y = table()
    params = {"data_sample_strategy": "goss", "top_rate": 0.6}
    asked, data = {**params, "other_rate": 0.5, "verbose": -1}, lightgbm.Dataset(X, y)
    with pytest.raises(lightgbm.basic.LightGBMError, match="top_rate"):
        lightgbm.train(asked, data, 1)
    with pytest.raises(ValueError, match="together they must be at most 1"):
        HistogramBoostingRegressor(**params, other_rate=0.5).fit(X, y)
    HistogramBoostingRegressor(**params, other_rate=0.4, n_estimators=1).fit(X, y)


@pytest.mark.parametrize("weight", [None, np.linspace(1.0, 2.0, 300)])
@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_a_quantile_lies_below_one(alpha, weight):
    X, y = table()
    model = HistogramBoostingRegressor(objective="quantile", alpha=alpha)
    with pytest.raises(ValueError, match="needs alpha below 1"):
        model.fit(X, y, weight)
    model.set_params(objective="huber", n_estimators=1).fit(X, y, weight)


# ------------------------------------------------------------------ interactions


@pytest.mark.parametrize("group", [0, [0.5], ["a"], [None]])
def test_groups_hold_numbers_of_columns(group):
    X, y = table()
    model = HistogramBoostingRegressor(interaction_constraints=[[1], group])
    with pytest.raises(ValueError, match="groups of column numbers"):
        model.fit(X, y)


def test_columns_in_no_list_are_not_used_as_in_lightgbm():
    X, y = table(d=70)
    groups = [[0, 1], [1, 2]]
    params = {"interaction_constraints": groups, "verbose": -1, "num_threads": 1}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    ours = HistogramBoostingRegressor(n_estimators=10, interaction_constraints=groups).fit(X, y)
    used = ours.feature_importances_ > 0
    assert np.array_equal(used, theirs.feature_importance() > 0)
    assert used[:3].any()
    assert not used[3:].any()


def test_no_list_is_no_constraint_as_in_lightgbm():
    X, y = table()
    params = {"interaction_constraints": [], "verbose": -1, "num_threads": 1}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    for kind in (HistogramBoostingRegressor, NewtonBoostingRegressor):
        free, empty = (
            kind(n_estimators=10, random_state=0, interaction_constraints=wanted).fit(X, y)
            for wanted in (None, [])
        )
        assert np.array_equal(empty.predict(X), free.predict(X))
        used = empty.feature_importances_ > 0
        assert np.array_equal(used, theirs.feature_importance() > 0)


@pytest.mark.parametrize("d", [3, 90])  # 90: each of 88 is a group alone
def test_second_order_boosting_uses_them_alone_as_xgboost_does(d):
    X, y = table(d=d)
    model = NewtonBoostingRegressor(n_estimators=10, interaction_constraints=[[0, 1]]).fit(X, y)
    assert (model.feature_importances_[[0, 1, d - 1]] > 0).all()


# ------------------------------------------------------------------ rounds


@pytest.mark.parametrize("rounds", [-1, 0])
def test_no_number_of_rounds_means_all_of_them(rounds):
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=4).fit(X, y)
    assert np.array_equal(model.predict(X, num_iteration=rounds), model.predict(X))
    assert not np.array_equal(model.predict(X, num_iteration=3), model.predict(X))
    told = model.predict(X, num_iteration=rounds, pred_contrib=True)
    assert np.array_equal(told, model.predict(X, pred_contrib=True))
