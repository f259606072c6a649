"""Bitwise comparison of random boosters, and boosters on real tables, with HistGradientBoosting.

``SOAK_HGB_TREES`` (60) random ones drawn from ``SOAK_SEED`` (1). Real tables are those of the
folder that ``HARNESS_MIRROR`` names, up to ``SOAK_MIRROR_BYTES`` (200 000) each; at most
``SOAK_ROWS`` (2000) rows of each are used.
"""

import os

import numpy as np
import pytest
from mirror_tables import mirror_table_names, read_table
from parity_hgb import check_case, check_predictions, difference, fit_both

COUNT = int(os.environ.get("SOAK_HGB_TREES", "60"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
ROWS = int(os.environ.get("SOAK_ROWS", "2000"))
OBJECTIVES = ["regression", "binary", "multiclass"]
GROUP = 10  # cases a test

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(0, COUNT, GROUP))
def test_random_boosters_equal_the_library(first):
    for number in range(first, min(first + GROUP, COUNT)):
        check_case([SEED, number], OBJECTIVES[number % len(OBJECTIVES)])


@pytest.mark.parametrize("name", mirror_table_names())
def test_real_tables_boosters_equal_the_library(name):
    X, y, categorical, is_classes = read_table(name, ROWS, SEED)
    objective = "regression" if not is_classes else OBJECTIVES[1 + (len(np.unique(y)) > 2)]
    few = [f for f in categorical if len(np.unique(X[:, f])) < 255]
    for params in ({}, {"num_leaves": 63, "min_child_samples": 1, "reg_lambda": 1.0}):
        ours, theirs = fit_both(
            objective, X, y, categorical_feature=few, n_estimators=10, random_state=SEED, **params
        )
        assert difference(ours, theirs) == ""
        check_predictions(ours, theirs, X)
