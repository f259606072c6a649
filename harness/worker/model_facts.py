"""Facts about a fitted model: its size as a pickle, and its loss on training rows."""

from __future__ import annotations

import math
import pickle
from typing import Any

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


class _Counter:
    """File object that counts the written bytes and discards them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Count some bytes."""
        size = memoryview(data).nbytes
        self.bytes += size
        return size


def fitted_model(adapter: Any) -> Any:
    """Return the fitted model of an adapter: its ``model`` or ``booster``, else the adapter."""
    for name in ("model", "booster"):
        model = getattr(adapter, name, None)
        if model is not None:
            return model
    return adapter


def size_facts(adapter: Any) -> JSON:
    """Return the size of a fitted model as a fact of its trial; empty if it cannot be pickled."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(fitted_model(adapter))
    except Exception:  # noqa: BLE001 - pickling a plugin's model may raise anything
        return {}
    return {"model_bytes": counter.bytes}
