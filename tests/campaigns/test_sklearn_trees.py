"""Comparison of thousands of random trees and bags, and trees on real tables, with scikit-learn.

``SOAK_SKLEARN_TREES`` (1500) random trees of up to 2000 rows, and a tenth as many bags, drawn from
``SOAK_SEED`` (1). Real tables are those of the folder that ``HARNESS_MIRROR`` names, up to
``SOAK_MIRROR_BYTES`` (200 000) each.
"""

import os

import numpy as np
import pandas as pd
import pytest
from columns import seeds
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from mirror_tables import mirror_table_names
from parity_sklearn import (
    CRITERIA,
    DRAWS,
    KINDS_AND_CRITERIA,
    LIMITS,
    WEIGHTS,
    check_bag,
    check_tree,
    fit_both,
)
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from harness.data import resolve
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

TREES = int(os.environ.get("SOAK_SKLEARN_TREES", "1500"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
MANY = settings(
    max_examples=TREES, deadline=None, suppress_health_check=list(HealthCheck), database=None
)

pytestmark = pytest.mark.slow


@seed(SEED)
@given(
    seed=seeds,
    how=st.sampled_from(KINDS_AND_CRITERIA),
    limits=LIMITS,
    weights=WEIGHTS,
    n=st.integers(2, 300) | st.integers(300, 2000),
)
@MANY
def test_random_trees_equal_scikit_learn(seed, how, limits, weights, n):
    check_tree(seed, *how, limits, weights, n)


@seed(SEED)
@given(
    seed=seeds,
    kind=st.sampled_from([BaggingClassifier, BaggingRegressor]),
    draws=DRAWS,
    weighted=st.booleans(),
)
@settings(MANY, max_examples=max(TREES // 10, 1))
def test_random_bagging_equals_scikit_learn(seed, kind, draws, weighted):
    check_bag(seed, kind, draws, weighted)


@pytest.mark.parametrize("name", mirror_table_names())
def test_real_tables_trees_equal_scikit_learn(name):
    table = table_of(resolve(name, load_registry()))
    X = table.X.apply(lambda c: c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c)
    X = X.to_numpy(np.float64)
    kind = DecisionTreeClassifier if table.classes else DecisionTreeRegressor
    weights = (None, np.random.default_rng(SEED).uniform(0.1, 2, len(X)))
    for criterion in CRITERIA[kind]:
        if criterion == "poisson" and (table.y < 0).any():
            continue
        for limits in ({}, {"max_features": "sqrt", "min_samples_leaf": 3}, {"max_leaf_nodes": 60}):
            for weight in weights:
                both = {"criterion": criterion, "random_state": SEED, **limits}
                assert difference(*fit_both(kind, X, table.y, weight, **both)) == ""
