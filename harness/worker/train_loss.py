"""The loss of a fitted model on training rows, from which overfitting is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness.core.model import JSON, Predicted, Table
from harness.plugins.metrics import log_loss, rmse_sd
from harness.worker.checks import checked
from harness.worker.stages import evenly, part_of

if TYPE_CHECKING:
    from harness.worker.prepared_trial import Hand

MOST_ROWS = 2000  # that are predicted, evenly spaced


def score_training_rows(hand: Hand, table: Table) -> tuple[JSON, list[str]]:
    """Return the fact ``train_loss`` (log loss, or RMSE over sd(y)), and notes.

    It costs one call of ``predict`` on few rows, after everything that is timed. A model that
    cannot predict its training rows has no such fact, and a note says why.
    """
    X, y, weight = hand.train
    rows = evenly(len(y), MOST_ROWS)
    try:
        output = checked(hand.adapter.predict(part_of(X, rows)), hand.spec, len(rows))
    except Exception as error:  # noqa: BLE001 - the plugin may raise anything
        return {}, [f"training rows were not scored: {type(error).__name__}: {error}"]
    classes = hand.spec.task.is_classification
    scale = 1.0 if classes else float(np.std(table.y))
    weights = None if weight is None else weight[rows]
    predicted = Predicted(y[rows], output, weights, scale)
    loss = float((log_loss if classes else rmse_sd)(predicted))
    return ({"train_loss": loss} if math.isfinite(loss) else {}), []
