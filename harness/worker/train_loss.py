"""Loss of a fitted model on training rows, to detect overfitting."""

from __future__ import annotations

import math

import numpy as np

from harness.core.model import JSON, Predicted, Table, Task
from harness.plugins.metrics import log_loss, rmse_sd
from harness.worker.checks import checked
from harness.worker.prepared_trial import PreparedTrial
from harness.worker.stages import evenly, part_of

MAX_ROWS = 2000  # maximum number of predicted rows, evenly spaced


def score_training_rows(prepared: PreparedTrial, table: Table) -> tuple[JSON, list[str]]:
    """Return the fact ``train_loss`` (log loss, or RMSE over sd(y); not for ranking), and notes.

    It takes one call of ``predict`` on few rows, after everything that is timed. If the prediction
    fails, the fact is missing and a note gives the reason.
    """
    if prepared.spec.task is Task.RANKING:
        return {}, []
    X, y, weight = prepared.train
    rows = evenly(len(y), MAX_ROWS)
    try:
        output = checked(prepared.adapter.predict(part_of(X, rows)), prepared.spec, len(rows))
    except Exception as error:  # noqa: BLE001 - the plugin may raise anything
        return {}, [f"training rows were not scored: {type(error).__name__}: {error}"]
    classes = prepared.spec.task.is_classification
    scale = 1.0 if classes else float(np.std(table.y))
    weights = None if weight is None else weight[rows]
    predicted = Predicted(y[rows], output, weights, scale)
    loss = float((log_loss if classes else rmse_sd)(predicted))
    return ({"train_loss": loss} if math.isfinite(loss) else {}), []
