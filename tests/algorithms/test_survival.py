"""Survival and other objectives of XGBoost: derivatives, training, metrics and files."""

import numpy as np
import pytest
import xgboost

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.newton.elementwise_losses import differentiate_squared_log
from algorithms.newton.survival import (
    DISTRIBUTIONS,
    aft_loss,
    cox_nloglik,
    differentiate_aft,
    differentiate_cox,
)

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 4)).astype(np.float32)
TIME = np.exp(X[:, 0] + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=N)).round(1) + 0.1
CENSORED = RNG.uniform(size=N) < 0.3
WEIGHT = RNG.uniform(0.5, 2.0, size=N)
KIND = RNG.integers(0, 4, size=N)
LOWER = np.where(KIND == 1, 0.0, TIME)
UPPER = np.select([KIND == 2, KIND == 3], [np.inf, 1.5 * TIME], TIME)
BOUNDS = {"label_lower_bound": LOWER, "label_upper_bound": UPPER}
TREES = {"tree_method": "exact", "max_depth": 3, "nthread": 1}
CASES = {
    "survival:cox": ({"label": np.where(CENSORED, -TIME, TIME)}, {}),
    "reg:squaredlogerror": ({"label": TIME}, {"base_score": 0.5}),
    "binary:logitraw": ({"label": CENSORED}, {}),
    "binary:hinge": ({"label": TIME > 1.0}, {}),
    **{
        f"survival:aft {name}": (
            BOUNDS,
            {"aft_loss_distribution": name, "aft_loss_distribution_scale": "1.2",
             "eval_metric": ["aft-nloglik", "interval-regression-accuracy"]},
        )
        for name in DISTRIBUTIONS
    },
}  # fmt: skip


def train(library, case, weight, rounds=4):
    """Return the Booster of a library, its training rows and the metrics of the last round."""
    fields, params = CASES[case]
    params = {"objective": case.split()[0], **TREES, **params}
    data, history = library.DMatrix(X, weight=weight, **fields), {}
    evals = [(library.DMatrix(X, weight=weight, **fields), "valid")]
    booster = library.train(
        params, data, rounds, evals=evals, evals_result=history, verbose_eval=False
    )
    return booster, data, {name: values[-1] for name, values in history["valid"].items()}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES)
def test_models_and_metrics_are_those_of_xgboost(case, weight):
    ours, data, metrics = train(xgb, case, weight)
    theirs, rows, expected = train(xgboost, case, weight)
    np.testing.assert_allclose(ours.predict(data), theirs.predict(rows), rtol=1e-4, atol=1e-6)
    assert metrics == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_files_keep_the_objective_in_both_directions(case):
    ours, data, _ = train(xgb, case, None, 2)
    theirs, rows, _ = train(xgboost, case, None, 2)
    loaded = xgboost.Booster(model_file=bytearray(ours.save_raw()))
    np.testing.assert_allclose(loaded.predict(rows), ours.predict(data), rtol=1e-5, atol=1e-6)
    read = xgb.Booster(model_file=bytearray(theirs.save_raw()))
    np.testing.assert_allclose(read.predict(data), theirs.predict(rows), rtol=1e-5, atol=1e-6)
    given = CASES[case][1]
    more = xgb.train({**TREES, "objective": case.split()[0]}, data, 2, xgb_model=ours.save_raw())
    whole = train(xgb, case, None)[0]
    np.testing.assert_allclose(more.predict(data), whole.predict(data), rtol=1e-5, atol=1e-6)
    again = xgb.Booster(model_file=bytearray(ours.save_raw()))
    names = [name for name in given if name.startswith("aft")]
    assert {name: str(again._params[name]) for name in names} == {n: given[n] for n in names}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_aft_derivatives_are_those_of_its_loss(distribution):
    y, score, step = np.column_stack([LOWER, UPPER]), np.log(TIME) + RNG.normal(size=N), 1e-4

    def loss(shift):
        return aft_loss(distribution, 1.3, y, np.exp(score + shift))

    g, h = differentiate_aft(distribution, score, y, 1.3)
    expected_g = (loss(step) - loss(-step)) / (2 * step)
    expected_h = (loss(step) - 2 * loss(0.0) + loss(-step)) / step**2
    inside = (np.abs(g) < 10) & (h > 1e-3) & (h < 10)
    assert inside.sum() > 0.7 * N
    np.testing.assert_allclose(g[inside], expected_g[inside], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h[inside], expected_h[inside], rtol=1e-3, atol=1e-4)


def test_aft_derivatives_are_finite_far_from_the_times():
    y = np.array([[1.0, 1.0], [1.0, np.inf], [0.0, 1.0], [1.0, 2.0]])
    for distribution in DISTRIBUTIONS:
        for score in (-500.0, 500.0):
            found = differentiate_aft(distribution, np.full(4, score), y, 0.5)
            assert np.isfinite(found).all()
            assert (found[1] > 0.0).all()


def test_cox_derivatives_are_those_of_the_partial_likelihood():
    time = RNG.permutation(N) + 1.0  # without ties
    y, score, step = np.where(CENSORED, -time, time), RNG.normal(size=N), 1e-4
    n_events = (~CENSORED).sum()

    def loss(row, shift):
        moved = score.copy()
        moved[row] += shift
        return n_events * cox_nloglik(y, np.exp(moved), None)

    g, h = differentiate_cox(score, y, None)
    for row in range(0, N, 30):
        low, middle, high = (loss(row, shift) for shift in (-step, 0.0, step))
        assert g[row] == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-5)
        assert h[row] == pytest.approx((high - 2 * middle + low) / step**2, rel=1e-3, abs=1e-3)
    shifted = differentiate_cox(score + 800.0, y, None)  # exp(F) would overflow
    np.testing.assert_allclose(shifted, [g, h], rtol=1e-6, atol=1e-9)


def test_squared_log_derivatives_are_those_of_its_loss():
    score, y, step = RNG.uniform(0.1, 1.0, N), RNG.uniform(0.5, 4.0, N), 1e-4
    values = [0.5 * np.log((1.0 + score + s) / (1.0 + y)) ** 2 for s in (-step, 0.0, step)]
    g, h = differentiate_squared_log(score, y, None)
    np.testing.assert_allclose(g, (values[2] - values[0]) / (2 * step), rtol=1e-4)
    second = (values[2] - 2 * values[1] + values[0]) / step**2
    np.testing.assert_allclose(h, np.maximum(second, 1e-6), rtol=1e-4, atol=1e-5)


def test_classifiers_of_the_hinge_loss_predict_one_class(tmp_path):
    y = np.where(TIME > 1.0, "long", "short")
    options = {"objective": "binary:hinge", "n_estimators": 10, "max_depth": 3, "n_jobs": 1}
    model = xgb.XGBClassifier(**options).fit(X, y, eval_set=[(X, y)], verbose=False)
    proba, error = model.predict_proba(X), np.mean(model.predict(X) != y)
    assert np.isin(proba, (0.0, 1.0)).all()
    assert (proba.sum(axis=1) == 1.0).all()
    assert error < 0.1
    assert model.evals_result()["validation_0"]["error"][-1] == pytest.approx(error)
    margin = model.predict(X, output_margin=True)
    np.testing.assert_array_equal(model.get_booster().predict(xgb.DMatrix(X)), margin > 0.0)
    for name in ("ours.json", "theirs.json"):
        kind = "xgboost" if name == "theirs.json" else "harness"
        model.save_model(tmp_path / name, format=kind)
        loaded = NewtonBoostingClassifier().load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    loaded = xgboost.Booster(model_file=tmp_path / "theirs.json")
    np.testing.assert_array_equal(loaded.predict(xgboost.DMatrix(X)), proba[:, 1])


def test_estimators_train_on_times_and_refuse_what_needs_bounds():
    y = np.where(CENSORED, -TIME, TIME)
    options = {"n_estimators": 10, "max_depth": 3}
    model = NewtonBoostingRegressor(objective="survival:cox", **options)
    model.fit(X, y, eval_set=[(X, y)])
    values = model.evals_result()["validation_0"]["cox-nloglik"]
    assert values[-1] < values[0]
    assert values[-1] == pytest.approx(cox_nloglik(y, model.predict(X), None), rel=1e-6)
    with pytest.raises(ValueError, match="needs bounds of y"):
        NewtonBoostingRegressor(objective="survival:aft").fit(X, TIME)
    with pytest.raises(ValueError, match="needs y > -1"):
        NewtonBoostingRegressor(objective="reg:squaredlogerror").fit(X, -TIME - 1)
    hinge = NewtonBoostingClassifier(objective="binary:hinge", parity="xgboost")
    with pytest.raises(ValueError, match="binary:hinge"):
        hinge.fit(X, CENSORED)
    with pytest.raises(ValueError, match="survival:cox"):
        NewtonBoostingRegressor(objective="survival:cox", parity="xgboost").fit(X, y)
    squared_log = NewtonBoostingRegressor(objective="reg:squaredlogerror", n_estimators=1)
    squared_log.fit(X, TIME, eval_set=[(X, TIME)])
    start = np.expm1(np.log1p(TIME).mean())
    assert squared_log.intercept_.item() == pytest.approx(start, rel=1e-6)


@pytest.mark.parametrize(
    "fields",
    [
        {"label": TIME},
        {"label_lower_bound": TIME},
        {"label_lower_bound": TIME + 1, "label_upper_bound": TIME},
        {"label_lower_bound": 0 * TIME, "label_upper_bound": 0 * TIME},
    ],
)
def test_impossible_bounds_are_refused(fields):
    with pytest.raises(xgb.XGBoostError, match="label_lower_bound"):
        xgb.train({"objective": "survival:aft"}, xgb.DMatrix(X, **fields), 1)
