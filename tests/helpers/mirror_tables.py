"""Real tables from the folder that ``HARNESS_MIRROR`` names, for slow campaigns."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from harness.data import resolve
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

MIRROR = os.environ.get("HARNESS_MIRROR")
MAX_BYTES = int(os.environ.get("SOAK_MIRROR_BYTES", "200000"))
SKIPPED = pytest.mark.skipif(not MIRROR, reason="HARNESS_MIRROR names no folder of tables")


def mirror_table_names():
    """Return the names of the tables below ``MAX_BYTES``, for `pytest.mark.parametrize`."""
    if not MIRROR:
        return [pytest.param("none", marks=SKIPPED)]
    content = json.loads(Path(MIRROR, "MANIFEST.json").read_text())
    fit = [m for m in content if m["task"] != "ranking" and m["size_bytes"] <= MAX_BYTES]
    return sorted(m["name"] for m in fit)


def read_table(name, most_rows, seed):
    """Return X, y, the indices of categorical columns, and whether y holds classes.

    X is float64 with category codes and NaN for missing values. At most ``most_rows`` rows are
    kept, drawn at random.
    """
    loaded = table_of(resolve(name, load_registry()))
    table = pd.DataFrame(loaded.X.toarray()) if sparse.issparse(loaded.X) else loaded.X
    is_categorical = [isinstance(kind, pd.CategoricalDtype) for kind in table.dtypes]
    columns = [
        column.cat.codes.replace(-1, np.nan) if is_category else column
        for is_category, (_, column) in zip(is_categorical, table.items(), strict=True)
    ]
    X = np.column_stack([np.asarray(column, np.float64) for column in columns])
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:most_rows])
    y = np.asarray(loaded.y)[rows]
    if loaded.classes:
        y = np.unique(y, return_inverse=True)[1]
    return X[rows], y, np.flatnonzero(is_categorical).tolist(), bool(loaded.classes)
