"""Algorithm that is checked, called like in a worker, on small generated tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from harness.conformance.findings import require
from harness.core.errors import HarnessError
from harness.core.model import Algorithm, Dataset, Spec, Table, Task
from harness.data.preparation import choose, fit_preparation

FEW_TREES = 5
N_TRAIN, N = 100, 160
NO_KINDS: Mapping[str, bool] = MappingProxyType({})
N_CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0, Task.RANKING: 0}
N_GRADES = 4


def declare(task: Task, **kinds: bool) -> Dataset:
    """Return the declaration of the table of :func:`make_table`."""
    given: dict[str, Any] = {"rows": N, "columns": 5, "n_classes": N_CLASSES[task], **kinds}
    return Dataset("made", task, lambda: Table(np.empty(0), np.empty(0)), "0", **given)


def make_table(
    task: Task,
    *,
    categorical: bool = False,
    missing: bool = False,
    sparse: bool = False,
    noise: float = 0.3,
) -> Table:
    """Return 160 noisy rows of five columns; the first determines most of the target."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(N, 5)).astype(float)
    X[:, 3] = rng.normal(size=N)
    signal = X[:, 0] + 0.5 * X[:, 1] + noise * rng.normal(size=N)
    y = signal
    if task.is_classification:
        cuts = np.quantile(signal, np.arange(1, N_CLASSES[task]) / N_CLASSES[task])
        y = np.searchsorted(cuts, signal).astype(np.int64)
    if task is Task.RANKING:  # adapters get no queries, so all rows are one query
        cuts = np.quantile(signal, np.arange(1, N_GRADES) / N_GRADES)
        y = np.searchsorted(cuts, signal).astype(np.float64)
    if sparse:
        return Table(csr_matrix(np.where(rng.random(X.shape) < 0.5, 0.0, X)), y)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:N_TRAIN, 2] = np.nan  # a column with values only in test rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    if categorical:
        codes = rng.integers(-1 if missing else 0, 6, N)
        codes[:N_TRAIN][codes[:N_TRAIN] == 5] = 0  # one category is only in test rows
        frame["e"] = pd.Categorical.from_codes(codes, categories=pd.Index([*"pqrstu"]))
    return Table(frame, y)


@dataclass(frozen=True)
class Given:
    """Inputs of an adapter: a spec, training rows with their targets, and test rows."""

    spec: Spec
    train: Any
    y: np.ndarray
    test: Any

    def one_by_one(self, count: int) -> list[Any]:
        """Return the first test rows, each as an X of one row."""
        at = self.test.iloc if isinstance(self.test, pd.DataFrame) else self.test
        return [at[[i]] for i in range(count)]


@dataclass(frozen=True)
class Fitted(Given):
    """Trained adapter with its inputs and its predictions of the test rows."""

    adapter: Any
    native: Any
    output: np.ndarray


@dataclass(frozen=True)
class Subject:
    """Algorithm and one of its tasks."""

    algorithm: Algorithm
    task: Task
    plugin: str = ""  # module or file that registers it; "" if irrelevant
    kind = "algorithm"

    @property
    def name(self) -> str:
        """Return the algorithm's name."""
        return self.algorithm.name

    @property
    def n_classes(self) -> int:
        """Return the number of classes of the generated tables; 0 without classes."""
        return N_CLASSES[self.task]

    @property
    def few_trees(self) -> dict[str, Any]:
        """Return the default params, with few trees if the algorithm has a number of trees."""
        argument = self.algorithm.capacity.get("trees")
        count = {argument.name: FEW_TREES} if argument and argument.name else {}
        return {**self.algorithm.params, **count}

    def spec(self, params: Mapping[str, Any] | None = None, **fields: Any) -> Spec:
        """Return a spec with few trees, seed 3 and one thread."""
        chosen = self.few_trees if params is None else params
        given = {"seed": 3, "threads": 1, "n_classes": self.n_classes, **fields}
        return Spec(task=self.task, params=chosen, **given)

    def given(
        self,
        data: Table,
        *,
        params: Mapping[str, Any] | None = None,
        rows: np.ndarray | None = None,
        threads: int = 1,
        kinds: Mapping[str, bool] = NO_KINDS,
    ) -> Given:
        """Prepare the first 100 rows, or ``rows``, for training, and the last 60 for predicting.

        ``kinds`` are the arguments of :func:`make_table`.
        """
        train = np.arange(N_TRAIN) if rows is None else rows
        declared = declare(self.task, **kinds)
        prepared = fit_preparation(choose(self.algorithm.accepts, declared), data, train)
        spec = self.spec(params, threads=threads, categorical=prepared.categorical)
        pick = data.X if issparse(data.X) else data.X.iloc
        X, test = (prepared.apply(pick[at]) for at in (train, np.arange(N_TRAIN, N)))
        return Given(spec, X, data.y[train], test)

    def fit(self, data: Table, *, weight: np.ndarray | None = None, **how: Any) -> Fitted:
        """Train on a table, prepared by :meth:`given` with ``how``; predict its test rows."""
        given = self.given(data, **how)
        adapter = self.algorithm.adapter(given.spec)
        native = adapter.prepare(given.train, given.y, weight)
        adapter.fit(native)
        output = np.asarray(adapter.predict(given.test))
        return Fitted(given.spec, given.train, given.y, given.test, adapter, native, output)

    @cached_property
    def plain(self) -> Fitted:
        """Return the algorithm trained on the plain table."""
        return self.fit(make_table(self.task))

    def check_output(self, output: np.ndarray, rows: int = N - N_TRAIN) -> None:
        """Raise BrokenError if predictions are not valid."""
        shape = (rows, self.n_classes) if self.n_classes else (rows,)
        require(output.dtype == np.float64, f"predict returns {output.dtype}, not float64")
        require(output.shape == shape, f"predict returns shape {output.shape}, not {shape}")
        require(bool(np.isfinite(output).all()), "predict returns values that are not finite")
        if self.n_classes:
            require(bool((output >= 0).all()), "predict returns negative probabilities")
            off = float(np.abs(output.sum(axis=1) - 1).max())
            require(off <= 1e-6, f"the probabilities of a row sum to 1 ± {off:.3g}")


def stages(adapter: Any, X: Any) -> list[np.ndarray] | None:
    """Return the predictions after each stage, or None if the adapter has no stages."""
    if not hasattr(adapter, "staged"):
        return None
    try:
        return [np.array(stage) for stage in adapter.staged(X)]
    except AttributeError as error:
        if "staged_predict" not in str(error):  # some scikit-learn estimators lack it
            raise
        return None


def exported(adapter: Any) -> Any:
    """Return the exported trees, or None if the adapter cannot export trees."""
    if not hasattr(adapter, "export_trees"):
        return None
    try:
        return adapter.export_trees()
    except (HarnessError, TypeError) as error:
        if "export" not in str(error):
            raise
        return None
