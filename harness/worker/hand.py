"""The trial in hand: its rows, split and prepared, and what was made of them so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.data import split_rows
from harness.model import Sample, Spec, Table, Trial
from harness.preparation import fit_preparation


@dataclass
class Hand:
    """A trial between two requests.

    Attributes
    ----------
    train
        Prepared ``X``, ``y`` and ``weight`` (or None) of the training rows.
    X_test, test_rows
        The prepared test rows, and their numbers in the table.
    """

    trial: Trial
    spec: Spec
    train: tuple[Any, np.ndarray, np.ndarray | None]
    X_test: Any
    test_rows: np.ndarray
    notes: tuple[str, ...]
    adapter: Any = None
    native: Any = None
    output: np.ndarray | None = None  # checked predictions of the test rows
    samples: list[Sample] = field(default_factory=list)
    started: str = ""
    load: float = 0.0  # load average of the machine when the trial began


def take(trial: Trial, table: Table) -> Hand:
    """Split a table and prepare both parts as a trial says."""
    train_rows, test_rows = split_rows(trial.split, table, trial.task)
    prepared = fit_preparation(trial.preparation, table, train_rows)
    X_train, X_test = (prepared.apply(_rows(table.X, rows)) for rows in (train_rows, test_rows))
    weight = None if table.weight is None else table.weight[train_rows]
    spec = Spec(
        task=trial.task,
        params=trial.params,
        seed=trial.seed,
        threads=trial.threads,
        n_classes=len(table.classes),
        categorical=tuple(prepared.categorical),
    )
    train = (X_train, table.y[train_rows], weight)
    return Hand(trial, spec, train, X_test, test_rows, tuple(prepared.notes))


def one_by_one(X: Any, n: int) -> list[Any]:
    """Return the first n rows as tables of one row, in turn again where there are fewer."""
    return [_rows(X, slice(i % X.shape[0], i % X.shape[0] + 1)) for i in range(n)]


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
