"""Generators of datasets, with random numbers of numpy's PCG64 or scikit-learn.

Columns are drawn one by one; arrays are in Fortran order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.core.errors import DataError
from harness.core.model import Table

if TYPE_CHECKING:
    import numpy as np

FIELDS = 30  # of the one-hot table
CLASS_SHARES = (0.365, 0.488, 0.061, 0.005, 0.016, 0.030, 0.035)  # of Covertype


def friedman1(rows: int, seed: int, columns: int, noise: float, noise_kind: str) -> Table:
    """Draw Friedman's first function of uniform columns; the first five matter."""
    from sklearn.datasets import make_friedman1

    _at_least(columns, 5)
    draw = partial(make_friedman1, rows, n_features=columns, random_state=seed % 2**32)
    return _noisy(draw, seed, noise, noise_kind)


def friedman2(rows: int, seed: int, noise: float, noise_kind: str) -> Table:
    """Draw Friedman's second function: the impedance of a circuit."""
    from sklearn.datasets import make_friedman2

    draw = partial(make_friedman2, rows, random_state=seed % 2**32)
    return _noisy(draw, seed, noise, noise_kind)


def friedman3(rows: int, seed: int, noise: float, noise_kind: str) -> Table:
    """Draw Friedman's third function: the phase angle of a circuit."""
    from sklearn.datasets import make_friedman3

    draw = partial(make_friedman3, rows, random_state=seed % 2**32)
    return _noisy(draw, seed, noise, noise_kind)


def _noisy(
    draw: Callable[..., tuple[np.ndarray, np.ndarray]], seed: int, noise: float, kind: str
) -> Table:
    """Draw a function plus noise of a given sd; columns are drawn first, so do not depend on it."""
    import numpy as np

    if kind == "normal":
        return _dense(*draw(noise=noise))
    if kind != "laplace":
        raise DataError(f"noise_kind is normal or laplace, not {kind[:80]!r}")
    X, y = draw(noise=0.0)
    random = np.random.default_rng([seed, 8])
    return _dense(X, y + noise * random.laplace(0.0, 0.5**0.5, len(y)))  # Var = 2 · scale²


def hastie_10_2(rows: int, seed: int) -> Table:
    """Draw ten normals; the class is whether the sum of their squares exceeds 9.34."""
    from sklearn.datasets import make_hastie_10_2

    X, y = make_hastie_10_2(rows, random_state=seed % 2**32)
    return _dense(X, y > 0, 2)


def waveform(rows: int, seed: int, columns: int) -> Table:
    """Draw Breiman's waves: u h_a + (1 − u) h_b + noise, a pair (a, b) of three for each class."""
    import numpy as np

    _at_least(columns, 21)
    random = np.random.default_rng([seed, 1])
    place = np.arange(1, 22)
    waves = np.stack([np.maximum(6 - np.abs(place - c), 0) for c in (7, 15, 11)]).astype(float)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    y = random.integers(0, 3, rows)
    u = random.random(rows)
    X = random.standard_normal((columns, rows))
    for j in range(21):
        X[j] += u * waves[first[y], j] + (1 - u) * waves[second[y], j]
    return _dense(X.T, y, 3)


def higgs_like(rows: int, seed: int) -> Table:
    """Draw 21 columns of skewed, bounded and stepped values, and 7 functions of them.

    The log odds are a smooth function with interactions of the derived columns, so that depth
    helps, boosting improves for hundreds of trees, and the AUC stays below 0.9.
    """
    import numpy as np

    random = np.random.default_rng([seed, 2])
    X = np.empty((28, rows))
    random.standard_normal(out=X[:21])
    for j in (0, 3, 5, 9, 13, 17):  # transverse momenta: skewed and positive
        np.exp(X[j] * 0.5, out=X[j])
    for j in (8, 12, 16, 20):  # tags: few values
        np.copyto(X[j], np.where(X[j] > 0.6, 2.173, np.where(X[j] > 0, 1.087, 0.0)))
    X[21] = np.sqrt(X[5] * X[9] * (1.5 + np.cos(X[6] - X[10])))
    X[22] = np.sqrt(X[9] * X[13] * (1.5 + np.cos(X[10] - X[14])))
    X[23] = 0.5 * (X[21] + X[17]) + 0.1 * X[1]
    X[24] = np.hypot(X[0], X[3]) + 0.3 * X[4] ** 2
    X[25] = np.sqrt(X[13] * X[17]) + 0.2 * X[8]
    X[26] = 0.4 * (X[21] + X[22] + X[25])
    X[27] = 0.5 * X[26] + 0.5 * X[24]
    odds = 1.6 * np.tanh(2 * (X[25] - 1.1)) - 1.4 * np.tanh(1.5 * (X[26] - 1.5))
    odds += 0.9 * np.where(X[22] > X[21], 0.5, -0.5) * X[24] - 0.5 * np.abs(X[27] - 1.4) + 0.45
    y = random.random(rows) < 1 / (1 + np.exp(-odds))
    return _dense(X.T, y, 2)


def onehot_sparse(rows: int, seed: int, columns: int) -> Table:
    """Draw one level of each of 30 fields a row, low levels more often; odds sum over levels."""
    import numpy as np
    from scipy.sparse import csr_matrix

    _at_least(columns, 2 * FIELDS)
    random = np.random.default_rng([seed, 3])
    widths = np.full(FIELDS, columns // FIELDS)
    widths[: columns % FIELDS] += 1
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    effects = random.normal(0.0, 0.5, columns)
    indices = np.empty((rows, FIELDS), np.int32)
    odds = np.zeros(rows)
    for j, (start, width) in enumerate(zip(starts, widths, strict=True)):
        level = (width * random.random(rows) ** 3).astype(np.int32)
        indices[:, j] = start + level
        odds += effects[indices[:, j]]
    y = random.random(rows) < 1 / (1 + np.exp(-odds))
    indptr = np.arange(0, rows * FIELDS + 1, FIELDS, dtype=np.int64)
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    ones = np.ones(rows * FIELDS)
    X = csr_matrix((ones, indices.ravel(), indptr), shape=(rows, columns))
    return Table(X, y.astype(np.int64), ("0", "1"))


def onehot_gaps(rows: int, seed: int, columns: int) -> Table:
    """Draw the table of `onehot_sparse` as a dense array with NaN in place of absent entries."""
    import numpy as np
    from scipy.sparse import csr_matrix

    table = onehot_sparse(rows, seed, columns)
    X = np.full((rows, columns), np.nan)
    X[csr_matrix(table.X).nonzero()] = 1.0
    return _dense(X, table.y, 2)


def heavy_tailed(rows: int, seed: int, columns: int, spread: float) -> Table:
    """Draw a target whose logarithm is a function of five columns plus normal noise."""
    import numpy as np

    _at_least(columns, 5)
    random = np.random.default_rng([seed, 4])
    X = random.standard_normal((columns, rows))
    mean = np.sin(2 * X[0]) + 0.5 * X[1] * (X[2] > 0) + 0.3 * np.abs(X[3]) - 0.2 * X[4]
    return _dense(X.T, np.exp(spread * (mean + 0.5 * random.standard_normal(rows))))


def skewed_weights(rows: int, seed: int, columns: int, spread: float, decades: float) -> Table:
    """Draw a heavy-tailed target with weights spread evenly over so many powers of ten."""
    import numpy as np

    random = np.random.default_rng([seed, 11])
    weight = 10.0 ** random.uniform(-decades / 2, decades / 2, rows)
    return replace(heavy_tailed(rows, seed, columns, spread), weight=weight)


def rare_positive(rows: int, seed: int, columns: int, share: float) -> Table:
    """Draw rows of which exactly ``share``, those with the highest noisy score, are positive."""
    import numpy as np

    _at_least(columns, 4)
    positives = round(rows * share)
    if not 1 <= positives < rows:
        raise DataError(f"rare_positive: share={share} of {rows:,} rows leaves one class only")
    random = np.random.default_rng([seed, 5])
    X = random.standard_normal((columns, rows))
    score = X[0] * X[1] + np.maximum(X[2], 0) - 0.5 * X[3] ** 2 + random.standard_normal(rows)
    y = np.zeros(rows, bool)
    y[np.argpartition(score, rows - positives)[rows - positives :]] = True
    return _dense(X.T, y, 2)


def categorical_high(rows: int, seed: int, levels: int) -> Table:
    """Draw six numeric columns with 5 % gaps and six categorical ones; all have effects.

    The categorical columns have 10, …, ``levels`` levels in geometric steps, low ones more often.
    """
    import numpy as np

    from harness.data.frames import Categories, Column, Level, assemble, gather

    _at_least(levels, 10, "levels")
    random = np.random.default_rng([seed, 6])
    odds = np.zeros(rows)
    columns: dict[str, Column] = {}
    for j in range(6):
        values = random.standard_normal(rows)
        odds += 0.4 * np.sin((j + 1) * values)
        values[random.random(rows) < 0.05] = np.nan
        columns[f"n{j}"] = values
    for j, width in enumerate(np.geomspace(10, levels, 6).round().astype(int)):
        codes = (width * random.random(rows) ** 2).astype(np.int32)
        odds += random.normal(0.0, 0.7, width)[codes]
        digits = len(str(width - 1))
        labels: list[Level] = [f"level{i:0{digits}d}" for i in range(width)]
        columns[f"c{j}"] = Categories(codes, labels)
    y = random.random(rows) < 1 / (1 + np.exp(-odds))
    return Table(assemble(gather(rows, columns)), y.astype(np.int64), ("0", "1"))


def multiclass_like(rows: int, seed: int) -> Table:
    """Draw seven classes by cutting a blurred score at the shares of Covertype's classes."""
    import numpy as np

    random = np.random.default_rng([seed, 7])
    X = np.zeros((54, rows))
    random.standard_normal(out=X[:10])
    area, soil = random.integers(0, 4, rows), (40 * random.random(rows) ** 1.5).astype(int)
    everyone = np.arange(rows)
    X[10 + area, everyone] = 1.0
    X[14 + soil, everyone] = 1.0
    effects = random.normal(0.0, 0.8, 40)
    score = 1.5 * X[0] + np.sin(3 * X[1]) * (area > 1) + 0.5 * X[2] * X[3] + effects[soil]
    score += 0.3 * random.standard_normal(rows)
    order = np.argsort(score, kind="stable")
    y = np.empty(rows, np.int64)
    edges = np.round(np.cumsum([0.0, *CLASS_SHARES]) * rows).astype(int)
    edges[-1] = rows
    for label, (begin, end) in enumerate(pairwise(edges)):
        y[order[begin:end]] = label
    if (np.diff(edges) < 1).any():
        raise DataError(f"multiclass_like: {rows:,} rows are too few for seven classes; use 400")
    return _dense(X.T, y, 7)


def _dense(X: np.ndarray, y: np.ndarray, classes: int = 0) -> Table:
    """Return a table of numeric columns named ``f0``, ``f1`` and so on."""
    import numpy as np

    from harness.data.frames import assemble, numeric_blocks

    frame = assemble(numeric_blocks([f"f{j}" for j in range(X.shape[1])], X))
    if not classes:
        return Table(frame, np.asarray(y, dtype=np.float64))
    if len(np.unique(y)) < classes:
        raise DataError(f"{len(y):,} rows have fewer than {classes} classes; use more rows")
    return Table(frame, np.asarray(y, dtype=np.int64), tuple(str(i) for i in range(classes)))


def _at_least(value: int, least: int, name: str = "columns") -> None:
    if value < least:
        raise DataError(f"{name} must be at least {least}, not {value}")
