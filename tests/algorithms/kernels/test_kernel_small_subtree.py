"""Tests that subtrees of few rows are the same as those of the general kernel."""

from unittest.mock import patch

import numpy as np
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.trees import grower

MAX_SUBTREE_ROWS = grower.MAX_SUBTREE_ROWS
new_scratch = grower.new_scratch


def general_scratch(m, rules, _n_features=0, *, ranked=False):
    """Return scratch without memory for small subtrees."""
    return new_scratch(m, rules, ranked=ranked)


@given(
    seed=seeds,
    n=st.integers(2, 4 * MAX_SUBTREE_ROWS),
    n_classes=st.sampled_from([0, 2, 5]),
    weights=st.sampled_from(["unit", "integer", "float"]),
    changes=st.sampled_from(
        [{}, {"max_features": 1}, {"max_depth": 4}, {"min_impurity_decrease": 0.02}]
    ),
)
def test_small_subtrees_are_those_of_the_general_kernel(seed, n, n_classes, weights, changes):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 12)))
    y = rng.integers(0, n_classes, n) if n_classes else rng.normal(size=n).round(1)
    weight = {
        "unit": None,
        "integer": rng.integers(0, 3, n) + (np.arange(n) == 0),
        "float": rng.uniform(0.1, 2, n),
    }[weights]
    estimator = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    model = estimator(random_state=seed % 1000, **changes)
    own = model.fit(X, y, sample_weight=weight).tree_
    with patch.object(grower, "new_scratch", general_scratch):
        general = model.fit(X, y, sample_weight=weight).tree_
    assert own.nodes.tobytes() == general.nodes.tobytes()
    assert own.values.tobytes() == general.values.tobytes()


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_small_subtrees_are_grown_by_their_own_kernel(estimator):
    made = []

    def recorded_scratch(*given, **named):
        made.append(new_scratch(*given, **named))
        made[-1].small.weight[:] = np.nan
        return made[-1]

    X = np.random.default_rng(0).normal(size=(8 * MAX_SUBTREE_ROWS, 3))
    with patch.object(grower, "new_scratch", recorded_scratch):
        estimator(random_state=0).fit(X, X[:, 0] * X[:, 1] > 0.0)
    assert np.isfinite(made[0].small.weight[0])
