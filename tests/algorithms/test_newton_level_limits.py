"""Tests of level-wise growth with few leaves: no more is grown than is kept."""

import numpy as np
import pytest
from newton_kit import table

from algorithms import NewtonBoostingRegressor
from algorithms.newton.grower_choice import make_grower
from algorithms.newton.pruning import keep_splits, prune, splits_by_depth
from algorithms.newton.sampling import Columns
from algorithms.runtime.threads import Workers

MAX_LEAVES = 12


def grow(X, y, most_leaves, **params):
    """Return a grower, and the pruned tree of squared errors that it has grown."""
    model = NewtonBoostingRegressor(max_leaves=most_leaves, min_child_weight=3.0, **params)
    model.n_features_in_, model.categories_ = X.shape[1], {}
    g, h = -y.astype(np.float32), np.ones(len(y), np.float32)
    with Workers(1) as workers:
        grower = make_grower(model, model, X, None, 1e-6, workers)
        grown = grower.grow(g, h, None, Columns(model, X.shape[1], 0))
    return grower.grower, prune(grown, model, by_gain=False)


@pytest.mark.parametrize("method", ["approx", "hist"])
@pytest.mark.parametrize("depth", [0, 9])
@pytest.mark.parametrize("tails", [False, True])
def test_levels_beyond_max_leaves_are_not_grown(method, depth, tails):
    X, y = table(3000)
    if tails:  # the way to the last leaf is long
        y = np.random.default_rng(0).standard_cauchy(len(y))
    params = {"tree_method": method, "max_depth": depth}
    _, whole = grow(X, y, 0, **params)
    grower, few = grow(X, y, MAX_LEAVES, **params)
    assert len(grower.leaves) <= 2 * MAX_LEAVES < whole.nodes["left"].max() / 2
    expected = keep_splits(whole, splits_by_depth(whole.nodes, MAX_LEAVES))
    where = few.where[few.at], expected.where[expected.at]
    for name in few.nodes.dtype.names:
        np.testing.assert_array_equal(
            *(t.nodes[name][: 2 * MAX_LEAVES - 1] for t in (few, expected))
        )
    np.testing.assert_array_equal(*where)
