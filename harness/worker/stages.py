"""Staged predictions, training times by number of trees, and predictions of single trees.

They are exported only on request, for diagnostics. Both exports contain at most some thousand rows,
evenly spaced over the training rows and over the test rows, so that they stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from harness.core.errors import HarnessError
from harness.worker.checks import checked
from harness.worker.prepared_trial import PreparedTrial

MAX_STAGES = 100
MAX_NUMBERS = 20_000  # stored predictions per stage, of training rows and of test rows
MIN_ROWS = 1000  # stored for any number of classes
MAX_ROWS = 5000  # rows with stored predictions of each member
CLOCK_SHARES = (0.125, 0.25, 0.5, 1.0)  # shares of the members that are trained again and timed
CLOCK_CALLS = 2  # timed fits of each; the fastest counts
MAX_CLOCK_SECONDS = 20.0  # of all timed fits; the times of the larger models are extrapolated


def staged(prepared: PreparedTrial) -> dict[str, np.ndarray]:
    """Return staged predictions of test rows and training rows.

    Returns
    -------
    dict
        ``stage`` (k,): numbers of members, at most ``MAX_STAGES``, evenly spaced, including the
        last one; ``rows`` (n,): positions among the test rows; ``output`` (k, n[, n_classes]);
        ``train_output`` (k, m[, n_classes]), ``train_y`` (m,), ``train_weight`` (m,) if there
        is one; ``clock_stage``, ``clock_seconds``: numbers of members and seconds to train them,
        both empty if the algorithm declares no param for the number of trees.
    """
    if not hasattr(prepared.adapter, "staged"):
        raise HarnessError("this plugin has no staged predictions")
    X, y, weight, *_ = prepared.train
    most = max(MIN_ROWS, MAX_NUMBERS // max(1, prepared.spec.n_classes))
    rows, train_rows = (evenly(n, most) for n in (len(prepared.rows.test), len(y)))
    stage, output = _stages(prepared, part_of(prepared.X_test, rows))
    _, train_output = _stages(prepared, part_of(X, train_rows))
    counts, seconds = _clock(prepared, int(stage[-1]))
    arrays = {
        "stage": stage,
        "rows": rows,
        "output": output,
        "train_output": train_output,
        "train_y": y[train_rows],
        "clock_stage": np.asarray(counts, np.int64),
        "clock_seconds": np.asarray(seconds, np.float64),
    }
    return arrays if weight is None else {**arrays, "train_weight": weight[train_rows]}


def members(prepared: PreparedTrial) -> dict[str, np.ndarray]:
    """Return the predictions of each tree for test rows and training rows.

    Returns
    -------
    dict
        ``member`` (n_trees, n): class codes or values; ``rows`` (n,): positions among the test
        rows; ``weight`` (n_trees,); ``train_member`` (n_trees, m), ``train_y`` (m,).
    """
    from harness.analysis.diagnostics.members import member_predictions

    if not hasattr(prepared.adapter, "export_trees"):
        raise HarnessError("this plugin has no export_trees")
    ensemble = prepared.adapter.export_trees()
    X, y, *_ = prepared.train
    rows, train_rows = (evenly(n, MAX_ROWS) for n in (len(prepared.rows.test), len(y)))
    return {
        "member": member_predictions(ensemble, part_of(prepared.X_test, rows)),
        "rows": rows,
        "weight": ensemble.weight,
        "train_member": member_predictions(ensemble, part_of(X, train_rows)),
        "train_y": y[train_rows],
    }


def evenly(n: int, most: int) -> np.ndarray:
    """Return at most ``most`` of the positions 0 … n − 1, evenly spaced, int64."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def part_of(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of a frame, array or sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _stages(prepared: PreparedTrial, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of members, and the predictions after each number."""
    try:
        total = sum(1 for _ in prepared.adapter.staged(X))
    except AttributeError as error:  # some scikit-learn estimators do not have it
        if "staged_predict" not in str(error):
            raise
        raise HarnessError("it has no staged predictions") from error
    if not total:
        raise HarnessError("the fitted model has no stages")
    kept = {round(i) for i in np.linspace(1, total, min(total, MAX_STAGES))}
    stages = enumerate(prepared.adapter.staged(X), start=1)
    outputs = {i: checked(output, prepared.spec, X.shape[0]) for i, output in stages if i in kept}
    return np.fromiter(outputs, np.int64), np.asarray(list(outputs.values()))


def _clock(prepared: PreparedTrial, total: int) -> tuple[list[int], list[float]]:
    """Train models with fewer members; return their numbers and the training seconds.

    If the next model would exceed ``MAX_CLOCK_SECONDS``, the seconds of all members are
    extrapolated from the last two models.
    """
    counts: list[int] = []
    seconds: list[float] = []
    for count, fit in _smaller_models(prepared, total):
        if len(counts) >= 2:
            slope = max(0.0, seconds[-1] - seconds[-2]) / (counts[-1] - counts[-2])
            expected = seconds[-1] + slope * (count - counts[-1])
            if CLOCK_CALLS * (sum(seconds) + expected) > MAX_CLOCK_SECONDS:
                extrapolated = seconds[-1] + slope * (total - counts[-1])
                return [*counts, total], [*seconds, extrapolated]
        counts.append(count)
        seconds.append(min(fit() for _ in range(CLOCK_CALLS)))
    return counts, seconds


def _smaller_models(
    prepared: PreparedTrial, total: int
) -> Iterator[tuple[int, Callable[[], float]]]:
    """Yield numbers of members, and a function that trains such a model and returns the seconds."""
    from harness.worker.prepared_trial import seed_globals

    algorithm, spec = prepared.algorithm, prepared.spec
    argument = algorithm.capacity.get("trees") if algorithm else None
    if algorithm is None or argument is None or argument.name not in spec.params:
        return
    for count in sorted({1, *(max(1, round(share * total)) for share in CLOCK_SHARES)}):
        adapter = algorithm.adapter(replace(spec, params={**spec.params, argument.name: count}))
        native = adapter.prepare(*prepared.train)

        def fit(adapter: Any = adapter, native: Any = native) -> float:
            seed_globals(spec.seed)
            started = perf_counter()
            adapter.fit(native)
            return perf_counter() - started

        yield count, fit
