"""Tests of sample weights: zero-weight rows are ignored, equal weights and scale have no effect.

`MODELS` are the estimators and objectives for which all three hold. `EXCEPTIONS` are the parameters
and draws that count rows or sums of weights, so that one of the three does not hold.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression

from algorithms import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)

POSITIVE = ("poisson", "count:poisson", "gamma", "reg:gamma", "tweedie", "reg:tweedie")
SHARES = ("cross_entropy", "reg:logistic")
BINARY = ("exponential",)
CLOSE = {"rtol": 1e-9, "atol": 1e-12}
FREE = {"min_child_weight": 0.0, "reg_lambda": 0.0, "n_estimators": 3, "random_state": 0}
NO_SETS = {"cat_smooth": 0.0, "cat_l2": 0.0, "min_data_per_group": 5, "max_cat_to_onehot": 2}
SMALL = {"n_estimators": 3, "random_state": 0}
TREES = [("a", DecisionTreeRegressor(max_depth=3, random_state=0))]
TREES += [("b", GradientBoostingRegressor(n_estimators=3, random_state=0))]
CLASS_TREES = [("a", DecisionTreeClassifier(max_depth=3, random_state=0))]
CLASS_TREES += [("b", GradientBoostingClassifier(n_estimators=3, random_state=0))]


def all_models():
    """Return the estimators for which the three properties hold, by name."""
    results = {}

    def add(kind, name, **params):
        results[f"{kind.__name__} {name}"] = kind(**params)

    tree = {"max_depth": 4, "random_state": 0}
    for criterion in ("squared_error", "absolute_error", "poisson"):
        add(DecisionTreeRegressor, criterion, criterion=criterion, **tree)
    for criterion in ("gini", "entropy", "gain_ratio", "misclassification"):
        add(DecisionTreeClassifier, criterion, criterion=criterion, **tree)
    for params in (
        {"splitter": "random"},
        {"ccp_alpha": 0.01},
        {"max_leaf_nodes": 6},
        {"min_impurity_decrease": 0.01},
        {"min_weight_fraction_leaf": 0.05},
        {"min_samples_leaf": 5},
    ):
        add(DecisionTreeRegressor, str(params), **tree, **params)
    for given in ("balanced", {0: 1.0, 1: 3.0, 2: 2.0}):
        add(DecisionTreeClassifier, f"class_weight {given}", class_weight=given, **tree)
    forest = {**SMALL, "bootstrap": False}
    add(BaggingRegressor, "rows", max_features=0.7, **forest)
    add(BaggingClassifier, "rows", max_features=0.7, **forest)
    for criterion in ("squared_error", "absolute_error", "poisson"):
        add(RandomForestRegressor, criterion, criterion=criterion, max_features=0.7, **forest)
    add(RandomForestClassifier, "gini", max_depth=5, **forest)
    add(RandomForestClassifier, "balanced", class_weight="balanced", max_depth=5, **forest)
    for loss in ("linear", "square", "exponential"):
        add(AdaBoostRegressor, loss, loss=loss, **SMALL)
    add(AdaBoostClassifier, "classes", **SMALL)
    for loss in ("squared_error", "absolute_error", "huber", "quantile", "poisson"):
        add(GradientBoostingRegressor, loss, loss=loss, **SMALL)
    add(GradientBoostingRegressor, "subsample", subsample=0.5, **SMALL)
    held_out = {"n_estimators": 9, "random_state": 0, "n_iter_no_change": 2}
    add(GradientBoostingRegressor, "stops early", **held_out)
    for loss in ("log_loss", "exponential"):
        add(GradientBoostingClassifier, loss, loss=loss, **SMALL)
    add_newton(add)
    add_histogram(add)
    add(VotingRegressor, "trees", estimators=TREES)
    add(VotingClassifier, "trees", estimators=CLASS_TREES, voting="soft")
    return results


def add_newton(add):
    """Add the Newton boosters."""
    objectives = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", *POSITIVE[1::2])
    objectives += ("reg:quantileerror", "reg:logistic", "reg:tweedie")
    for method in ("hist", "exact", "approx"):
        for one in objectives:
            params = {"objective": one, "tree_method": method, **FREE}
            add(NewtonBoostingRegressor, f"{method} {one}", **params)
        add(NewtonBoostingClassifier, method, tree_method=method, **FREE)
        given = {"tree_method": method, "scale_pos_weight": 3.0, **FREE}
        add(NewtonBoostingClassifier, f"{method} scale_pos_weight", **given)
    for proposal in ("local", "random"):
        given = {"tree_method": "approx", "proposal": proposal, **FREE}
        add(NewtonBoostingRegressor, proposal, **given)
    add(NewtonBoostingRegressor, "several quantiles", objective="reg:quantileerror",
        quantile_alpha=[0.1, 0.9], **FREE)  # fmt: skip
    add(NewtonBoostingRegressor, "categories", **FREE)
    add(NewtonBoostingRegressor, "subsample", subsample=0.5, **FREE)


def add_histogram(add):
    """Add the histogram boosters."""
    objectives = ("regression", "regression_l1", "huber", "fair", "pseudo_huber", "quantile")
    for one in (*objectives, "mape", "poisson", "gamma", "tweedie", "cross_entropy"):
        add(HistogramBoostingRegressor, one, objective=one, **FREE)
    for one in ("multiclass", "multiclassova"):
        add(HistogramBoostingClassifier, one, objective=one, **FREE)
    for params in ({"scale_pos_weight": 3.0}, {"is_unbalance": True}, {"objective": "binary"}):
        add(HistogramBoostingClassifier, f"binary {params}", **params, **FREE)
    add(HistogramBoostingClassifier, "balanced", class_weight="balanced", **FREE)
    for params in (
        {"boosting_type": "dart"},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"extra_trees": True},
        {"subsample": 0.5, "subsample_freq": 1},
        {"path_smooth": 1.0},
    ):
        add(HistogramBoostingRegressor, str(params), **params, **FREE)
    add(HistogramBoostingRegressor, "categories", categorical_feature=[3], **NO_SETS, **FREE)


MODELS = all_models()
TIED = {  # several splits gain as much: only powers of two keep the last bit of these gains
    "DecisionTreeClassifier misclassification",
    "GradientBoostingRegressor subsample",
}


@dataclass(frozen=True)
class Table:
    """Rows with their weights, and other rows without weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    more: np.ndarray
    more_y: np.ndarray
    names: tuple = ()

    def frame(self, X):
        """Return rows in the estimator's input form: the last column holds categories."""
        if not self.names:
            return X
        frame = pd.DataFrame(X, columns=list(self.names))
        return frame.assign(d=pd.Categorical(X[:, -1].astype(int), categories=range(12)))


def draw_table(name, model, seed, n_rows=240, n_more=60):
    """Return a `Table` for a model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    has_categories = name.endswith("categories")
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)
    more = 50.0 * rng.normal(size=(n_more, 4))
    if has_categories:
        X[:, 3] = rng.integers(12, size=n_rows)
        more[:, 3] = rng.integers(12, size=n_more)
        score += rng.normal(size=12)[X[:, 3].astype(int)]
    loss = next(
        (v for n in ("objective", "loss", "criterion") if (v := getattr(model, n, None))), 0
    )
    two = "binary" in name or "scale_pos_weight" in name or loss in BINARY
    if is_classifier(model):
        y = (score > 0).astype(int) if two else np.digitize(score, [-0.5, 0.7])
        more_y = rng.choice(y, n_more)
    elif loss in SHARES:
        y, more_y = 1.0 / (1.0 + np.exp(-score)), rng.random(n_more)
    else:
        y = np.exp(score / 2) + 0.01 if loss in POSITIVE else score
        more_y = 1e3 * np.abs(rng.normal(size=n_more)) + 1e-3
    weight = rng.uniform(0.5, 2.0, n_rows)
    is_frame = has_categories and "Newton" in name
    return Table(X, y, weight, more, more_y, tuple("abcd") if is_frame else ())


def outputs(model, table, X, y, weight):
    """Return the predictions of a newly trained model."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="When fitting Bagging")
        warnings.filterwarnings("ignore", message="Using the fractional value max_samples")
        model.fit(table.frame(X), y, sample_weight=weight)
    rows = table.frame(table.X)
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


def pairs_of(property_, model, table, seed, *, tied=False):
    """Yield two predictions that are equal if the property holds."""
    rng = np.random.default_rng(seed)
    X, y, weight = table.X, table.y, table.weight
    if property_ == "equal weights are no weights":
        plain = outputs(model, table, X, y, None)
        for factor in (1.0, 2.0, 3.0, rng.uniform(0.01, 0.2)):
            yield plain, outputs(model, table, X, y, np.full(len(y), factor))
    elif property_ == "scaled weights change nothing":
        plain = outputs(model, table, X, y, weight)
        for factor in (4.0, 0.125) if tied else (4.0, 3.0, rng.uniform(0.01, 0.2)):
            yield plain, outputs(model, table, X, y, factor * weight)
    else:
        place = np.concatenate([np.sort(rng.random(len(y))), rng.random(len(table.more_y))])
        order = np.argsort(place)
        whole_X = np.concatenate([X, table.more])[order]
        whole_y = np.concatenate([y, table.more_y])[order]
        for own in (weight, np.ones(len(y))):
            whole = np.concatenate([own, np.zeros(len(table.more_y))])[order]
            yield outputs(model, table, X, y, own), outputs(model, table, whole_X, whole_y, whole)


PROPERTIES = (
    "equal weights are no weights",
    "scaled weights change nothing",
    "a row of weight 0 is absent",
)


@pytest.mark.parametrize(
    ("name", "property_"),
    [
        (name, property_)
        for name, model in MODELS.items()
        for property_ in PROPERTIES  # AdaBoostRegressor draws rows: see EXCEPTIONS
        if not (isinstance(model, AdaBoostRegressor) and property_ == PROPERTIES[2])
    ],
)
def test_predictions_are_equal(name, property_):
    seed = sum(name.encode())
    table = draw_table(name, MODELS[name], seed)
    for first, second in pairs_of(property_, MODELS[name], table, seed, tied=name in TIED):
        np.testing.assert_allclose(second, first, **CLOSE)


EQUAL, SCALED, ABSENT = PROPERTIES
BOOSTED = HistogramBoostingRegressor
NEWTON = NewtonBoostingRegressor
FOREST = RandomForestRegressor
EXCEPTIONS = [  # (library whose rule it is, estimator, what it counts, properties that it breaks)
    ("LightGBM", BOOSTED, {"min_child_weight": 20.0}, (EQUAL, SCALED)),
    ("LightGBM", BOOSTED, {"reg_lambda": 20.0}, (EQUAL, SCALED)),
    ("LightGBM", BOOSTED, {"reg_alpha": 5.0}, (EQUAL, SCALED)),
    ("LightGBM", BOOSTED, {"min_split_gain": 5.0}, (EQUAL, SCALED)),
    ("LightGBM", BOOSTED, {"categorical_feature": [3], **NO_SETS, "cat_l2": 50.0}, (EQUAL, SCALED)),
    ("LightGBM", BOOSTED, {"parity": "lightgbm"}, (ABSENT,)),
    ("scikit-learn", BOOSTED, {"parity": "scikit-learn"}, (ABSENT,)),
    ("XGBoost", NEWTON, {"min_child_weight": 20.0}, (EQUAL, SCALED)),
    ("XGBoost", NEWTON, {"reg_lambda": 20.0}, (EQUAL, SCALED)),
    ("XGBoost", NEWTON, {"reg_alpha": 5.0}, (EQUAL, SCALED)),
    ("XGBoost", NEWTON, {"gamma": 5.0}, (EQUAL, SCALED)),
    ("scikit-learn", FOREST, {"bootstrap": True}, (EQUAL, ABSENT)),
    ("scikit-learn", BaggingRegressor, {"bootstrap": True}, (EQUAL, ABSENT)),
    ("scikit-learn", BaggingRegressor, {"bootstrap": True, "max_samples": 0.5}, (EQUAL, SCALED)),
    ("scikit-learn", AdaBoostRegressor, {}, (ABSENT,)),  # draws as many rows as there are
    ("scikit-learn", StackingRegressor, {"estimators": TREES}, (ABSENT, SCALED)),
    ("scikit-learn", StackingClassifier, {"estimators": CLASS_TREES}, (ABSENT, EQUAL, SCALED)),
    ("ours", GradientBoostingRegressor, {"leaf_penalty": 5.0}, (EQUAL, SCALED)),
    ("ours", GradientBoostingRegressor, {"l2_regularization": 20.0}, (EQUAL, SCALED)),
]


def exceptions():
    """Yield a case for each property that a parameter or a random draw breaks."""
    for library, kind, params, broken in EXCEPTIONS:
        for one in broken:
            yield pytest.param(kind, params, one, id=f"{library}: {kind.__name__} {params}: {one}")


@pytest.mark.parametrize(("kind", "params", "property_"), list(exceptions()))
def test_exceptions_equal_the_documented_list(kind, params, property_):
    known = kind._get_param_names()
    free = {} if params.get("parity") else {n: v for n, v in FREE.items() if n in known}
    model = kind(**{**free, **{n: v for n, v in SMALL.items() if n in known}, **params})
    name = "categories" if "categorical_feature" in params else ""
    table = draw_table(name, model, 3)
    results = list(pairs_of(property_, model, table, 3))
    assert any(not np.allclose(second, first, **CLOSE) for first, second in results)


def test_stacking_is_scale_invariant_if_the_final_model_is():
    model = StackingRegressor(TREES, final_estimator=LinearRegression())
    table = draw_table("", model, 1)
    for property_ in (EQUAL, SCALED):
        for first, second in pairs_of(property_, model, table, 1):
            np.testing.assert_allclose(second, first, **CLOSE)


WATCHED = [
    (HistogramBoostingRegressor, "eval_sample_weight", ("l2", "rmse", "l1", "mape", "quantile")),
    (HistogramBoostingClassifier, "eval_sample_weight", ("binary_logloss", "binary_error", "auc")),
    (NewtonBoostingRegressor, "sample_weight_eval_set", ("rmse", "mae", "mape", "quantile")),
    (NewtonBoostingClassifier, "sample_weight_eval_set", ("logloss", "error", "auc", "aucpr")),
]


@pytest.mark.parametrize(
    ("kind", "argument", "metric"),
    [(kind, argument, one) for kind, argument, metrics in WATCHED for one in metrics],
)
def test_metrics_and_early_stopping_use_weights(kind, argument, metric):
    is_hist = argument == "eval_sample_weight"
    patience = {"early_stopping_round" if is_hist else "early_stopping_rounds": 3}
    model = kind(n_estimators=30, learning_rate=0.5, random_state=0, **patience)
    given = {"eval_metric": metric} if is_hist else {}
    if not is_hist:
        model.set_params(eval_metric=metric)
    table, held = (draw_table("binary", model, seed) for seed in (0, 1))
    weight = held.weight
    X, y = np.concatenate([held.X, held.more]), np.concatenate([held.y, held.more_y])
    zeros = np.concatenate([weight, np.zeros(len(held.more_y))])

    def history(X, y, weight):
        model.fit(table.X, table.y, eval_set=[(X, y)], **{argument: [weight]}, **given)
        result = model.evals_result_ if is_hist else model.evals_result()
        return next(iter(next(iter(result.values())).values()))

    plain = history(held.X, held.y, weight)
    np.testing.assert_allclose(history(X, y, zeros), plain, rtol=1e-9)
    np.testing.assert_allclose(history(held.X, held.y, 3.0 * weight), plain, rtol=1e-9)
    equal = history(held.X, held.y, np.full(len(weight), 3.0))
    np.testing.assert_allclose(equal, history(held.X, held.y, None), rtol=1e-9)


def test_regularization_uses_weights_as_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    for kind in (HistogramBoostingRegressor, NewtonBoostingRegressor):
        params = {"n_estimators": 3, "random_state": 0, "min_child_weight": 0.0}
        halved = kind(reg_lambda=2.0, **params).fit(X, y)
        doubled = kind(reg_lambda=4.0, **params).fit(X, y, sample_weight=np.full(200, 2.0))
        np.testing.assert_allclose(doubled.predict(X), halved.predict(X), rtol=1e-9)
        gains = [model.ensemble_.gain for model in (halved, doubled)]
        np.testing.assert_allclose(gains[1], 2.0 * gains[0], rtol=1e-6)


def test_node_weight_is_the_sum_of_row_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    for kind in (DecisionTreeRegressor, RandomForestRegressor):
        params = {} if kind is DecisionTreeRegressor else {"n_estimators": 1, "bootstrap": False}
        model = kind(random_state=0, max_depth=2, **params)
        model.fit(X, X[:, 0], sample_weight=np.full(100, 3.0))
        tree = getattr(model, "tree_", None) or model.estimators_[0].tree_
        assert tree.weighted_n_node_samples[0] == 300.0


@pytest.mark.parametrize("last", [0.0, 1e-9])
def test_quantiles_are_weighted(last):
    X, y = np.zeros((3, 1)), np.array([0.0, 1.0, 100.0])
    model = HistogramBoostingRegressor(
        objective="quantile", alpha=0.9, n_estimators=1, min_child_samples=1
    )
    predictions = model.fit(X, y, sample_weight=[1.0, 1.0, last]).predict(X)
    np.testing.assert_allclose(predictions, 0.9, atol=1e-6)


def test_init_scores_use_weighted_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y, weight = X[:, 0] + X[:, 1], (np.arange(150) % 3 > 0).astype(float)
    start, kept = 5.0 * X[:, 0], weight > 0.0
    model = HistogramBoostingRegressor(n_estimators=3, random_state=0)
    predictions = model.fit(X, y, sample_weight=weight, init_score=start).predict(X)
    expected = model.fit(X[kept], y[kept], init_score=start[kept]).predict(X)
    assert np.array_equal(predictions, expected)
    with pytest.raises(ValueError, match="init_score has shape"):
        model.fit(X, y, sample_weight=weight, init_score=start[kept])


def test_zero_weights_only_are_an_error():
    X, y = np.zeros((30, 1)), np.arange(30.0)
    kinds = (HistogramBoostingRegressor, NewtonBoostingRegressor, GradientBoostingRegressor)
    for kind in kinds:
        with pytest.raises(ValueError, match=r"zero for all rows|non-zero"):
            kind().fit(X, y, sample_weight=np.zeros(30))


@pytest.mark.parametrize(
    ("make", "params"),
    [
        (GradientBoostingClassifier, {"n_estimators": 5}),
        (RandomForestClassifier, {"n_estimators": 5, "class_weight": "balanced"}),
        (
            RandomForestClassifier,
            {"n_estimators": 5, "class_weight": "balanced", "bootstrap": False},
        ),
    ],
)
def test_the_last_class_may_have_no_weight(make, params):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    model = make(random_state=0, **params).fit(X, y, sample_weight=(y < 2).astype(float))
    proba = model.predict_proba(X)
    assert proba.shape == (60, 3)
    assert np.isfinite(proba).all()
    assert (proba[:, 2] < 0.01).all()
