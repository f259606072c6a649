"""Run an algorithm on tiny tables, so that whatever it compiles is compiled and cached."""

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
from harness.worker.tuning import plain_specs

ROWS = 60
COLUMNS = 4
CROWD = 300  # categories, one a row: more than a column of bytes tells apart


def compile_all(
    algorithm: Algorithm, params: Sequence[Mapping[str, Any]], threads: int, kinds: Sequence[str]
) -> JSON:
    """Run an algorithm in all ways, see `exercise`; tell what was compiled, and how fast.

    Returns
    -------
    dict
        ``notes`` of `exercise`; ``functions`` compiled, in ``compiling`` processor seconds;
        ``first``, the wall seconds of the first fit and its predictions.
    """
    with watched_compiling() as compiling:
        notes, first = exercise(algorithm, params, threads, kinds)
    found = {"functions": compiling.functions, "compiling": compiling.cpu}
    return {"notes": notes, "first": first, **found}


def exercise(
    algorithm: Algorithm,
    params: Sequence[Mapping[str, Any]],
    threads: int,
    kinds: Sequence[str] = (),
) -> tuple[list[str], float]:
    """Fit and predict once for each task, form of the data, and set of params.

    Tables with columns of categories, and sparse ones, are only tried where ``kinds`` has
    ``categorical`` or ``sparse``.

    Returns
    -------
    list of str
        What could not be run; compiling is a help, never a condition.
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
                    params={**algorithm.params, **chosen},
                    threads=threads,
                    n_classes=_classes(task),
                    categorical=columns,
                )
                began = time.perf_counter()
                try:
                    _once(algorithm, spec, X, weight)
                except Exception as error:  # noqa: BLE001 - the trial itself will tell
                    if X.shape[0] != CROWD:  # some need a bin for each category
                        notes.append(f"{task} with {dict(chosen)}: {type(error).__name__}: {error}")
                seconds.append(time.perf_counter() - began)
    return list(dict.fromkeys(notes)), seconds[0]  # one for all the forms that fail alike


@dataclass
class Compiling:
    """What numba has compiled so far: how many functions, and in how many processor seconds."""

    functions: int = 0
    cpu: float = 0.0
    _began: list[float] = field(default_factory=list)  # one for each function that is under way

    def start(self) -> None:
        """Note that a function's compilation begins; it may lie in that of its caller."""
        self.functions += 1
        self._began.append(time.process_time())

    def end(self) -> None:
        """Note that one has ended; only what lies in no other's counts."""
        began = self._began.pop()
        if not self._began:
            self.cpu += time.process_time() - began


@contextlib.contextmanager
def watched_compiling() -> Iterator[Compiling]:
    """Watch what numba compiles meanwhile; a function that its cache holds is not compiled.

    Yields
    ------
    Compiling
        Stays at nothing where numba was not imported before.
    """
    found = Compiling()
    if "numba" not in sys.modules:
        yield found
        return
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        def on_start(self, event: object) -> None:  # noqa: ARG002 - numba's signature
            found.start()

        def on_end(self, event: object) -> None:  # noqa: ARG002 - numba's signature
            found.end()

    with event.install_listener("numba:compile", Watch()):
        yield found


def call_once(algorithm: Algorithm, spec: Spec, *, sparse: bool) -> None:
    """Run an algorithm once on a tiny table, so that what it loads at the first call is loaded.

    A trial that follows then measures the algorithm and not the loading of compiled code. The
    table is sparse, or has a column of categories, few or many, where that of the trial is or has.
    """
    kinds = ("sparse",) if sparse else ("categorical",) if spec.categorical else ()
    every = list(forms(algorithm, kinds))
    alike = [form for form in every if form[2]] or [every[-1 if kinds else 0]]
    for X, weight, columns in alike:
        with contextlib.suppress(Exception):  # the trial itself will tell
            for plain in plain_specs(spec):
                _once(algorithm, replace(plain, categorical=columns), X, weight)


def forms(
    algorithm: Algorithm, kinds: Sequence[str]
) -> Iterator[tuple[Any, np.ndarray | None, tuple[int, ...]]]:
    """Yield tables (X, weight, categorical columns), one for each form that may be met."""
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    yield X, None, ()
    if algorithm.accepts.weights:
        yield X, np.linspace(0.5, 1.5, ROWS), ()
    if algorithm.accepts.missing:
        holed = X.copy()
        holed[::7, 0] = np.nan
        yield holed, None, ()
    if algorithm.accepts.categorical and "categorical" in kinds:
        import pandas as pd

        for rows, n_categories in ((CROWD, CROWD), (ROWS, 3)):
            frame = pd.DataFrame(np.resize(X, (rows, COLUMNS)))
            frame.columns = [f"c{j}" for j in range(COLUMNS)]
            frame["c0"] = pd.Categorical(np.arange(rows) % n_categories)
            yield frame, None, (0,)
    if algorithm.accepts.sparse and "sparse" in kinds:
        from scipy.sparse import csr_matrix

        yield csr_matrix(np.where(X > 0, X, 0.0)), None, ()


def _classes(task: Task) -> int:
    return {Task.BINARY: 2, Task.MULTICLASS: 3, Task.REGRESSION: 0}[task]


def _once(algorithm: Algorithm, spec: Spec, X: Any, weight: np.ndarray | None) -> None:
    rows = np.arange(X.shape[0])
    y = rows % spec.n_classes if spec.n_classes else np.sin(rows)
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, y, weight))
    adapter.predict(X)
    adapter.predict_one(X[:1])
