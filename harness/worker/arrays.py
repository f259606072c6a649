"""Write what later metrics and reports need, so that they need neither a new run nor the plugin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import sparse

from harness.core.errors import HarnessError
from harness.core.model import Table
from harness.core.outcome_files import write_arrays
from harness.worker.permutation import permuted
from harness.worker.stages import members, staged

if TYPE_CHECKING:
    from harness.worker.prepared_trial import Hand

MOST_BYTES = 4 * 2**30 - 2**20  # the store's limit of a file, less what frames the arrays


def write_all(folder: Path, hand: Hand, table: Table, exports: Sequence[str]) -> dict[str, str]:
    """Write the arrays of a finished trial; a failed export becomes a note of the trial.

    Returns
    -------
    dict
        Artifact name → name of its file in ``folder``.
    """
    arrays: dict[str, dict[str, np.ndarray]] = {"predictions": _predictions(hand, table)}
    if table.classes:
        arrays["classes"] = {"classes": np.asarray(table.classes, dtype=np.str_)}
    for name in exports:
        try:
            made = permuted(hand, table) if name == "permutation" else EXPORTS[name](hand)
            arrays[name] = small_enough(made)
        except Exception as error:  # noqa: BLE001 - an extra must not cost the trial
            reason = f"{type(error).__name__}: {error}"
            hand.notes = (*hand.notes, f"{name} not exported: {reason}")
    names = {}
    for name, content in arrays.items():
        names[name] = f"{hand.trial.id}.{name}.npz"
        write_arrays(folder / names[name], content)
    return names


def small_enough(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays that a store takes; raise ValueError where they are too large."""
    size = sum(np.asarray(array).nbytes for array in arrays.values())
    if size > MOST_BYTES:
        raise ValueError(f"{size / 2**30:.1f} GiB are more than the store takes")
    return arrays


def _predictions(hand: Hand, table: Table) -> dict[str, np.ndarray]:
    assert hand.output is not None
    scale = 1.0 if hand.spec.task.is_classification else float(np.std(table.y))
    found = {
        "output": hand.output,
        "y": table.y[hand.rows.test],
        "rows": np.asarray(hand.rows.test, dtype=np.int64),
        "scale": np.float64(scale),
    }
    if table.weight is not None:
        found["weight"] = table.weight[hand.rows.test]
    return found


def _trees(hand: Hand) -> dict[str, np.ndarray]:
    if not hasattr(hand.adapter, "export_trees"):
        raise HarnessError("this plugin has no export_trees")
    found: dict[str, np.ndarray] = hand.adapter.export_trees().to_arrays()
    return found


def _training(hand: Hand) -> dict[str, np.ndarray]:
    """Return the prepared training rows: what trees are compared on."""
    X, y, weight = hand.train
    found = {"y": y, "columns": np.asarray(hand.columns, dtype=np.str_)}
    if weight is not None:
        found["weight"] = weight
    if sparse.issparse(X):
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        return {**found, **parts, "shape": np.asarray(X.shape)}
    return {**found, "X": _numbers(X) if isinstance(X, pd.DataFrame) else X}


def _numbers(X: pd.DataFrame) -> np.ndarray:
    """Return a frame as float64, a category as its code; NaN where a value is missing."""
    found = np.empty(X.shape)
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy()
            found[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            found[:, j] = column
    return found


EXPORTS: dict[str, Callable[[Hand], dict[str, np.ndarray]]] = {
    "trees": _trees,
    "staged": staged,
    "members": members,
    "training": _training,
}
