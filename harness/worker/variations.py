"""Variations of a trial's rows before training, for diagnostics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from harness.worker.prepared_trial import PreparedTrial
from harness.worker.stages import evenly, part_of


def vary(
    prepared: PreparedTrial,
    order: int | None = None,
    rows: float | None = None,
    columns: float | None = None,
) -> None:
    """Reorder or drop training rows, or drop columns, of a prepared trial.

    Parameters
    ----------
    order
        Seed of a permutation of the training rows.
    rows
        Share of the training rows to keep, evenly spaced; at least two.
    columns
        Share of the prepared columns to keep, evenly spaced; at least one. The test rows lose
        the same ones.
    """
    n_rows, n_columns = prepared.train[0].shape
    if order is not None:
        _keep_rows(prepared, np.random.default_rng(order).permutation(n_rows))
    if rows is not None:
        _keep_rows(prepared, evenly(n_rows, max(2, round(rows * n_rows))))
    if columns is not None:
        _keep_columns(prepared, evenly(n_columns, max(1, round(columns * n_columns))))


def _keep_rows(prepared: PreparedTrial, rows: np.ndarray) -> None:
    X, y, weight = prepared.train
    prepared.train = (part_of(X, rows), y[rows], None if weight is None else weight[rows])


def _keep_columns(prepared: PreparedTrial, columns: np.ndarray) -> None:
    X, y, weight = prepared.train
    place = {int(column): number for number, column in enumerate(columns)}
    categorical = tuple(place[c] for c in prepared.spec.categorical if c in place)
    prepared.spec = replace(prepared.spec, categorical=categorical)
    prepared.train = (_columns(X, columns), y, weight)
    prepared.X_test = _columns(prepared.X_test, columns)
    if prepared.columns:
        prepared.columns = tuple(prepared.columns[c] for c in columns)


def _columns(X: Any, columns: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    return np.ascontiguousarray(X[:, columns]) if isinstance(X, np.ndarray) else X[:, columns]
