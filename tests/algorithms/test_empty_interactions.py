"""Tests that empty interaction constraints mean the same as in XGBoost and LightGBM."""

import lightgbm
import numpy as np
import pytest
import xgboost

from algorithms import HistogramBoostingRegressor, NewtonBoostingRegressor, trees_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
EMPTY = [None, [], [[]], [[], []]]


def most_columns(trees):
    """Return the largest number of columns on a path to a leaf."""
    columns = [set() for _ in range(trees.n_nodes)]
    for node in np.flatnonzero(trees.left >= 0):
        below = columns[node] | {int(trees.feature[node])}
        columns[trees.left[node]] = columns[trees.right[node]] = below
    return max(map(len, columns))


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("expected", [*EMPTY, "[]", "[[]]", ""])
def test_empty_interaction_list_as_in_xgboost(expected, method):
    params = {"n_estimators": 5, "interaction_constraints": expected, "tree_method": method}
    theirs = most_columns(trees_of(xgboost.XGBRegressor(**params).fit(X, Y)))
    assert most_columns(NewtonBoostingRegressor(**params).fit(X, Y).ensemble_) == theirs


@pytest.mark.parametrize("expected", [*EMPTY, [[0, 1], []]])
def test_empty_interaction_list_as_in_lightgbm(expected):
    params = {"n_estimators": 5, "interaction_constraints": expected}
    model = lightgbm.LGBMRegressor(**params, verbose=-1, n_jobs=1)
    theirs = most_columns(trees_of(model.fit(X, Y)))
    assert most_columns(HistogramBoostingRegressor(**params).fit(X, Y).ensemble_) == theirs
