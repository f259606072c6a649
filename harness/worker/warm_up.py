"""Run an algorithm on tiny tables, so that its kernels are compiled and cached."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.config.search_space import one_of_each
from harness.core.model import JSON, Algorithm, Spec, Task
from harness.worker.compile_clock import compile_listener
from harness.worker.tuning import plain_specs

ROWS = 60
COLUMNS = 4
MANY_CATEGORIES = 300  # categories, one per row: more than a uint8 can hold
MANY_ROWS = 5000  # of the large tables: enough for the sort algorithms of large columns
LARGE_TREES = 30  # maximum for models of large tables
RARE = 0.03  # share of nonzero rows of a rare column
INDICATORS = 40  # one-hot columns
NOTHING_COMPILED: JSON = {"notes": [], "first": 0.0, "functions": 0, "compiling": 0.0}


def compile_all(
    algorithm: Algorithm, params: Sequence[Mapping[str, Any]], threads: int, kinds: Sequence[str]
) -> JSON:
    """Run an algorithm on all kinds of tables, see `exercise`; return the compiled functions.

    Returns
    -------
    dict
        ``notes`` of `exercise`; ``functions`` compiled, in ``compiling`` processor seconds;
        ``first``, the wall seconds of the first fit and its predictions.
    """
    with watched_compiling() as compiling:
        notes, first = exercise(algorithm, params, threads, kinds)
    compiled = {"functions": compiling.functions, "compiling": compiling.cpu}
    return {"notes": notes, "first": first, **compiled}


def are_packaged(algorithm: Algorithm, plugin: str, params: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether compiled kernels for all of these params come with the plugin's package.

    A package has the kernels of an algorithm's own params and of its variants. Numbers in
    params never choose other kernels. All configurations of a tuned trial are checked.

    Parameters
    ----------
    plugin
        The plugin's module; its package is ``algorithms`` or another one.
    """
    jit = sys.modules.get("algorithms.runtime.jit")
    if jit is None or not plugin.startswith("algorithms."):
        return False
    if jit.PACKAGED.folder is None or jit.PACKAGED.is_written:
        return False
    known = [algorithm.params, *algorithm.variants]
    return all(
        (isinstance(value, int | float) and not isinstance(value, bool))
        or any(name in one and one[name] == value for one in known)
        for given in params
        for chosen in one_of_each(given)
        for name, value in chosen.items()
    )


def exercise(
    algorithm: Algorithm,
    params: Sequence[Mapping[str, Any]],
    threads: int,
    kinds: Sequence[str] = (),
) -> tuple[list[str], float]:
    """Fit and predict once for each task, kind of table, and set of params.

    Categorical, sparse and large tables are used only if ``kinds`` has ``categorical``, ``sparse``
    or ``large``.

    Returns
    -------
    list of str
        Messages of failed calls; they do not stop the run.
    float
        Wall seconds of the first fit and its predictions.
    """
    notes: list[str] = []
    seconds: list[float] = []
    for task in sorted(algorithm.tasks):
        for chosen in (one for given in params for one in one_of_each(given)):
            for X, weight, columns in forms(algorithm, kinds):
                spec = Spec(
                    task=task,
                    params=_params(algorithm, chosen, X.shape[0]),
                    threads=threads,
                    n_classes=_classes(task),
                    categorical=columns,
                )
                began = time.perf_counter()
                try:
                    _once(algorithm, spec, X, weight)
                except Exception as error:  # noqa: BLE001 - the trial itself reports errors
                    if X.shape[0] != MANY_CATEGORIES:  # some algorithms need one bin per category
                        notes.append(f"{task} with {dict(chosen)}: {type(error).__name__}: {error}")
                seconds.append(time.perf_counter() - began)
    return list(dict.fromkeys(notes)), seconds[0]  # without duplicates


def _params(algorithm: Algorithm, chosen: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Return the params of a model; with few trees for a large table, to save time."""
    params = {**algorithm.params, **chosen}
    trees = algorithm.capacity.get("trees")
    if rows < MANY_ROWS or trees is None or not isinstance(params.get(trees.name), int):
        return params
    return params | {trees.name: min(params[trees.name], LARGE_TREES)}


@dataclass
class Compiling:
    """Number of functions that numba has compiled, and processor seconds."""

    functions: int = 0
    cpu: float = 0.0
    _began: list[float] = field(default_factory=list)  # start times of the nested compilations

    def start(self) -> None:
        """Record the start of a compilation, possibly nested."""
        self.functions += 1
        self._began.append(time.process_time())

    def end(self) -> None:
        """Record the end of a compilation; only outermost ones are timed."""
        began = self._began.pop()
        if not self._began:
            self.cpu += time.process_time() - began


@contextlib.contextmanager
def watched_compiling() -> Iterator[Compiling]:
    """Record the functions that numba compiles during the body; cached functions do not count.

    Yields
    ------
    Compiling
        Stays zero if numba was not imported before.
    """
    compiling = Compiling()
    if "numba" not in sys.modules:
        yield compiling
        return
    from numba.core import event

    with event.install_listener("numba:compile", compile_listener(event, compiling)):
        yield compiling


def call_once(algorithm: Algorithm, spec: Spec, *, sparse: bool) -> None:
    """Run an algorithm once on a tiny table, so that its compiled kernels are loaded.

    A later trial then measures the algorithm and not the loading of code. The table is sparse or
    has a categorical column if the table of the trial is or has.
    """
    kinds = ("sparse",) if sparse else ("categorical",) if spec.categorical else ()
    every = list(forms(algorithm, kinds))
    alike = [form for form in every if form[2]] or [every[-1 if kinds else 0]]
    for X, weight, columns in alike:
        with contextlib.suppress(Exception):  # the trial itself reports errors
            for plain in plain_specs(spec):
                _once(algorithm, replace(plain, categorical=columns), X, weight)


Form = tuple[Any, np.ndarray | None, tuple[int, ...]]  # X, weight, categorical columns


def forms(algorithm: Algorithm, kinds: Sequence[str]) -> Iterator[Form]:
    """Yield tiny tables, one for each kind of dataset."""
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    yield X, None, ()
    if algorithm.accepts.weights:
        yield X, np.linspace(0.5, 1.5, ROWS), ()
    if algorithm.accepts.missing:
        holed = X.copy()
        holed[::7, 0] = np.nan
        yield holed, None, ()
    yield np.hstack([X, _indicators(ROWS, 6)]), None, ()
    categorical = algorithm.accepts.categorical and "categorical" in kinds
    sparse = algorithm.accepts.sparse and "sparse" in kinds
    if "float32" in kinds:  # for direct use of the estimators; trials use float64
        yield X.astype(np.float32), None, ()
    if categorical:
        for rows, n_categories in ((MANY_CATEGORIES, MANY_CATEGORIES), (ROWS, 3)):
            yield _with_categories(np.resize(X, (rows, COLUMNS)), n_categories), None, (0,)
    if "large" in kinds:
        given = {"categorical": categorical, "sparse": sparse, "float32": "float32" in kinds}
        yield from _large_forms(algorithm, **given)
    if sparse:
        yield _sparse(np.where(X > 0, X, 0.0)), None, ()


def _large_forms(
    algorithm: Algorithm, *, categorical: bool, sparse: bool, float32: bool
) -> Iterator[Form]:
    """Yield tables of many rows, which algorithms sort, bundle and predict with other kernels."""
    X = np.random.default_rng(0).normal(size=(MANY_ROWS, 2 * COLUMNS))
    yield X, None, ()
    if float32:
        yield X.astype(np.float32), None, ()
    indicators = _indicators(MANY_ROWS, INDICATORS)
    both = np.hstack([X[:, :COLUMNS], indicators])
    yield both, None, ()
    if algorithm.accepts.missing:
        holed = both.copy()
        holed[::7, :2] = np.nan
        yield holed, None, ()
    if categorical:
        for n_categories in (MANY_CATEGORIES, 8):
            yield _with_categories(X, n_categories), None, (0,)
    if sparse:
        rare = np.random.default_rng(2).random((MANY_ROWS, 2 * INDICATORS)) < RARE
        yield _sparse(both), None, ()
        yield _sparse(np.where(rare, 1.0, 0.0)), None, ()


def _indicators(rows: int, columns: int) -> np.ndarray:
    """Return one-hot columns with random levels."""
    return np.eye(columns)[np.random.default_rng(1).integers(columns, size=rows)]


def _with_categories(X: np.ndarray, n_categories: int) -> Any:
    """Return a frame whose first column is categorical."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame["c0"] = pd.Categorical(np.arange(len(X)) % n_categories)
    return frame


def _sparse(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def _classes(task: Task) -> int:
    return {Task.BINARY: 2, Task.MULTICLASS: 3}.get(task, 0)


def _once(algorithm: Algorithm, spec: Spec, X: Any, weight: np.ndarray | None) -> None:
    rows = np.arange(X.shape[0])
    y = rows % spec.n_classes if spec.n_classes else np.sin(rows)
    if spec.task is Task.RANKING:
        y = rows % 3.0
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, y, weight))
    adapter.predict(X)
    adapter.predict_one(X[:1])
