"""Labels by topic: rows begin with their ids, and a separate file has the topics of each id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.data.columns import as_numbers
from harness.data.safe_names import count, shown


def check_ids(numbers: np.ndarray, path: Path) -> None:
    """Raise DataError if a number in front of a row, float64 (n_rows,), cannot be an id."""
    wrong = ~_are_ids(numbers)
    if wrong.any():
        raise DataError(
            f"{path}: {shown(numbers[wrong][0])} in front of a row is not an id: ids are whole "
            "numbers below 2⁵³"
        )


def _are_ids(numbers: np.ndarray) -> np.ndarray:
    """Return the mask of float64 numbers that are whole and below 2⁵³, hence exact."""
    are_whole: np.ndarray = (numbers == np.trunc(numbers)) & (np.abs(numbers) < 2**53)
    return are_whole


def labels_by_id(lines: pd.DataFrame, labels: Mapping[str, str], path: Path) -> pd.Series[Any]:
    """Return the label of each id whose topics map to exactly one label.

    Parameters
    ----------
    lines
        The fields of a file of topics as text, each row ``topic``, ``id``, ``1``.
    labels
        Topic → label; other topics are ignored.

    Returns
    -------
    pandas.Series
        Labels by id, int64; every id at most once.

    Raises
    ------
    DataError
        If a line has another form.
    """
    if lines.shape[1] != 3:
        raise DataError(f"{path} has {count(lines.shape[1], 'column')}, not 3: topic, id and 1")
    ids, ones = (as_numbers(lines[i]).to_numpy(np.float64, na_value=np.nan) for i in (1, 2))
    wrong = ~(_are_ids(ids) & (ones == 1))
    if wrong.any():
        line = " ".join(lines[wrong].iloc[0]).strip()
        raise DataError(
            f"{path} has {count(int(wrong.sum()), 'line')} other than topic, id and 1, such as "
            f"{shown(line)}"
        )
    pairs = pd.DataFrame({"id": ids.astype(np.int64), "label": lines[0].map(labels)})
    pairs = pairs.dropna().drop_duplicates()
    return pairs.drop_duplicates("id", keep=False).set_index("id")["label"]


def labels_of(ids: np.ndarray, by_id: pd.Series[Any]) -> np.ndarray:
    """Return the label of each row's id, object array (n_rows,); NaN without a label."""
    return by_id.reindex(ids.astype(np.int64)).to_numpy(object)
