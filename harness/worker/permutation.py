"""Permutation importance of a fitted model: the increase of the loss when a column is shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import Predicted, Table, Task
from harness.plugins.metrics import log_loss, rmse_sd
from harness.worker.prepared_trial import PreparedTrial

REPEATS = 5  # shuffles of each column
MAX_ROWS = 3000  # test rows that are predicted
MAX_COLUMNS = 200


def permuted(prepared: PreparedTrial, table: Table) -> dict[str, np.ndarray]:
    """Return the increase of the loss on test rows for each shuffled column.

    Returns
    -------
    dict
        ``columns`` (k,) names; ``increase`` (k, REPEATS) of log loss, or of RMSE in standard
        deviations of the target; ``loss`` () of the unchanged rows.
    """
    if prepared.spec.task is Task.RANKING:
        raise HarnessError("it is measured for classes and numbers only")
    if prepared.is_sparse:
        raise HarnessError("columns of sparse data are not shuffled")
    if prepared.X_test.shape[1] > MAX_COLUMNS:
        raise HarnessError(f"it is measured only for {MAX_COLUMNS} columns or fewer")
    rng = np.random.default_rng(0)
    size = len(prepared.rows.test)
    rows = np.sort(rng.permutation(size)[:MAX_ROWS])
    X = prepared.X_test.iloc[rows] if hasattr(prepared.X_test, "iloc") else prepared.X_test[rows]
    y = table.y[prepared.rows.test][rows]
    weight = None if table.weight is None else table.weight[prepared.rows.test][rows]
    scale = 1.0 if prepared.spec.task.is_classification else float(np.std(table.y))

    def loss(changed: Any) -> float:
        output = np.asarray(prepared.adapter.predict(changed), np.float64)
        predicted = Predicted(y, output, weight, scale)
        return log_loss(predicted) if prepared.spec.task.is_classification else rmse_sd(predicted)

    base = loss(X)
    increase = np.empty((X.shape[1], REPEATS))
    for j in range(X.shape[1]):
        for k in range(REPEATS):
            increase[j, k] = loss(_shuffled(X, j, rng.permutation(len(rows)))) - base
    columns = np.asarray(prepared.columns, dtype=np.str_)
    return {"columns": columns, "increase": increase, "loss": np.asarray(base)}


def _shuffled(X: Any, j: int, order: np.ndarray) -> Any:
    changed = X.copy()
    if hasattr(changed, "iloc"):
        changed.isetitem(j, changed.iloc[order, j].array)
    else:
        changed[:, j] = changed[order, j]
    return changed
