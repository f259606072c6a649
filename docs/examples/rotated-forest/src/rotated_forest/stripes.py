"""Classes that lie in stripes askew to the columns: hard for one column at a time."""

import hashlib

import numpy as np
import pandas as pd

from harness import Dataset, Table, Task

NAME, ROWS, COLUMNS, VERSION = "diagonal_stripes", 2000, 6, 1


def load():
    """Return the rows; the same bytes every time."""
    rng = np.random.default_rng(VERSION)
    X = rng.uniform(-1, 1, size=(ROWS, COLUMNS))
    stripe = np.floor(2.5 * (X[:, 0] + X[:, 1])).astype(np.int64) % 2
    flipped = rng.random(ROWS) < 0.05
    names = [f"x{i}" for i in range(COLUMNS)]
    return Table(pd.DataFrame(X, columns=names), np.where(flipped, 1 - stripe, stripe), ("0", "1"))


STRIPES = Dataset(
    name=NAME,
    task=Task.BINARY,
    load=load,
    digest=hashlib.sha256(f"{NAME} {ROWS} {COLUMNS} {VERSION}".encode()).hexdigest(),
    rows=ROWS,
    columns=COLUMNS,
    n_classes=2,
    source="generated",
    summary="stripes askew to two of six columns, one label in twenty flipped",
    license="CC0",
)
