"""Write the arrays of a trial for later metrics and reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from harness.core.errors import HarnessError
from harness.core.model import Table, Task
from harness.core.outcome_files import write_arrays
from harness.worker.permutation import permuted
from harness.worker.prepared_trial import PreparedTrial
from harness.worker.stages import members, staged
from harness.worker.tuning import Tuned

MAX_BYTES = 4 * 2**30 - 2**20  # the store's limit of a file, minus the overhead of the format
MAX_CATEGORIES = 1000  # of a column, whose names are kept for drawn trees
LONGEST_CATEGORY = 64  # characters


def write_all(
    folder: Path, prepared: PreparedTrial, table: Table, exports: Sequence[str]
) -> dict[str, str]:
    """Write the arrays of a finished trial; a failed export is only noted.

    Returns
    -------
    dict
        Artifact name → name of its file in ``folder``.
    """
    arrays: dict[str, dict[str, np.ndarray]] = {"predictions": _predictions(prepared, table)}
    if table.classes:
        arrays["classes"] = {"classes": np.asarray(table.classes, dtype=np.str_)}
    for name in exports:
        if name == "search" and not isinstance(prepared.adapter, Tuned):
            continue  # another trial of the same job has a search
        try:
            made = permuted(prepared, table) if name == "permutation" else EXPORTS[name](prepared)
            arrays[name] = small_enough(made)
        except Exception as error:  # noqa: BLE001 - a failed export does not fail the trial
            reason = f"{type(error).__name__}: {error}"
            prepared.notes = (*prepared.notes, f"{name} not exported: {reason}")
    names = {}
    for name, content in arrays.items():
        names[name] = f"{prepared.trial.id}.{name}.npz"
        write_arrays(folder / names[name], content)
    return names


def small_enough(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays; raise ValueError if they are too large for the store."""
    size = sum(np.asarray(array).nbytes for array in arrays.values())
    if size > MAX_BYTES:
        raise ValueError(f"{size / 2**30:.1f} GiB are more than the store can hold")
    return arrays


def _predictions(prepared: PreparedTrial, table: Table) -> dict[str, np.ndarray]:
    assert prepared.output is not None
    scale = 1.0 if prepared.spec.task.is_classification else float(np.std(table.y))
    arrays = {
        "output": prepared.output,
        "y": table.y[prepared.rows.test],
        "rows": np.asarray(prepared.rows.test, dtype=np.int64),
        "scale": np.float64(scale),
    }
    if table.weight is not None:
        arrays["weight"] = table.weight[prepared.rows.test]
    if table.group is not None and prepared.spec.task is Task.RANKING:
        arrays["group"] = table.group[prepared.rows.test]
    return arrays


def _trees(prepared: PreparedTrial) -> dict[str, np.ndarray]:
    if not hasattr(prepared.adapter, "export_trees"):
        raise HarnessError("this plugin has no export_trees")
    arrays: dict[str, np.ndarray] = prepared.adapter.export_trees().to_arrays()
    return arrays


def _training(prepared: PreparedTrial) -> dict[str, np.ndarray]:
    """Return the prepared training rows, for tree comparisons."""
    X, y, weight, *_ = prepared.train
    arrays = {"y": y, "columns": np.asarray(prepared.columns, dtype=np.str_)}
    if weight is not None:
        arrays["weight"] = weight
    if sparse.issparse(X):
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        return {**arrays, **parts, "shape": np.asarray(X.shape)}
    if isinstance(X, pd.DataFrame):
        names = category_names(prepared.categories)
        return {**arrays, "X": _numbers(X), "categories": np.asarray(json.dumps(names))}
    return {**arrays, "X": X}


def category_names(categories: Mapping[int, tuple[pd.Index, np.ndarray]]) -> dict[int, list[str]]:
    """Return the names of the categories of each column by prepared code."""
    names = {}
    for column, (index, codes) in categories.items():
        if 0 < len(index) <= MAX_CATEGORIES:
            labels = [*(str(label)[:LONGEST_CATEGORY] for label in index), "missing"]
            by_code = {int(c): label for c, label in zip(codes, labels, strict=True) if c >= 0}
            names[column] = [by_code.get(code, str(code)) for code in range(1 + max(by_code))]
    return names


def _search(prepared: PreparedTrial) -> dict[str, np.ndarray]:
    """Return the held-out predictions of every configuration of a search."""
    arrays: dict[str, np.ndarray] = prepared.adapter.held_out(prepared.train[1])
    return arrays


def _numbers(X: pd.DataFrame) -> np.ndarray:
    """Return a frame as float64, categories as codes, missing values as NaN."""
    numbers = np.empty(X.shape)
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy()
            numbers[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            numbers[:, j] = column
    return numbers


EXPORTS: dict[str, Callable[[PreparedTrial], dict[str, np.ndarray]]] = {
    "trees": _trees,
    "staged": staged,
    "members": members,
    "training": _training,
    "search": _search,
}
