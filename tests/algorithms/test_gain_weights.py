"""Weights of the features' gains: feature_contri, monotone_penalty, feature_fraction_bynode."""

import lightgbm
import numpy as np
import pytest
from parity_lightgbm import difference, draw_case, fit_both
from scipy import sparse

import algorithms.compat.lightgbm as lgb
from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

SMALL = {"n_estimators": 3, "num_leaves": 6, "random_state": 0}


def table(n=600, d=4, seed=0):
    """Return X and a target that depends less on each further column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ 0.9 ** np.arange(d) + 0.1 * rng.normal(size=n)


def fit(X, y, **params):
    return HistogramBoostingRegressor(**SMALL | params).fit(X, y)


def arrays_of(model):
    names = ("feature", "threshold", "left", "value", "gain")
    return [np.nan_to_num(getattr(model.ensemble_, name)).tolist() for name in names]


def roots(model):
    """Return the feature of each tree's first split; −1 if it has none."""
    trees = model.ensemble_
    return trees.feature[trees.offsets[:-1]]


# ------------------------------------------------------------------ feature_contri


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("seed", range(3))
def test_weighted_trees_equal_lightgbm_bitwise(seed, objective):
    X, y, weight, params = draw_case([seed, 77], objective)
    chances = [0.0, 0.25, 1 / 3, 1.0, 1.7]
    contri = np.random.default_rng(seed).choice(chances, X.shape[1]).tolist()
    ours, theirs = fit_both(objective, X, y, weight, feature_contri=contri, **params)
    assert difference(ours, theirs) == ""


def test_parity_multiplies_the_gain_above_min_split_gain():
    X, y = table()
    params = {"feature_contri": [0.3, 1.0, 0.9, 0.4], "min_split_gain": 20.0}
    ours, theirs = fit_both("regression", X, y, **params)
    assert difference(ours, theirs) == ""
    plain, _ = fit_both("regression", X, y, min_split_gain=20.0)
    assert arrays_of(ours) != arrays_of(plain)


@pytest.mark.parametrize("categorical", [[], [1]])
def test_split_has_the_largest_weighted_gain(categorical):
    X, y = table()
    X[:, 1] = np.digitize(X[:, 1], np.linspace(-2, 2, 9))
    options = {"n_estimators": 1, "num_leaves": 2, "categorical_feature": categorical}
    gains = []
    for f in range(4):
        alone = np.where(np.arange(4) == f, X, 0.0)
        gains.append(fit(alone, y, **options).ensemble_.gain[0])
    for seed in range(5):
        contri = np.random.default_rng(seed).uniform(0.0, 2.0, 4)
        trees = fit(X, y, feature_contri=contri, **options).ensemble_
        assert trees.feature[0] == np.argmax(contri * gains)
        assert trees.gain[0] == pytest.approx((contri * gains).max(), rel=1e-6)


def test_features_of_weight_zero_are_not_used():
    X, y = table()
    used = fit(X, y, feature_contri=[0.0, 1.0, -3.0, 1.0], n_estimators=20).ensemble_.feature
    assert set(used[used >= 0].tolist()) == {1, 3}
    assert arrays_of(fit(X, y, feature_contri=[1, 1, 1, 1])) == arrays_of(fit(X, y))


@pytest.mark.parametrize(
    "name", ["feature_contri", "feature_contrib", "fc", "fp", "feature_penalty"]
)
def test_weights_are_read_under_each_name_and_from_text(name):
    X, y = table()
    expected = arrays_of(fit(X, y, feature_contri=[0.2, 1.0, 1.0, 0.5]))
    assert arrays_of(fit(X, y, **{name: "0.2,1,1,0.5"})) == expected
    params = {"num_leaves": 6, "seed": 0, "verbose": -1, name: np.array([0.2, 1.0, 1.0, 0.5])}
    booster = lgb.train(params, lgb.Dataset(X, y), 3)
    assert arrays_of(booster.estimator) == expected
    assert "[feature_contri: 0.2,1,1,0.5]" in booster.model_to_string()


def test_weights_apply_to_sparse_and_bundled_columns():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 30, 1500)
    X = (level[:, None] == np.arange(30)).astype(float)
    y = level % 7 + rng.normal(size=1500)
    params = {"feature_contri": rng.uniform(0.0, 1.0, 30), "min_child_samples": 5}
    models = [
        fit(sparse.csr_matrix(X), y, **params),
        fit(X, y, **params),
        fit(X, y, enable_bundle=False, n_jobs=3, **params),
    ]
    assert len({str(arrays_of(model)) for model in models}) == 1


# ------------------------------------------------------------------ monotone_penalty


@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0, 1.6, 2.0, 3.5])
def test_penalized_trees_have_the_splits_of_lightgbm(penalty):
    X, y = table(3000, seed=1)
    X = np.round(X, 1)  # both libraries have a bin for each value
    shared = {"monotone_constraints": [1, 1, 0, 0], "monotone_penalty": penalty, "num_leaves": 8}
    params = {"verbose": -1, "enable_bundle": False, **shared}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, y), 1).trees_to_dataframe()
    ours = lgb.train(params, lgb.Dataset(X, y), 1).trees_to_dataframe()
    for name in ("node_depth", "split_feature"):
        assert ours[name].fillna("").tolist() == theirs[name].fillna("").tolist()
    inner = ours["split_gain"].notna()
    np.testing.assert_allclose(
        ours["split_gain"][inner].astype(float), theirs["split_gain"][inner], rtol=1e-2
    )


@pytest.mark.parametrize("name", ["monotone_splits_penalty", "ms_penalty", "mc_penalty"])
def test_penalty_forbids_monotone_splits_of_the_first_levels(name):
    X, y = table()
    options = {"monotone_constraints": [1, 1, 1, 0], "num_leaves": 15, "n_estimators": 10}
    free = fit(X, y, **options)
    assert not (roots(free) == 3).all()
    model = fit(X, y, **options, **{name: 2})
    trees = model.ensemble_
    for t in range(trees.n_trees):
        tree = trees.tree(t)
        assert tree.feature[0] == 3
        below = [tree.left[0], tree.right[0]]
        assert all(tree.feature[node] in (-1, 3) for node in below)
    used = trees.feature[trees.feature >= 0]
    assert {0, 1, 2} <= set(used.tolist())


def test_penalty_leaves_a_split_where_no_other_feature_has_a_gain():
    X, y = table(d=1)
    options = {"monotone_constraints": [1], "num_leaves": 2, "n_estimators": 1}
    one, other = fit(X, y, **options), fit(X, y, **options, monotone_penalty=5.0)
    assert arrays_of(one)[:4] == arrays_of(other)[:4]
    assert other.ensemble_.gain[0] == pytest.approx(one.ensemble_.gain[0] * 1e-15)


def test_penalty_without_monotone_features_has_no_effect():
    X, y = table()
    assert arrays_of(fit(X, y, monotone_penalty=2.0)) == arrays_of(fit(X, y))


@pytest.mark.parametrize("method", ["basic", "intermediate", "advanced"])
def test_each_monotone_method_is_accepted(method):
    X, y = table()
    params = {"monotone_constraints": [1, 0, 0, 0], "monotone_constraints_method": method}
    model = fit(X, y, **params)
    assert (np.diff(model.predict(np.linspace(-2, 2, 50)[:, None] * [1, 0, 0, 0])) >= 0.0).all()


# ------------------------------------------------------------------ feature_fraction_bynode


def test_features_are_drawn_for_each_node():
    X, y = table(400, d=5)
    y = y + 20.0 * X[:, 0]  # a split on column 0 is always the best
    params = {"n_estimators": 300, "num_leaves": 4, "learning_rate": 1e-6, "min_child_samples": 30}
    model = fit(X, y, feature_fraction_bynode=0.4, **params)
    first = roots(model) == 0
    assert 90 <= first.sum() <= 150  # 2 of 5 features: 120 expected, standard deviation 8.5
    trees = model.ensemble_
    both = 0
    for t in range(trees.n_trees):
        tree = trees.tree(t)
        both += tree.feature[0] != 0 and (tree.feature == 0).any()
    assert both > 50  # nodes below the root have draws of their own


@pytest.mark.parametrize(
    "name", ["feature_fraction_bynode", "sub_feature_bynode", "colsample_bynode"]
)
def test_at_least_one_feature_is_drawn(name):
    X, y = table()
    model = fit(X, y, **{name: 0.01}, n_estimators=40)
    assert set(roots(model).tolist()) == {0, 1, 2, 3}
    assert arrays_of(fit(X, y, **{name: 1.0})) == arrays_of(fit(X, y))


def test_node_draws_are_from_the_tree_draw_and_the_allowed_groups():
    X, y = table(d=6)
    groups = [[0, 1], [2, 3, 4, 5]]
    options = {"colsample_bytree": 0.5, "feature_fraction_bynode": 0.5, "n_estimators": 60}
    trees = fit(X, y, interaction_constraints=groups, num_leaves=8, **options).ensemble_
    for t in range(trees.n_trees):
        used = set(trees.tree(t).feature.tolist()) - {-1}
        assert len(used) <= 3
        assert used <= {0, 1} or used <= {2, 3, 4, 5}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"colsample_bytree": 0.7, "extra_trees": True},
        {"boosting_type": "rf"},
        {"boosting_type": "dart", "monotone_constraints": [1, 0, 0, 0], "monotone_penalty": 1.5},
        {"feature_contri": [0.5, 1.0, 0.7, 0.2]},
    ],
)
def test_models_do_not_depend_on_threads(params):
    X, y = table(20_000)
    label = np.digitize(y, [-0.5, 0.5])
    for target, kind in ((y, HistogramBoostingRegressor), (label, HistogramBoostingClassifier)):
        given = {**SMALL, "feature_fraction_bynode": 0.5, **params}
        models = [kind(n_jobs=n, **given).fit(X, target) for n in (1, 2, 3)]
        assert len({str(arrays_of(model)) for model in models}) == 1


def test_early_stopping_goes_on_after_a_tree_without_splits():
    X, y = table(200)
    params = {"feature_contri": [1, 0, 0, 0], "min_split_gain": 1.0, "n_estimators": 30}
    model = fit(X, y, feature_fraction_bynode=0.3, **params)
    assert model.n_estimators_ == 30


@pytest.mark.parametrize(
    ("name", "first", "default"),
    [("feature_fraction_bynode", 0.26, 1.0), ("monotone_penalty", 30.0, 0.0)],
)
def test_factors_of_a_leaf_end_with_the_parameter(name, first, default):
    """Trees after a callback has reset the parameter are those of a model without it."""
    X, y = table()
    params = SMALL | {"monotone_constraints": [1, 1, 1, 1], "learning_rate": 1e-9}
    reset = lgb.reset_parameter(**{name: [first, default, default]})
    models = [
        lgb.LGBMRegressor(**params).fit(X, y, callbacks=own).ensemble_ for own in ([reset], [])
    ]
    gains = [model.gain[model.offsets[1] :] for model in models]
    np.testing.assert_allclose(*gains, rtol=1e-5)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"feature_contri": 0.5}, "finite number for each of the 4 columns"),
        ({"feature_contri": "1,x,1,1"}, "finite number for each of the 4 columns"),
        ({"feature_contri": [1.0, 2.0]}, "finite number for each of the 4 columns"),
        ({"feature_contri": [1.0, 2.0, np.nan, 1.0]}, "finite number for each of the 4 columns"),
        ({"monotone_penalty": -1.0}, "monotone_penalty must be a number from 0 on"),
        ({"monotone_penalty": "high"}, "monotone_penalty must be a number from 0 on"),
        ({"feature_fraction_bynode": 0.0}, "feature_fraction_bynode must be above 0"),
        ({"colsample_bynode": 1.5}, "feature_fraction_bynode must be above 0"),
        ({"feature_fraction_bynode": 0.5, "parity": "lightgbm"}, "not supported with parity"),
        ({"feature_contri": [1, 1, 1, 0.5], "parity": "scikit-learn"}, "not supported with parity"),
        ({"monotone_penalty": 1.0, "parity": "scikit-learn"}, "not supported with parity"),
    ],
)
def test_impossible_values_are_refused(params, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        fit(X, y, **params)
