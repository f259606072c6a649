"""Find columns with the same information as another column."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import pandas as pd

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.safe_names import shown

CORRELATION = 0.995  # of ranks
MAX_ROWS = 2_000
MAX_COLUMNS = 500
MIN_ROWS = 50
MIN_OTHERS = 20  # rows without the most frequent value of the column
MIN_REPEATS = 5  # mean number of rows per value, for a comparison as categories


def find(sample: TableSample) -> Iterator[Report]:
    """Report pairs of columns with the same order or the same categories."""
    if len(sample.y) < MIN_ROWS:
        return
    pairs = {**_same_groups(sample.columns), **_same_order(sample.columns)}
    if not pairs:
        return
    first = [f"{shown(a)} and {shown(b)}" for a, b in list(pairs)[:3]]
    more = f" (and {len(pairs) - 3:,} more pairs)" if len(pairs) > 3 else ""
    yield Report(
        Severity.NOTE,
        f"{', '.join(first)}{more} hold (almost) the same information; accuracy rarely suffers, "
        "but the importance of each of them is split between both",
        {"pairs": [[a, b, round(rho, 4)] for (a, b), rho in list(pairs.items())[:20]]},
    )


def _same_order(columns: list[Column]) -> dict[tuple[str, str], float]:
    """Return pairs of numeric columns whose ranks correlate almost perfectly."""
    numeric = [c for c in columns if c.numbers is not None and _varies(c)]
    numeric = numeric[:MAX_COLUMNS]
    if len(numeric) < 2:
        return {}
    values = np.column_stack([c.numbers for c in numeric if c.numbers is not None])
    step = max(1, len(values) // MAX_ROWS)
    ranks = pd.DataFrame(values[::step]).rank()
    known = ranks.notna()
    usable = known.mean().to_numpy() > 0.5
    filled = ranks.fillna(ranks.mean()).to_numpy()
    usable &= filled.std(axis=0) > 0
    places = np.flatnonzero(usable)
    if len(places) < 2:
        return {}
    rho = np.corrcoef(filled[:, places].T)
    places_of_pairs = np.argwhere(np.triu(np.abs(rho) >= CORRELATION, k=1))
    return {
        (numeric[places[i]].name, numeric[places[j]].name): float(rho[i, j])
        for i, j in places_of_pairs.tolist()
    }


def _varies(column: Column) -> bool:
    """Return whether enough rows differ from the most frequent value."""
    return len(column.groups) - int(np.bincount(column.groups).max()) >= MIN_OTHERS


def _same_groups(columns: list[Column]) -> dict[tuple[str, str], float]:
    """Return pairs of columns with the same grouping of the rows, by different values."""
    first: dict[bytes, str] = {}
    pairs = {}
    for column in columns[:MAX_COLUMNS]:
        values = int(column.groups.max(initial=0)) + 1
        if values * MIN_REPEATS > len(column.groups) or not _varies(column):
            continue
        digest = blake2b(column.groups.astype(np.int64).tobytes()).digest()
        if digest in first:
            pairs[first[digest], column.name] = 1.0
        else:
            first[digest] = column.name
    return pairs


CHECK = Check("DATA018", "Columns that say the same", find)
