"""Prepared trial of a worker: its rows, split and prepared, its model and its samples."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.class_weights import balanced_weights, is_balanced, without_class_weight
from harness.core.model import Algorithm, Sample, Spec, Table, Task, Trial
from harness.data import duplicates_across, split_notes, split_rows
from harness.data.preparation import fit_preparation
from harness.worker.compile_clock import NOTHING, CompileTime
from harness.worker.tuning import build_adapter, inner_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Rows:
    """Row numbers of a split, with notes on it."""

    train: np.ndarray
    test: np.ndarray
    notes: tuple[str, ...]
    duplicates: int  # test rows whose features also occur in a training row


def split_table(trial: Trial, table: Table) -> Rows:
    """Return the rows of the trial's split of a table."""
    train, test = split_rows(trial.split, table, trial.task)
    notes = tuple(split_notes(trial.split, table, trial.task))
    return Rows(train, test, notes, duplicates_across(table, train, test))


@dataclass
class PreparedTrial:
    """State of a trial between two requests.

    Attributes
    ----------
    train
        Arguments of the adapter's ``prepare``: prepared ``X``, ``y`` and ``weight`` (or None)
        of the training rows; for ranking also the numbers of rows of the queries.
    categories
        Position of a column whose categories are kept → its categories in the table, and the
        prepared code of each and of missing values.
    """

    trial: Trial
    spec: Spec
    train: tuple[Any, ...]
    X_test: Any  # the prepared test rows
    rows: Rows
    notes: tuple[str, ...]
    columns: tuple[str, ...] = ()  # names of the prepared columns, for display
    categories: Mapping[int, tuple[pd.Index, np.ndarray]] = field(default_factory=dict)
    inner: Table | None = None  # from `inner_table`
    algorithm: Algorithm | None = None
    adapter: Any = None
    native: Any = None
    fitted: bool = False  # whether the adapter is fitted
    output: np.ndarray | None = None  # checked predictions of the test rows
    samples: list[Sample] = field(default_factory=list)
    started: str = ""
    load: float = 0.0  # load average of the machine when the trial began
    compiled_before: CompileTime = NOTHING  # compile time before the trial began

    def drop(self) -> None:
        """Replace the adapter by a new one: a kept model may reference its training data."""
        assert self.algorithm is not None
        self.native, self.fitted = None, False
        self.adapter = build_adapter(self.algorithm, self.spec, self.inner)

    @property
    def is_sparse(self) -> bool:
        """Return whether the prepared rows are a sparse matrix."""
        return hasattr(self.X_test, "tocsr")

    def rehearse(self) -> None:
        """Call the algorithm once on a tiny table.

        So memory that is loaded at the first call does not count in later peaks. It must be called
        before anything large is freed, because memory kept by the allocator would hide peaks.
        """
        from harness.worker.warm_up import call_once

        assert self.algorithm is not None
        call_once(self.algorithm, self.spec, sparse=self.is_sparse)
        self.drop()

    def need_native(self) -> None:
        """Build the library's training data if it was dropped."""
        if self.native is None:
            self.native = self.adapter.prepare(*self.train)

    def need_model(self) -> None:
        """Train if the model was dropped."""
        self.need_native()
        if not self.fitted:
            seed_globals(self.spec.seed)
            self.fit()

    def fit(self) -> None:
        """Train on the library's training data."""
        self.adapter.fit(self.native)
        self.fitted = True

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of training rows, test rows and columns."""
        X, y, *_ = self.train
        return {"train_rows": len(y), "test_rows": len(self.rows.test), "columns": X.shape[1]}


def spec_of(trial: Trial, table: Table, categorical: Sequence[int]) -> Spec:
    """Return the spec of a trial's adapter, with the positions of its categorical columns."""
    return Spec(
        task=trial.task,
        params=without_class_weight(trial.params),
        seed=trial.seed,
        threads=trial.threads,
        n_classes=len(table.classes),
        categorical=tuple(categorical),
    )


def weights_of(trial: Trial, table: Table, rows: np.ndarray) -> np.ndarray | None:
    """Return the sample weights of training rows, (n_rows,) float64; None if they have none."""
    weight = None if table.weight is None else table.weight[rows]
    return balanced_weights(table.y[rows], weight) if is_balanced(trial.params) else weight


def prepare_trial(trial: Trial, table: Table, rows: Rows) -> PreparedTrial:
    """Return a trial with both parts of its split prepared."""
    prepared = fit_preparation(trial.preparation, table, rows.train)
    X_train, X_test = (prepared.apply(_rows(table.X, part)) for part in (rows.train, rows.test))
    weight = weights_of(trial, table, rows.train)
    spec = spec_of(trial, table, prepared.categorical)
    train = (X_train, table.y[rows.train], weight, *query_sizes(trial.task, table, rows.train))
    categories = {
        j: (table.X.iloc[:, j].cat.categories, prepared.places[j]) for j in prepared.categorical
    }
    notes = tuple(prepared.notes)
    inner = inner_table(trial, table, rows.train)
    return PreparedTrial(
        trial, spec, train, X_test, rows, notes, prepared.columns, categories, inner
    )


def query_sizes(task: Task, table: Table, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the numbers of rows of the queries of some rows, in a tuple; () except for ranking."""
    if task is not Task.RANKING or table.group is None:
        return ()
    starts = np.flatnonzero(np.diff(table.group[rows], prepend=-1))
    return (np.diff(np.append(starts, len(rows))),)


def seed_globals(number: int) -> None:
    """Seed the global random generators, so that trials of plugins that use them are repeatable."""
    random.seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002 - the global generator is intended


def one_by_one(X: Any, n: int) -> list[Any]:
    """Return the first n rows as tables of one row, cyclically if there are fewer."""
    return [_rows(X, slice(i % X.shape[0], i % X.shape[0] + 1)) for i in range(n)]


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
