"""Several quantiles that do not cross, ``rearrange_quantiles``."""

import numpy as np
import pytest

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] + np.abs(X[:, 1]) * RNG.normal(size=200)
LEVELS = [0.6, 0.4, 0.5, 0.45]
PARAMS = {"objective": "reg:quantileerror", "n_estimators": 15, "max_depth": 4}


def pinball(y, predictions):
    """Return the mean pinball loss over the quantiles."""
    left = y[:, None] - predictions
    return np.maximum(np.array(LEVELS) * left, (np.array(LEVELS) - 1.0) * left).mean()


@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, xgb.XGBRegressor])
def test_sorted_quantiles_do_not_cross_and_cost_no_more(kind, tmp_path):
    rows, y = X[100:], Y[100:]
    crossing = kind(**PARAMS, quantile_alpha=LEVELS).fit(X[:100], Y[:100])
    before, order = crossing.predict(rows), np.argsort(LEVELS)
    assert (np.diff(before[:, order], axis=1) < 0).any()
    model = kind(**PARAMS, quantile_alpha=LEVELS, rearrange_quantiles=True)
    model.fit(X[:100], Y[:100], eval_set=[(rows, y)], verbose=False)
    found = model.predict(rows)
    assert (np.diff(found[:, order], axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(before, axis=1))
    loss = pinball(y, found)
    assert loss < pinball(y, before)
    assert model.evals_result()["validation_0"]["quantile"][-1] == pytest.approx(loss, rel=1e-6)
    margins = [one.predict(rows, output_margin=True) for one in (model, crossing)]
    np.testing.assert_array_equal(*margins)
    model.save_model(tmp_path / "model.json")
    loaded = kind()
    loaded.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(rows), found)


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="rearrange_quantiles"):
        NewtonBoostingRegressor(rearrange_quantiles="yes").fit(X, Y)
