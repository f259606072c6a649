"""Tests of ``random_state=None``: a fixed seed or a new draw, as in the reference library."""

import numpy as np
import pytest
from estimator_cases import small, table

from algorithms import DaskHistogramBoostingRegressor
from algorithms.estimator.seeds import draw_seed

SAMPLING = {
    "Newton": [
        {},
        {"subsample": 0.5},
        {"colsample_bynode": 0.5},
        {"tree_method": "approx", "proposal": "random"},
    ],
    "Histogram": [
        {},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5},
        {"data_sample_strategy": "goss"},
        {"boosting_type": "dart"},
        {"extra_trees": True},
    ],
}
FIXED = [
    (f"{family}Boosting{task}", params)
    for family, all_ in SAMPLING.items()
    for task in ("Classifier", "Regressor")
    for params in all_
]
DRAWS = ["RandomForestRegressor", "BaggingRegressor", "AdaBoostRegressor", "RandomForestClassifier"]


def predictions_of(model, X):
    """Return the predictions of a model."""
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize(("name", "params"), FIXED)
def test_defaults_are_deterministic_if_the_library_is(name, params):
    X, y = table(name)
    first, second, zero = (
        predictions_of(small(name, random_state=seed, **params).fit(X, y), X)
        for seed in (None, None, 0)
    )
    assert np.array_equal(first, second)
    assert np.array_equal(first, zero)


@pytest.mark.parametrize("name", DRAWS)
def test_defaults_draw_new_seeds_if_scikit_learn_does(name):
    X, y = table(name)
    results = [predictions_of(small(name, random_state=None).fit(X, y), X) for _ in range(3)]
    assert not all(np.array_equal(results[0], other) for other in results[1:])


def test_default_seed_on_dask_equals_the_local_one():
    assert DaskHistogramBoostingRegressor().random_state is None
    assert draw_seed(None) == draw_seed(0) == draw_seed(None)
    assert draw_seed(np.random.RandomState(0)) == draw_seed(0)
    assert draw_seed(1) != draw_seed(0)
