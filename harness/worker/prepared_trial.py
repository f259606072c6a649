"""The trial in hand: its rows, split and prepared, and what was made of them so far."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.core.class_weights import balanced_weights, is_balanced, without_class_weight
from harness.core.model import Algorithm, Sample, Spec, Table, Trial
from harness.data import duplicates_across, split_notes, split_rows
from harness.data.preparation import fit_preparation
from harness.worker.compile_clock import NOTHING, CompileTime


@dataclass(frozen=True, eq=False)
class Rows:
    """The row numbers of a split, and what a reader should know of it."""

    train: np.ndarray
    test: np.ndarray
    notes: tuple[str, ...]
    duplicates: int  # test rows whose features also occur in a training row


def cut(trial: Trial, table: Table) -> Rows:
    """Split a table as a trial says."""
    train, test = split_rows(trial.split, table, trial.task)
    notes = tuple(split_notes(trial.split, table, trial.task))
    return Rows(train, test, notes, duplicates_across(table, train, test))


@dataclass
class Hand:
    """A trial between two requests.

    Attributes
    ----------
    train
        Prepared ``X``, ``y`` and ``weight`` (or None) of the training rows.
    X_test
        The prepared test rows.
    columns
        Names of the prepared columns, for people.
    """

    trial: Trial
    spec: Spec
    train: tuple[Any, np.ndarray, np.ndarray | None]
    X_test: Any
    rows: Rows
    notes: tuple[str, ...]
    columns: tuple[str, ...] = ()
    algorithm: Algorithm | None = None
    adapter: Any = None
    native: Any = None
    fitted: bool = False  # the adapter
    output: np.ndarray | None = None  # checked predictions of the test rows
    samples: list[Sample] = field(default_factory=list)
    started: str = ""
    load: float = 0.0  # load average of the machine when the trial began
    compiled_before: CompileTime = NOTHING  # what was compiled before the trial began

    def drop(self) -> None:
        """Begin with a new adapter: a model that is kept may hold on to its training form."""
        from harness.worker.tuning import build_adapter

        assert self.algorithm is not None
        self.native, self.fitted = None, False
        self.adapter = build_adapter(self.algorithm, self.spec)

    @property
    def is_sparse(self) -> bool:
        """Whether the prepared rows are a sparse matrix."""
        return hasattr(self.X_test, "tocsr")

    def rehearse(self) -> None:
        """Call the algorithm once on a tiny table.

        So what is loaded at a first call is no part of the peaks that follow. Nothing large was
        ever freed by then: what an allocator kept of it would hide as much of them.
        """
        from harness.worker.warm_up import call_once

        assert self.algorithm is not None
        call_once(self.algorithm, self.spec, sparse=self.is_sparse)
        self.drop()

    def need_native(self) -> None:
        """Build the training form where it was dropped."""
        if self.native is None:
            self.native = self.adapter.prepare(*self.train)

    def need_model(self) -> None:
        """Train where the model was dropped."""
        self.need_native()
        if not self.fitted:
            seed_globals(self.spec.seed)
            self.fit()

    def fit(self) -> None:
        """Train on the training form."""
        self.adapter.fit(self.native)
        self.fitted = True

    @property
    def counts(self) -> dict[str, int]:
        """How many rows train and test, and the columns that they have."""
        X, y, _ = self.train
        return {"train_rows": len(y), "test_rows": len(self.rows.test), "columns": X.shape[1]}


def take(trial: Trial, table: Table, rows: Rows) -> Hand:
    """Prepare both parts of a split as a trial says."""
    prepared = fit_preparation(trial.preparation, table, rows.train)
    X_train, X_test = (prepared.apply(_rows(table.X, part)) for part in (rows.train, rows.test))
    weight = None if table.weight is None else table.weight[rows.train]
    if is_balanced(trial.params):
        weight = balanced_weights(table.y[rows.train], weight)
    spec = Spec(
        task=trial.task,
        params=without_class_weight(trial.params),
        seed=trial.seed,
        threads=trial.threads,
        n_classes=len(table.classes),
        categorical=tuple(prepared.categorical),
    )
    train = (X_train, table.y[rows.train], weight)
    return Hand(trial, spec, train, X_test, rows, tuple(prepared.notes), prepared.columns)


def seed_globals(number: int) -> None:
    """Seed the generators that a careless plugin draws from, so that its trial can be repeated."""
    random.seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002 - the global one is what is meant


def one_by_one(X: Any, n: int) -> list[Any]:
    """Return the first n rows as tables of one row, in turn again where there are fewer."""
    return [_rows(X, slice(i % X.shape[0], i % X.shape[0] + 1)) for i in range(n)]


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
