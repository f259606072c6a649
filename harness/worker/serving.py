"""Save a fitted model, load it in another process, and time its predictions there.

The serving process loads two pickles: the rows to predict, and the fitted adapter. It never loads
the training table, so that its first call and its memory are those of a service.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import JSON
from harness.worker.prepared_trial import PreparedTrial, one_by_one
from harness.worker.stages import part_of

MODEL, ROWS = "model.pickle", "rows.pickle"
MAX_ROWS = 100_000  # different rows that are saved; larger batches repeat them
SINGLE_ROWS = 100  # different rows that are predicted one by one, in turn
MAX_CALLS = 200  # of one batch size in one request


def save_served(prepared: PreparedTrial, folder: Path) -> JSON:
    """Write a fitted adapter and the test rows; return the number of bytes of the model.

    Raises
    ------
    HarnessError
        If the model cannot be pickled.
    """
    rows = np.arange(min(prepared.X_test.shape[0], MAX_ROWS))
    try:
        body = pickle.dumps(prepared.adapter, protocol=5)
    except Exception as error:
        raise HarnessError(f"the model cannot be pickled: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_bytes(body)
    (folder / ROWS).write_bytes(pickle.dumps(part_of(prepared.X_test, rows), protocol=5))
    return {"model_bytes": len(body), **prepared.counts}


class ServedModel:
    """Rows to predict, and a loaded model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.adapter: Any = None
        self.X = _read(folder / ROWS)
        self._singles = one_by_one(self.X, min(SINGLE_ROWS, self.X.shape[0]))
        self._batches: dict[int, Any] = {}

    def load(self) -> None:
        """Load the model from its file."""
        self.adapter = _read(self.folder / MODEL)

    def batch(self, rows: int) -> Any:
        """Return a table of so many rows; the saved rows are repeated if they are fewer."""
        if rows not in self._batches:
            self._batches[rows] = part_of(self.X, np.arange(rows) % self.X.shape[0])
        return self._batches[rows]

    def time_rows(self, calls: int, seconds: float) -> list[int]:
        """Return the nanoseconds of calls with one row each; stop after so many seconds."""
        predict = self.adapter.predict_one
        return _timed(((predict, x) for x in islice(cycle(self._singles), calls)), seconds)

    def time_batch(self, rows: int, seconds: float) -> list[int]:
        """Return the nanoseconds of calls with a batch; repeat it until so many seconds passed."""
        table, predict = self.batch(rows), self.adapter.predict
        return _timed(((predict, table) for _ in range(MAX_CALLS)), seconds)


def _timed(calls: Any, seconds: float) -> list[int]:
    """Return the nanoseconds of each call; at least one is made."""
    clock: Callable[[], int] = time.perf_counter_ns
    nanoseconds: list[int] = []
    left = seconds * 1e9
    for predict, table in calls:
        began = clock()
        predict(table)
        nanoseconds.append(clock() - began)
        left -= nanoseconds[-1]
        if left <= 0:
            break
    return nanoseconds


def _read(path: Path) -> Any:
    """Return the object of a pickle that the training worker of the same run wrote."""
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301 - written by our own worker
