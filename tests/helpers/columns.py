"""Columns of every kind that trees handle: distinct, tied, close, constant, missing."""

import numpy as np
from hypothesis import strategies as st

CLOSE_PAIRS = 5  # number of the kind


def column(rng, n, missing):
    """Return float64 values (n,) of a random kind, some of them missing."""
    kind = rng.integers(8)
    values = [
        lambda: rng.normal(size=n),
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: np.full(n, float(rng.integers(5))),
        lambda: rng.integers(0, 30, n).astype(float),
        lambda: np.round(rng.random(n), 2),
        lambda: close_pairs(rng, n),
        lambda: rng.exponential(size=n) ** 3 * 1e3,
        lambda: hardly_tied(rng, n),
    ][kind]()
    if rng.random() < missing:
        values[rng.random(n) < rng.choice([0.05, 0.3, 0.9, 1.0])] = np.nan
    if kind == CLOSE_PAIRS:  # the range must not be small: the limit of close values depends on it
        values[np.flatnonzero(~np.isnan(values))[:2]] = [0.0, 0.25][: (~np.isnan(values)).sum()]
    return values


def close_pairs(rng, n):
    """Return values close to 0 or 0.25, many of them close to each other but not equal."""
    return rng.integers(0, 2, n) / 4 + rng.random(n) * 1e-6


def hardly_tied(rng, n):
    """Return distinct values except for a few equal or close ones."""
    values = rng.random(n)
    for i in range(0, n - 32, 32):
        values[i] = values[i + 1] + rng.choice([0.0, 6e-8])
    return values


def table(rng, n, d, missing=0.0):
    """Return X (n, d) with columns of all kinds, some of them twice."""
    X = np.column_stack([column(rng, n, missing) for _ in range(d)])
    if d > 1 and rng.random() < 0.3:
        X[:, rng.integers(1, d)] = X[:, 0]
    return X


seeds = st.integers(0, 2**32 - 1)
