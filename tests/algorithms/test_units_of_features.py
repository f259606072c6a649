"""The unit of a feature does not change the trees."""

import numpy as np
import pytest

from algorithms import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 8)).astype(np.float32).astype(np.float64)
Y = X[:, 0] + X[:, 1] * X[:, 2]


KINDS = [
    *(AdaBoostClassifier, AdaBoostRegressor, BaggingRegressor),
    *(DecisionTreeClassifier, DecisionTreeRegressor),
    *(GradientBoostingClassifier, GradientBoostingRegressor),
    *(RandomForestClassifier, RandomForestRegressor),
]


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**-60])
@pytest.mark.parametrize("kind", KINDS)
def test_small_units_give_the_same_predictions(kind, unit):
    """Scaling by a power of two is exact, so the same rows are on the same side of each split."""
    y = Y > 0.3 if kind.__name__.endswith("Classifier") else Y
    params = {"random_state": 0}
    if kind not in (DecisionTreeClassifier, DecisionTreeRegressor):
        params["n_estimators"] = 5
    plain, scaled = (kind(**params).fit(X * u, y).predict(X * u) for u in (1.0, unit))
    np.testing.assert_array_equal(scaled, plain)
    assert len(np.unique(plain)) > 1
