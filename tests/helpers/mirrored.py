"""Real tables from the folder that ``HARNESS_MIRROR`` names, for campaigns."""

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
MOST_BYTES = int(os.environ.get("SOAK_MIRROR_BYTES", "200000"))
SKIPPED = pytest.mark.skipif(not MIRROR, reason="HARNESS_MIRROR names no folder of tables")


def mirrored():
    """Return the names of the tables that are small enough, as parameters of a test."""
    if not MIRROR:
        return [pytest.param("none", marks=SKIPPED)]
    content = json.loads(Path(MIRROR, "MANIFEST.json").read_text())
    fit = [m for m in content if m["task"] != "ranking" and m["size_bytes"] <= MOST_BYTES]
    return sorted(m["name"] for m in fit)


def read_table(name, most_rows, seed):
    """Return X, y, the numbers of categorical columns, and whether y is of classes.

    X is float64 with codes for categories and NaN where values are missing; of many rows, some
    are drawn.
    """
    found = table_of(resolve(name, load_registry()))
    table = pd.DataFrame(found.X.toarray()) if sparse.issparse(found.X) else found.X
    kinds = [isinstance(kind, pd.CategoricalDtype) for kind in table.dtypes]
    columns = [
        column.cat.codes.replace(-1, np.nan) if is_set else column
        for is_set, (_, column) in zip(kinds, table.items(), strict=True)
    ]
    X = np.column_stack([np.asarray(column, np.float64) for column in columns])
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:most_rows])
    y = np.asarray(found.y)[rows]
    if found.classes:
        y = np.unique(y, return_inverse=True)[1]
    return X[rows], y, np.flatnonzero(kinds).tolist(), bool(found.classes)
