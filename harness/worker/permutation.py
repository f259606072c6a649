"""Permutation importance of a fitted model: how much the loss grows when a column is shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import Predicted
from harness.plugins.metrics import log_loss, rmse_sd

if TYPE_CHECKING:
    from harness.core.model import Table
    from harness.worker.prepared_trial import Hand

REPEATS = 5  # shuffles of each column
MOST_ROWS = 3000  # test rows that are predicted
MOST_COLUMNS = 200


def permuted(hand: Hand, table: Table) -> dict[str, np.ndarray]:
    """Return the loss of shuffled columns above that of the test rows as they are.

    Returns
    -------
    dict
        ``columns`` (k,) names; ``increase`` (k, REPEATS) of log loss, or of RMSE in standard
        deviations of the target; ``loss`` () of the rows as they are.
    """
    if hand.is_sparse:
        raise HarnessError("columns of sparse data are not shuffled")
    if hand.X_test.shape[1] > MOST_COLUMNS:
        raise HarnessError(f"it is only measured of {MOST_COLUMNS} columns or fewer")
    rng = np.random.default_rng(0)
    size = len(hand.rows.test)
    rows = np.sort(rng.permutation(size)[:MOST_ROWS])
    X = hand.X_test.iloc[rows] if hasattr(hand.X_test, "iloc") else hand.X_test[rows]
    y = table.y[hand.rows.test][rows]
    weight = None if table.weight is None else table.weight[hand.rows.test][rows]
    scale = 1.0 if hand.spec.task.is_classification else float(np.std(table.y))

    def loss(changed: Any) -> float:
        output = np.asarray(hand.adapter.predict(changed), np.float64)
        predicted = Predicted(y, output, weight, scale)
        return log_loss(predicted) if hand.spec.task.is_classification else rmse_sd(predicted)

    base = loss(X)
    increase = np.empty((X.shape[1], REPEATS))
    for j in range(X.shape[1]):
        for k in range(REPEATS):
            increase[j, k] = loss(_shuffled(X, j, rng.permutation(len(rows)))) - base
    columns = np.asarray(hand.columns, dtype=np.str_)
    return {"columns": columns, "increase": increase, "loss": np.asarray(base)}


def _shuffled(X: Any, j: int, order: np.ndarray) -> Any:
    changed = X.copy()
    if hasattr(changed, "iloc"):
        changed.isetitem(j, changed.iloc[order, j].array)
    else:
        changed[:, j] = changed[order, j]
    return changed
