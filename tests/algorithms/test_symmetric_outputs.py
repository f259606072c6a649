"""Tests of CatBoost's losses of several outputs, against CatBoost."""

import catboost
import numpy as np
import pytest

from algorithms import SymmetricBoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4)).astype(np.float32)
Y = X[:, 0] * 2 + np.sin(2 * X[:, 1]) + rng.normal(size=400) * (0.3 + np.abs(X[:, 2]))
QUANTILES = "MultiQuantile:alpha=0.1,0.5,0.9"
NORMAL = "RMSEWithUncertainty"
LOSSES = (QUANTILES, NORMAL)
FIXED = {"bootstrap_type": "No", "random_strength": 0, "random_seed": 0, "learning_rate": 0.3}


def train_both(loss, *given, sample_weight=None, **params):
    params = FIXED | {"loss_function": loss, "iterations": 12} | params
    theirs = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False, **params)
    ours = SymmetricBoostingRegressor(**params).fit(*given, sample_weight)
    return ours, theirs.fit(*given, sample_weight=sample_weight)


@pytest.mark.parametrize("iterations", [1, 12])
@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_are_catboosts(loss, iterations):
    ours, theirs = train_both(loss, X, Y, iterations=iterations)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["Newton", "Gradient"])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_mean_and_deviation_are_catboosts(method, steps, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(Y)) if weighted else None
    params = {"leaf_estimation_method": method, "leaf_estimation_iterations": steps}
    ours, theirs = train_both(NORMAL, X, Y, sample_weight=weight, **params)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


def test_last_stage_is_the_prediction():
    model = SymmetricBoostingRegressor(loss_function=NORMAL, iterations=3).fit(X, Y)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X))
    raw = model.ensemble_.raw(X)
    np.testing.assert_allclose(last[:, 1], np.exp(raw[:, 1]) ** 2)


def test_constant_targets_are_refused():
    with pytest.raises(ValueError, match="at least two values"):
        SymmetricBoostingRegressor(loss_function=NORMAL).fit(X, np.ones(len(Y)))


def test_start_from_zero_is_catboosts():
    ours, theirs = train_both(QUANTILES, X, Y, boost_from_average=False)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_metrics_are_catboosts(loss):
    params = FIXED | {"loss_function": loss, "iterations": 6}
    held_out = X[200:], Y[200:]
    theirs = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False, **params)
    theirs.fit(X[:200], Y[:200], eval_set=held_out)
    ours = SymmetricBoostingRegressor(**params).fit(X[:200], Y[:200], eval_set=held_out)
    expected = theirs.get_evals_result()["validation"][loss]
    np.testing.assert_allclose(ours.evals_result_["validation"][loss], expected, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_integer_weights_are_repeated_rows(loss):
    weight = rng.integers(1, 4, len(Y))
    params = FIXED | {"loss_function": loss, "iterations": 5, "l2_leaf_reg": 0}
    few = np.round(X * 4) / 4  # few values: repeated rows do not move the borders
    weighted = SymmetricBoostingRegressor(**params).fit(few, Y, sample_weight=weight)
    repeated = SymmetricBoostingRegressor(**params)
    repeated.fit(np.repeat(few, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.predict(few), repeated.predict(few), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_do_not_change_the_model(loss):
    params = {"loss_function": loss, "iterations": 5, "random_seed": 3}
    one, two = (
        SymmetricBoostingRegressor(thread_count=n, **params).fit(X, Y).predict(X) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("loss", LOSSES)
def test_files_keep_the_predictions(loss, tmp_path):
    model = SymmetricBoostingRegressor(loss_function=loss, iterations=3).fit(X, Y)
    path = tmp_path / "model.json"
    model.save_model(path)
    loaded = SymmetricBoostingRegressor().load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for format in ("json", "xgboost", "lightgbm"):  # noqa: A001 - the parameter's name
        with pytest.raises(ValueError, match="format='harness'"):
            model.save_model(tmp_path / "other", format=format)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"parity": "catboost"}, "parity is not supported"),
        ({"boosting_type": "Ordered"}, "'Ordered' is not supported"),
        ({"monotone_constraints": [1, 0, 0, 0]}, "monotone_constraints is not supported"),
        ({"eval_metric": "RMSE"}, "its metric is the loss"),
    ],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_unsupported_parameters_are_refused(loss, params, match):
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingRegressor(loss_function=loss, iterations=2, **params).fit(X, Y)


@pytest.mark.parametrize("options", ["", ":alpha=0.5", ":alpha=0.1,1", ":level=0.1,0.5"])
def test_invalid_quantiles_are_refused(options):
    with pytest.raises(ValueError, match="at least two values of alpha"):
        SymmetricBoostingRegressor(loss_function=f"MultiQuantile{options}").fit(X, Y)


def test_gradient_steps_of_quantiles_are_refused():
    model = SymmetricBoostingRegressor(loss_function=QUANTILES, leaf_estimation_method="Gradient")
    with pytest.raises(ValueError, match="leaf_estimation_method='Exact'"):
        model.fit(X, Y)
