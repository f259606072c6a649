"""Find rows that were copied, so that a copy of a test row is among the training rows.

Rows may also be equal by chance if columns have few values; then even more rows differ from another
one in a single column. Copies are reported if equal rows are more frequent than rows that differ
from another one in a single column, and most distinct rows have no such neighbor.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import TableSample
from harness.core.model import Severity
from harness.data.safe_names import count
from harness.data.splits import row_hashes

SHARE = 0.01  # least share of rows that have a copy
MIN_COPIES = 10
MIN_COLUMNS = 6  # with fewer columns equal rows are usual
MIN_VALUES = 50  # different from 0, in a row of a sparse table
OVER_NEAR = 1.5  # equal rows for each row that differs from another one in one column
ONE_ROW = 0.9  # of the equal rows that are all the same one, such as an empty measurement
MIN_DIFFERENT = 0.1  # least share of distinct rows; few columns of few values have fewer
CROWDED = 0.5  # largest share of distinct rows that differ from another one in one column
_MIX = 0x9E3779B97F4A7C15


def find(sample: TableSample) -> Iterator[Report]:
    """Report a table in which many rows are copies of others."""
    if not _may_have_copies(sample):
        return
    copies, agreeing = copied_rows(sample)
    if copies < max(MIN_COPIES, SHARE * sample.n_rows):
        return
    share = copies / sample.n_rows
    yield Report(
        Severity.WARNING,
        f"{count(copies, 'row')} of {sample.n_rows:,} ({share:.1%}) have the same features as "
        "another row, so test rows have copies among the training rows and scores are too good; "
        "remove the copies, or keep them together with --group",
        {"rows": copies, "share": round(share, 4), "same_target": agreeing},
    )


def copied_rows(sample: TableSample) -> tuple[int, int]:
    """Return the number of rows with the features of another row, and of those with its target."""
    hashes = row_hashes(sample.table.X)
    equal = _occurs_again(hashes)
    targets = np.unique(sample.table.y, return_inverse=True)[1].astype(np.uint64)
    return int(equal.sum()), int(_occurs_again(hashes + _mixed(targets, 0)).sum())


def looks_copied(groups: np.ndarray) -> bool:
    """Return whether rows are equal more often than by chance.

    Parameters
    ----------
    groups
        A code for each value, shape (n_rows, n_columns).
    """
    mixed = np.column_stack([_mixed(codes, j + 1) for j, codes in enumerate(groups.T)])
    whole = mixed.sum(axis=1, dtype=np.uint64)
    equal = _occurs_again(whole)
    _, different, sizes = np.unique(whole, return_index=True, return_counts=True)
    if len(different) < MIN_DIFFERENT * len(whole):
        return False
    if sizes.max() > max(MIN_COPIES, ONE_ROW * int(equal.sum())):
        return False
    near, crowded = np.zeros(len(whole), bool), np.zeros(len(different), bool)
    for values in mixed.T:
        others = whole - values
        near |= _occurs_again(others)
        crowded |= _occurs_again(others[different])
    neighbors = int((near & ~equal).sum())
    return (
        bool(equal.any())
        and int(equal.sum()) >= OVER_NEAR * neighbors
        and float(crowded.mean()) <= CROWDED
    )


def _may_have_copies(sample: TableSample) -> bool:
    """Return whether equal rows in the sample are too many for chance."""
    if sample.is_sparse:
        return bool(sample.table.X.nnz >= MIN_VALUES * sample.n_rows)
    if sample.table.X.shape[1] < MIN_COLUMNS or not sample.columns:
        return False
    return looks_copied(np.column_stack([column.groups for column in sample.features]))


def _occurs_again(hashes: np.ndarray) -> np.ndarray:
    """Return the mask of values that occur more than once."""
    _, places, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(sizes[places] > 1)


def _mixed(codes: np.ndarray, salt: int) -> np.ndarray:
    """Return 64 well-mixed bits for each code, depending on the salt."""
    factor = np.uint64(_MIX * (2 * salt + 1) % 2**64)
    bits = (codes.astype(np.uint64) + np.uint64(1)) * factor
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(_MIX)
    return np.asarray(bits ^ (bits >> np.uint64(29)))


CHECK = Check("DATA005", "Rows that occur more than once", find)
