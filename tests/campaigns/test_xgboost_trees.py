"""Node-by-node comparison of random boosters, and boosters on real tables, with XGBoost.

``SOAK_XGBOOST_TREES`` (40) random trainings of 200 to 20 000 rows, drawn from ``SOAK_SEED`` (1);
each has four rounds of one tree a score. Real tables are those of the folder that
``HARNESS_MIRROR`` names, up to ``SOAK_MIRROR_BYTES`` (200 000) each, of which at most ``SOAK_ROWS``
(20 000) rows are used.
"""

import os

import numpy as np
import pandas as pd
import pytest
from mirror_tables import mirror_table_names
from parity_xgboost import METHODS, OBJECTIVES, OTHERS, draw_configuration, first_difference
from scipy import sparse

from harness.data import resolve
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

COUNT = int(os.environ.get("SOAK_XGBOOST_TREES", "40"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
MAX_VALUES = 4_000_000
MAX_ROWS = int(os.environ.get("SOAK_ROWS", "20000"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", range(COUNT))
def test_random_boosters_equal_xgboost(number):
    method = METHODS[number % len(METHODS)]
    chosen = number // len(METHODS)
    objective = OBJECTIVES[chosen % 3] if chosen % 4 else OTHERS[chosen // 4 % len(OTHERS)]
    drawn = draw_configuration([SEED, number], method, objective, MAX_ROWS)
    assert first_difference(*drawn) == "", drawn[-1]


def numbers_of(X):
    """Return a table as float32: categories as codes, absent entries as NaN."""
    if sparse.issparse(X):
        dense, entries = np.full(X.shape, np.nan, np.float32), X.tocoo()
        dense[entries.row, entries.col] = entries.data
        return dense
    is_category = {name: isinstance(X[name].dtype, pd.CategoricalDtype) for name in X}
    codes = {name: X[name].cat.codes if is_category[name] else X[name] for name in X}
    return pd.DataFrame(codes).to_numpy(np.float32)


@pytest.mark.parametrize("name", mirror_table_names())
def test_real_tables_boosters_equal_xgboost(name):
    table = table_of(resolve(name, load_registry()))
    n, d = table.X.shape
    rows = np.random.default_rng(SEED).permutation(n)[: min(MAX_ROWS, MAX_VALUES // d)]
    X = numbers_of(table.X[rows] if sparse.issparse(table.X) else table.X.iloc[rows])
    y = np.asarray(table.y, np.float64)[rows]
    n_classes = len(table.classes or ())
    objective = OBJECTIVES[min(max(n_classes - 1, 0), 2)]
    for method in METHODS:
        params = {"objective": objective, "tree_method": method, "n_estimators": 5}
        for more in ({}, {"max_depth": 10, "min_child_weight": 0.0, "gamma": 0.1}):
            assert first_difference(X, y, None, params | more) == "", (method, more)
