"""Queries of rankings: files of query lengths, and query numbers of rows.

A file ``rank.svm`` may have a file ``rank.svm.query``, ``rank.svm.group`` or ``rank.query`` beside
it, as in LightGBM and XGBoost: one number a line, the number of rows of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from harness.core.errors import DataError

if TYPE_CHECKING:
    import numpy as np

SUFFIXES = (".query", ".group")
MAX_GRADE = 30  # its gain 2^30 − 1 is the largest that LightGBM has


def is_query_file(path: PurePath) -> bool:
    """Return whether the name of a file is one of a file of query lengths."""
    return path.suffix in SUFFIXES


def query_file_of(path: Path, among: Iterable[Path] | None = None) -> Path | None:
    """Return the file of query lengths of a file of rows, or None.

    Parameters
    ----------
    among
        The files to choose from; by default those on disk.
    """
    names = [path.name, path.name.removesuffix(".gz")]
    possible = [path.with_name(name + suffix) for name in names for suffix in SUFFIXES]
    if among is not None:
        known = set(among)
        return next((one for one in possible if one in known), None)
    return next((one for one in possible if one.is_file()), None)


def read_query_file(rows: Path, n_rows: int, among: Iterable[Path]) -> np.ndarray:
    """Return the query number of each row of a file, from its file of query lengths.

    Raises
    ------
    DataError
        If there is none, or it holds other than whole numbers above 0 that add up to the number of
        rows.
    """
    import numpy as np

    path = query_file_of(rows, among)
    if path is None:
        raise DataError(f"{rows} has no file of query lengths")
    try:
        sizes = np.array(path.read_text().split(), np.int64)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as a file of query lengths: {error}") from None
    if (sizes <= 0).any():
        raise DataError(f"{path} has a query length that is not above 0")
    if sizes.sum() != n_rows:
        raise DataError(f"{path} has queries of {sizes.sum():,} rows; {rows} has {n_rows:,}")
    return np.repeat(np.arange(len(sizes)), sizes)


def numbered(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return query numbers of concatenated files; no query continues in the next file."""
    import numpy as np

    found, count = [], 0
    for part in parts:
        ids, codes = np.unique(part, return_inverse=True)
        found.append(codes + count)
        count += len(ids)
    return np.concatenate(found)


def check_ranking(y: np.ndarray, group: np.ndarray | None, place: str) -> None:
    """Raise DataError if grades or queries do not make a ranking.

    Parameters
    ----------
    y : (n,) float64, grades
    group : (n,) int64, the query of each row, or None
    place : the file or dataset, for messages
    """
    import numpy as np

    if group is None:
        raise DataError(
            f"{place}: a ranking needs queries: qid in a file of svmlight, a file of query "
            "lengths, or the name of their column as group"
        )
    if ((y < 0) | (y > MAX_GRADE) | (y != np.trunc(y))).any():
        raise DataError(
            f"{place}: the target of a ranking must be whole numbers from 0 to {MAX_GRADE}"
        )
    if 1 + np.count_nonzero(np.diff(group)) != len(np.unique(group)):
        raise DataError(f"{place}: the rows of a query are not consecutive; sort them by query")
