"""Change the rows of a trial before it is trained, to see what depends on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.worker.stages import evenly, part_of

if TYPE_CHECKING:
    from harness.worker.prepared_trial import Hand


def vary(
    hand: Hand, order: int | None = None, rows: float | None = None, columns: float | None = None
) -> None:
    """Reorder or leave out training rows, or leave out columns, of a prepared trial.

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
    n_rows, n_columns = hand.train[0].shape
    if order is not None:
        _keep_rows(hand, np.random.default_rng(order).permutation(n_rows))
    if rows is not None:
        _keep_rows(hand, evenly(n_rows, max(2, round(rows * n_rows))))
    if columns is not None:
        _keep_columns(hand, evenly(n_columns, max(1, round(columns * n_columns))))


def _keep_rows(hand: Hand, rows: np.ndarray) -> None:
    X, y, weight = hand.train
    hand.train = (part_of(X, rows), y[rows], None if weight is None else weight[rows])


def _keep_columns(hand: Hand, columns: np.ndarray) -> None:
    X, y, weight = hand.train
    place = {int(column): number for number, column in enumerate(columns)}
    categorical = tuple(place[c] for c in hand.spec.categorical if c in place)
    hand.spec = replace(hand.spec, categorical=categorical)
    hand.train = (_columns(X, columns), y, weight)
    hand.X_test = _columns(hand.X_test, columns)
    if hand.columns:
        hand.columns = tuple(hand.columns[c] for c in columns)


def _columns(X: Any, columns: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    return np.ascontiguousarray(X[:, columns]) if isinstance(X, np.ndarray) else X[:, columns]
