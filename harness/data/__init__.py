"""Datasets: declaration, loading, verification, cache, and splits.

The public names below are imported lazily, so that listing datasets does not import pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.data.files import dataset_from_file, dataset_from_mapping, describe
    from harness.data.lookup import load_table, resolve
    from harness.data.splits import (
        default_splits,
        drawn_apart,
        drawn_splits,
        duplicates_across,
        split_notes,
        split_rows,
    )

_HOME = {
    "dataset_from_file": "files",
    "dataset_from_mapping": "files",
    "default_splits": "splits",
    "describe": "files",
    "drawn_apart": "splits",
    "drawn_splits": "splits",
    "duplicates_across": "splits",
    "load_table": "lookup",
    "resolve": "lookup",
    "split_notes": "splits",
    "split_rows": "splits",
}
__all__ = [
    "dataset_from_file",
    "dataset_from_mapping",
    "default_splits",
    "describe",
    "drawn_apart",
    "drawn_splits",
    "duplicates_across",
    "load_table",
    "resolve",
    "split_notes",
    "split_rows",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'harness.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"harness.data.{_HOME[name]}"), name)
