"""Tests of ``NewtonBoosting*`` in place of XGBoost's estimators: same calls, same results."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.base import clone

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor

CLASSES = (NewtonBoostingClassifier, xgboost.XGBClassifier)
VALUES = (NewtonBoostingRegressor, xgboost.XGBRegressor)


def table(n=300, seed=0):
    """Return X, a noisy signal, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    return X, signal, rng.uniform(0.2, 2.0, n)


def estimator_pair(kinds, **params):
    """Return our estimator in parity mode, and XGBoost's."""
    return kinds[0](parity="xgboost", **params), kinds[1](n_jobs=1, **params)


# ------------------------------------------------------------------ what is printed


@pytest.mark.parametrize("verbose", [True, 3, 1, False, None])
def test_verbose_fit_prints_xgboost_lines(verbose, capsys):
    X, signal, _ = table()
    y = signal > 0
    requested = {"n_estimators": 9, "early_stopping_rounds": 2, "eval_metric": ["error", "logloss"]}
    printed = []
    for model in estimator_pair(CLASSES, **requested):
        tables = [(X[:200], y[:200]), (X[200:], y[200:])]
        model.fit(X[:200], y[:200], eval_set=tables, verbose=verbose)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert bool(printed[0]) == bool(verbose)


def test_fit_prints_nothing_by_default(capsys):
    X, y, _ = table()
    model = NewtonBoostingRegressor(n_estimators=4).fit(X, y, eval_set=[(X, y)])
    assert capsys.readouterr().out == ""
    model.fit(X, y, verbose=True)  # without evaluation sets nothing is printed
    assert capsys.readouterr().out == ""
    model.fit(X, y, eval_set=[(X, y)], verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[3]"]
    with pytest.raises(ValueError, match="verbose must be a bool or a number of rounds"):
        model.fit(X, y, eval_set=[(X, y)], verbose=-1)


# ------------------------------------------------------------------ raw scores to start from


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_training_starts_from_base_margin_like_xgboost(method, n_classes, capsys):
    X, signal, weight = table()
    y = np.digitize(signal, [-0.3, 0.7][: n_classes - 1]) if n_classes else signal
    shape = (300, 3) if n_classes == 3 else 300
    margin = np.random.default_rng(1).normal(size=shape)
    results = []
    for model in estimator_pair(
        CLASSES if n_classes else VALUES, n_estimators=4, tree_method=method
    ):
        model.fit(
            X[:200],
            y[:200],
            sample_weight=weight[:200],
            base_margin=margin[:200],
            eval_set=[(X[200:], y[200:]), (X[200:], y[200:])],
            base_margin_eval_set=[margin[200:], None],
            verbose=True,
        )
        raw = model.predict(X, output_margin=True, base_margin=margin)
        other = model.predict(X, output_margin=True)
        part = {"base_margin": margin, "iteration_range": (0, 2)}
        some = model.predict_proba(X, **part) if n_classes else model.predict(X, **part)
        results.append((raw, other, some, model.intercept_, capsys.readouterr().out))
    (*ours, some, base, message), (*theirs, other_some, other_base, other_told) = results
    for mine, other in zip(ours, theirs, strict=True):
        assert np.array_equal(mine, other)
    np.testing.assert_allclose(some, other_some, rtol=1e-5)
    np.testing.assert_allclose(base, other_base, rtol=1e-6)
    assert message == other_told


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
def test_trees_do_not_fit_what_the_margin_explains(method):
    X, y, weight = table()
    weight[:50] = 0.0
    params = {"n_estimators": 5, "tree_method": method, "base_score": 0.0, "random_state": 0}
    margin = X[:, 2]
    moved = NewtonBoostingRegressor(**params).fit(X, y, weight, base_margin=margin)
    plain = NewtonBoostingRegressor(**params).fit(X, y - margin, weight)
    predictions = moved.predict(X, base_margin=margin)
    np.testing.assert_allclose(predictions, plain.predict(X) + margin, atol=1e-4)
    first = NewtonBoostingRegressor(**params).fit(X, y, weight, base_margin=margin)
    more = NewtonBoostingRegressor(**params).fit(X, y, weight, base_margin=margin, xgb_model=first)
    error, later = (np.mean((m.predict(X, base_margin=margin) - y) ** 2) for m in (first, more))
    assert later < error


@pytest.mark.parametrize(
    "margin", [np.zeros(299), np.zeros((300, 2)), np.zeros((2, 150)), np.full(300, np.inf)]
)
def test_invalid_margins_are_refused(margin):
    X, y, _ = table()
    model = NewtonBoostingRegressor(n_estimators=1)
    with pytest.raises(ValueError, match="base_margin"):
        model.fit(X, y, base_margin=margin)
    with pytest.raises(ValueError, match="base_margin"):
        model.fit(X, y).predict(X, base_margin=margin)


def test_column_names_may_differ_from_training():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    other = frame.set_axis(list("wxyz"), axis=1)
    for model in estimator_pair(CLASSES, n_estimators=3):
        model.fit(frame, y > 0)
        with pytest.raises(ValueError, match="feature"):
            model.predict(other)
        proba = model.predict_proba(other, validate_features=False)
        assert np.array_equal(proba, model.predict_proba(frame))
    assert list(other.columns) == list("wxyz")
    frames = pl.DataFrame(X, schema=list("abcd")), pl.DataFrame(X, schema=list("wxyz"))
    ours = NewtonBoostingClassifier(n_estimators=3).fit(frames[0], y > 0)
    probabilities = ours.predict_proba(frames[1], validate_features=False)
    assert np.array_equal(probabilities, ours.predict_proba(frames[0]))
    assert frames[1].columns == list("wxyz")


def test_leaves_of_a_round_range_are_its_columns():
    X, signal, _ = table()
    ours, theirs = estimator_pair(CLASSES, n_estimators=4)
    y = np.digitize(signal, [-0.3, 0.7])
    ours.fit(X, y)
    theirs.fit(X, y)
    for rounds in (None, (0, 3), (0, 0)):
        assert ours.apply(X, iteration_range=rounds).shape == theirs.apply(X, rounds).shape
    assert np.array_equal(ours.apply(X, (1, 3)), ours.apply(X)[:, 3:9])


# ------------------------------------------------------------------ quantiles


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 9, 50, 301])
def test_quantile_base_scores_equal_xgboost(n, weighted):
    X, y, weight = table(n)
    weight = weight if weighted else None
    requested = [{"objective": "reg:absoluteerror"}]
    requested += [
        {"objective": "reg:quantileerror", "quantile_alpha": alpha}
        for alpha in (0.05, 0.1, 0.5, 0.73, 0.99)
    ]
    for params in requested:
        ours = NewtonBoostingRegressor(n_estimators=1, **params).fit(X, y, weight)
        theirs = xgboost.XGBRegressor(n_estimators=1, **params).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=2e-7)


def test_quantile_leaves_equal_xgboost():
    X, y, weight = table()
    X = np.round(X)  # so few values that the bins are those of XGBoost
    for given in (None, weight):
        params = {"objective": "reg:quantileerror", "quantile_alpha": 0.8, "n_estimators": 1}
        ours = NewtonBoostingRegressor(max_depth=2, **params).fit(X, y, given)
        theirs = xgboost.XGBRegressor(max_depth=2, **params).fit(X, y, sample_weight=given)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


# ------------------------------------------------------------------ metrics

OF_VALUES = ["rmse", "mae", "mape", "rmsle", "mphe", "poisson-nloglik", "gamma-nloglik"]
OF_VALUES += ["gamma-deviance", "tweedie-nloglik@1.2", "tweedie-nloglik@1.7", "quantile"]
OF_TWO = ["logloss", "error", "error@0.3", "auc", "aucpr", "rmse", "mae", "mphe", "rmsle"]
OF_MANY = ["mlogloss", "merror", "auc", "aucpr"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_classes", "metrics", "params"),
    [
        (0, OF_VALUES, {"objective": "reg:gamma", "huber_slope": 0.7, "quantile_alpha": 0.2}),
        (0, ["tweedie-nloglik@1.3"], {"objective": "reg:tweedie", "tweedie_variance_power": 1.3}),
        (2, OF_TWO, {}),
        (3, OF_MANY, {}),
    ],
)
def test_metrics_equal_xgboost(n_classes, metrics, params, weighted):
    X, signal, weight = table()
    y = np.digitize(signal, [-0.3, 0.7][: n_classes - 1]) if n_classes else np.exp(signal)
    weights = [weight, None] if weighted else None
    results = []
    for model in estimator_pair(
        CLASSES if n_classes else VALUES, n_estimators=3, max_depth=3, **params
    ):
        model.set_params(eval_metric=metrics)
        tables = [(X, y), (X[:60], y[:60])]
        model.fit(X, y, eval_set=tables, sample_weight_eval_set=weights, verbose=False)
        results.append(model.evals_result())
    assert {name: list(own) for name, own in results[0].items()} == dict.fromkeys(
        results[1], metrics
    )
    for name, own in results[1].items():
        for metric, values in own.items():
            np.testing.assert_allclose(results[0][name][metric], values, rtol=1e-5, err_msg=metric)


def test_auc_of_one_class_is_nan():
    X, signal, _ = table()
    model = NewtonBoostingClassifier(n_estimators=1, eval_metric=["auc", "aucpr"])
    for y, rows in ((signal > 0, signal > 0), (np.digitize(signal, [-0.3, 0.7]), signal < 0.7)):
        model.fit(X, y, eval_set=[(X[rows], y[rows])])
        assert np.isnan(list(model.evals_result()["validation_0"].values())).all()


def test_binary_metrics_are_refused_for_several_classes():
    X, signal, _ = table()
    y = np.digitize(signal, [-0.3, 0.7])
    model = NewtonBoostingClassifier(n_estimators=1, eval_metric="rmse")
    with pytest.raises(ValueError, match="use 'merror' or 'mlogloss'"):
        model.fit(X, y, eval_set=[(X, y)])
    with pytest.raises(ValueError, match="unknown eval_metric 'rmse@2'"):
        model.set_params(eval_metric="rmse@2").fit(X, y, eval_set=[(X, y)])


# ------------------------------------------------------------------ feature importances


@pytest.mark.parametrize("kind", ["gain", "weight", "cover", "total_gain", "total_cover", None])
@pytest.mark.parametrize("method", ["hist", "exact"])
def test_importances_equal_xgboost(kind, method):
    X, signal, weight = table()
    X = np.column_stack([X, np.zeros(300)])  # a column that no tree asks
    y = np.digitize(signal, [-0.3, 0.7])
    ours, theirs = estimator_pair(CLASSES, n_estimators=5, tree_method=method, importance_type=kind)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    result = ours.feature_importances_
    assert result[4] == 0.0
    np.testing.assert_allclose(result, theirs.feature_importances_, rtol=2e-6)


def test_early_stopped_importances_cover_all_rounds():
    X, y, _ = table()
    for model in (both := estimator_pair(VALUES, n_estimators=60, early_stopping_rounds=4)):
        model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    ours, theirs = both
    assert ours.best_iteration < theirs.get_booster().num_boosted_rounds() - 1
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=2e-6)


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize("kinds", [CLASSES, VALUES])
@pytest.mark.parametrize("parity", [None, "xgboost"])
def test_xgboost_parameters_are_accepted(kinds, parity):
    X, signal, _ = table()
    y = signal > 0 if kinds is CLASSES else signal
    given = kinds[1]().get_params()
    model = kinds[0](**{**given, "n_estimators": 3, "random_state": 0}, parity=parity).fit(X, y)
    plain = kinds[0](n_estimators=3, random_state=0, parity=parity).fit(X, y)
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert np.array_equal(model.feature_importances_, plain.feature_importances_)
    assert clone(model).get_params()["max_depth"] is None
    every = kinds[0](**given, parity=parity).fit(X, y)
    assert every.n_iter_ == 100


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
def test_parameter_none_means_its_default(method):
    X, y, weight = table()
    plain = NewtonBoostingRegressor(tree_method=method, n_estimators=2, random_state=0)
    set_ = ("tree_method", "n_estimators", "random_state", "missing")
    kept = (*set_, "warm_start", "enable_categorical")
    nones = {name: None for name in plain.get_params() if name not in kept}
    model = clone(plain).set_params(**nones)
    for one in (model, plain):
        one.fit(X, y, weight, eval_set=[(X, y)])
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert model.evals_result() == plain.evals_result()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device", "cuda"),
        ("feature_types", ["q"]),
        ("sampling_method", "gradient_based"),
    ],
)
def test_unknown_parameter_is_refused_by_name(name, value):
    X, y, _ = table()
    with pytest.raises(ValueError, match=f"NewtonBoostingRegressor does not support {name}="):
        NewtonBoostingRegressor(**{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("callbacks", print), ("verbosity", 4), ("enable_categorical", None), ("booster", "forest")],
)
def test_unknown_value_is_refused_by_parameter_name(name, value):
    X, y, _ = table()
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        NewtonBoostingRegressor(**{name: value}).fit(X, y)


def test_categories_without_opt_in_are_refused_as_by_xgboost():
    X, y, _ = table()
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "x", "y"))})
    for kind in VALUES:
        with pytest.raises(ValueError, match="enable_categorical"):
            kind(n_estimators=2, enable_categorical=False).fit(frame, y)
        model = kind(n_estimators=2, enable_categorical=True).fit(frame, y)
        predictions = model.predict(frame)
        assert predictions.shape == (300,)
        model.set_params(enable_categorical=False)  # known categories with other codes
        assert np.array_equal(model.predict(frame), predictions)
        other_order = frame.assign(c=frame["c"].cat.reorder_categories(["y", "x"]))
        assert np.array_equal(model.predict(other_order), predictions)
    both = NewtonBoostingRegressor(n_estimators=2, enable_categorical=False)
    assert both.fit(frame[["a"]], y).predict(frame[["a"]]).shape == (300,)


# ------------------------------------------------------------------ several quantiles, and shares


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("shares", [[0.1, 0.9], np.array([0.2, 0.5, 0.8])])
def test_several_quantiles_equal_xgboost(shares, method, weighted):
    X, y, weight = table()
    weight = weight if weighted else None
    params = {"objective": "reg:quantileerror", "quantile_alpha": shares, "n_estimators": 4}
    results = []
    for model in estimator_pair(VALUES, tree_method=method, **params):
        model.fit(X, y, sample_weight=weight, eval_set=[(X, y)], verbose=False)
        history = model.evals_result()["validation_0"]["quantile"]
        results.append((model.predict(X), model.intercept_, history))
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    assert results[0][0].shape == (300, len(shares))


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
def test_each_of_several_quantiles_equals_its_single_fit(method, tmp_path):
    X, y, weight = table()
    params = {"objective": "reg:quantileerror", "n_estimators": 5, "random_state": 0}
    model = NewtonBoostingRegressor(tree_method=method, quantile_alpha=[0.1, 0.5, 0.9], **params)
    predictions = model.fit(X, y, weight).predict(X)
    below = [np.average(y < predictions[:, k], weights=weight) for k in range(3)]
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.12)
    alone = clone(model).set_params(quantile_alpha=0.1, tree_method=method).fit(X, y, weight)
    assert alone.predict(X).shape == (300,)
    assert np.array_equal(predictions[:, 0], alone.predict(X))  # the first draws as one alone does
    model.save_model(tmp_path / "model.json")
    again = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), predictions)
    library = xgboost.XGBRegressor()
    library.load_model(tmp_path / "model.json")
    assert np.array_equal(library.predict(X), predictions.astype(np.float32))


@pytest.mark.parametrize("alpha", [[], [0.5, 1.0], [[0.1, 0.2]], [0.0, 0.5]])
def test_invalid_quantiles_are_refused(alpha):
    X, y, _ = table()
    model = NewtonBoostingRegressor(objective="reg:quantileerror", quantile_alpha=alpha)
    with pytest.raises(ValueError, match="quantile_alpha must lie between 0 and 1"):
        model.fit(X, y)


def test_several_quantiles_have_their_own_metric():
    X, y, _ = table()
    model = NewtonBoostingRegressor(
        objective="reg:quantileerror", quantile_alpha=[0.1, 0.9], n_estimators=2
    )
    with pytest.raises(ValueError, match="use 'quantile'"):
        model.set_params(eval_metric="rmse").fit(X, y, eval_set=[(X, y)])

    def width(_y, found):
        return np.mean(found[:, 1] - found[:, 0])

    model.set_params(eval_metric=width).fit(X, y, eval_set=[(X, y)])
    message = model.evals_result()["validation_0"]["width"]
    assert message[-1] == pytest.approx(width(y, model.predict(X)))


@pytest.mark.parametrize("parity", [None, "xgboost"])
@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_probability_targets_are_fitted_as_by_xgboost(method, parity, scale):
    X, signal, weight = table()
    y = np.clip(1.0 / (1.0 + np.exp(-signal)) - 0.1, 0.0, 1.0)
    y[::7] = 1.0
    params = {"objective": "reg:logistic", "n_estimators": 5, "tree_method": method}
    params["scale_pos_weight"] = scale
    ours = NewtonBoostingRegressor(**params, parity=parity, random_state=0)
    theirs = xgboost.XGBRegressor(**params, n_jobs=1)
    for model in (ours, theirs):
        model.fit(X, y, sample_weight=weight, eval_set=[(X, y)], verbose=False)
    predictions, expected = ours.predict(X), theirs.predict(X)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)
    if parity is None:
        assert ((predictions > 0.0) & (predictions < 1.0)).all()
        assert np.mean((predictions - y) ** 2) < 1.1 * np.mean((expected - y) ** 2)
    else:
        np.testing.assert_allclose(predictions, expected, rtol=1e-6)
        message, other = (m.evals_result()["validation_0"]["rmse"] for m in (ours, theirs))
        np.testing.assert_allclose(message, other, rtol=1e-5)


def test_targets_outside_0_and_1_are_refused():
    X, y, _ = table()
    with pytest.raises(ValueError, match="needs 0 <= y <= 1"):
        NewtonBoostingRegressor(objective="reg:logistic").fit(X, y)


def test_two_classes_use_one_score():
    X, y, _ = table()
    model = NewtonBoostingClassifier(parity="xgboost", objective="multi:softprob")
    with pytest.raises(ValueError, match="only 'binary:logistic' for two classes"):
        model.fit(X, y > 0)


@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, NewtonBoostingClassifier])
def test_evaluation_targets_may_be_a_column(kind):
    X, y, _ = table()
    y = (y > 0).astype(float) if kind is NewtonBoostingClassifier else y
    model = kind(n_estimators=3, random_state=0)
    flat = model.fit(X, y, eval_set=[(X, y)]).evals_result()
    assert model.fit(X, y, eval_set=[(X, y[:, None])]).evals_result() == flat
    y = y.copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"NaN|labels that y does not have"):
        model.fit(X, np.nan_to_num(y), eval_set=[(X, y)])


@pytest.mark.parametrize("name", ["sample_weight_eval_set", "base_margin_eval_set"])
def test_number_of_weights_and_margins_must_equal_tables(name):
    X, y, weight = table()
    with pytest.raises(ValueError, match=f"{name} has 1 entries for 2 tables"):
        NewtonBoostingRegressor().fit(X, y, eval_set=[(X, y), (X, y)], **{name: [weight]})


@pytest.mark.parametrize(
    ("weight", "message"), [(-1.0, "Negative values"), (0.0, "at least one non-zero")]
)
def test_evaluation_weights_are_checked(weight, message):
    X, y, _ = table()
    given = np.full(len(y), weight)
    with pytest.raises(ValueError, match=message):
        NewtonBoostingRegressor().fit(X, y, eval_set=[(X, y)], sample_weight_eval_set=[given])


def test_multiclass_custom_objective_uses_the_multiclass_metric():
    X, y, _ = table()
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))

    def softmax(y, raw):
        p = np.exp(raw - raw.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(3)[y.astype(int)], 2.0 * p * (1.0 - p)

    model = NewtonBoostingClassifier(n_estimators=3, objective=softmax)
    assert list(model.fit(X, y, eval_set=[(X, y)]).evals_result()["validation_0"]) == ["mlogloss"]


def test_leaves_beyond_the_best_round_also_of_a_loaded_model(tmp_path):
    X, y, _ = table()
    noise = np.random.default_rng(1).normal(size=len(y))
    model = NewtonBoostingRegressor(n_estimators=40, early_stopping_rounds=3, random_state=0)
    model.fit(X, y, eval_set=[(X, noise)])
    assert model.best_iteration + 1 < model.n_iter_
    assert model.apply(X).shape[1] == model.best_iteration + 1
    every = model.apply(X, iteration_range=(0, model.n_iter_))
    assert every.shape[1] == model.n_iter_
    assert np.array_equal(every[:, : model.best_iteration + 1], model.apply(X))
    assert np.array_equal(model.predict(X, iteration_range=(1, 0)), model.predict(X))
    plain = NewtonBoostingRegressor(n_estimators=2).fit(X, y)
    for fitted in (model, plain):
        fitted.save_model(tmp_path / "model.json")
        again = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
        assert hasattr(again, "best_iteration") is hasattr(fitted, "best_iteration")


def test_metric_that_returns_no_number_is_named():
    model = NewtonBoostingClassifier(n_estimators=2, eval_metric=lambda _y, _prediction: None)
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(TypeError, match="eval_metric must return a number; it returned None"):
        model.fit(X, y, eval_set=[(X, y)], verbose=False)
