"""Tests of split gains of the Newton booster under monotone constraints."""

import numpy as np
import pytest

from algorithms.newton_boosting import NewtonBoostingRegressor


@pytest.mark.parametrize("depth", [0, 5])
@pytest.mark.parametrize("method", ["exact", "approx", "hist"])
def test_equal_bounded_sides_have_no_gain_with_alpha(method, depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=600)
    model = NewtonBoostingRegressor(
        n_estimators=6, tree_method=method, max_depth=depth, reg_alpha=0.5,
        monotone_constraints=(1, -1), random_state=0,
    ).fit(X, y)  # fmt: skip
    for (tree,) in model._rounds:
        nodes = tree.nodes
        parents = np.flatnonzero(nodes["left"] >= 0)
        parents = parents[nodes["left"][nodes["left"][parents]] < 0]
        parents = parents[nodes["left"][nodes["right"][parents]] < 0]  # of two leaves
        left, right = (nodes["value"][nodes[side][parents]] for side in ("left", "right"))
        assert (left != right).all()
