"""Write down how a fitted model came about: its stages, what they cost, and its members.

Only for diagnostics, so only where asked for. Both artifacts are about at most some thousand rows,
evenly spaced over the training and over the test rows, so that they stay small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import HarnessError
from harness.worker.checks import checked

if TYPE_CHECKING:
    from harness.worker.prepared_trial import Hand

MOST_STAGES = 100
MOST_NUMBERS = 20_000  # predicted numbers a stage that are kept, of each side
LEAST_ROWS = 1000  # that are kept whatever the number of classes
MOST_ROWS = 5000  # of which each member's prediction is kept
CLOCK_SHARES = (0.125, 0.25, 0.5, 1.0)  # of the members that are trained again, timed
CLOCK_CALLS = 2  # of each; the faster one counts


def staged(hand: Hand) -> dict[str, np.ndarray]:
    """Return predictions after some members, of test rows and of training rows.

    Returns
    -------
    dict
        ``stage`` (k,): numbers of members, at most ``MOST_STAGES``, evenly spaced, the last one
        always; ``rows`` (n,): positions among the test rows; ``output`` (k, n[, n_classes]);
        ``train_output`` (k, m[, n_classes]), ``train_y`` (m,), ``train_weight`` (m,) where there
        is one; ``clock_stage``, ``clock_seconds``: seconds of training so many members, both
        empty where the algorithm does not say how it is told their number.
    """
    if not hasattr(hand.adapter, "staged"):
        raise HarnessError("this plugin has no staged predictions")
    X, y, weight = hand.train
    most = max(LEAST_ROWS, MOST_NUMBERS // max(1, hand.spec.n_classes))
    rows, train_rows = (evenly(n, most) for n in (len(hand.rows.test), len(y)))
    stage, output = _stages(hand, part_of(hand.X_test, rows))
    _, train_output = _stages(hand, part_of(X, train_rows))
    counts, seconds = _clock(hand, int(stage[-1]))
    found = {
        "stage": stage,
        "rows": rows,
        "output": output,
        "train_output": train_output,
        "train_y": y[train_rows],
        "clock_stage": np.asarray(counts, np.int64),
        "clock_seconds": np.asarray(seconds, np.float64),
    }
    return found if weight is None else {**found, "train_weight": weight[train_rows]}


def members(hand: Hand) -> dict[str, np.ndarray]:
    """Return what each tree says on its own, of test rows and of training rows.

    Returns
    -------
    dict
        ``member`` (n_trees, n): class codes or values; ``rows`` (n,): positions among the test
        rows; ``weight`` (n_trees,); ``train_member`` (n_trees, m), ``train_y`` (m,).
    """
    from harness.analysis.diagnostics.members import member_predictions

    if not hasattr(hand.adapter, "export_trees"):
        raise HarnessError("this plugin has no export_trees")
    ensemble = hand.adapter.export_trees()
    X, y, _ = hand.train
    rows, train_rows = (evenly(n, MOST_ROWS) for n in (len(hand.rows.test), len(y)))
    return {
        "member": member_predictions(ensemble, part_of(hand.X_test, rows)),
        "rows": rows,
        "weight": ensemble.weight,
        "train_member": member_predictions(ensemble, part_of(X, train_rows)),
        "train_y": y[train_rows],
    }


def evenly(n: int, most: int) -> np.ndarray:
    """Return at most so many of the positions 0 … n − 1, evenly spaced, int64."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def part_of(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table of any form."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _stages(hand: Hand, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of members, and the predictions after each of them."""
    try:
        total = sum(1 for _ in hand.adapter.staged(X))
    except AttributeError as error:  # what a scikit-learn estimator may lack
        if "staged_predict" not in str(error):
            raise
        raise HarnessError("it has no staged predictions") from error
    if not total:
        raise HarnessError("the fitted model has no stages")
    kept = {round(i) for i in np.linspace(1, total, min(total, MOST_STAGES))}
    found = enumerate(hand.adapter.staged(X), start=1)
    outputs = {i: checked(output, hand.spec, X.shape[0]) for i, output in found if i in kept}
    return np.fromiter(outputs, np.int64), np.asarray(list(outputs.values()))


def _clock(hand: Hand, total: int) -> tuple[list[int], list[float]]:
    """Train fewer members again; return their numbers and the seconds it took."""
    timed = dict(_timed(hand, total))
    return list(timed), list(timed.values())


def _timed(hand: Hand, total: int) -> Iterator[tuple[int, float]]:
    from harness.worker.prepared_trial import seed_globals

    algorithm, spec = hand.algorithm, hand.spec
    argument = algorithm.capacity.get("trees") if algorithm else None
    if algorithm is None or argument is None or argument.name not in spec.params:
        return
    for count in sorted({1, *(max(1, round(share * total)) for share in CLOCK_SHARES)}):
        adapter = algorithm.adapter(replace(spec, params={**spec.params, argument.name: count}))
        native = adapter.prepare(*hand.train)
        seconds = []
        for _ in range(CLOCK_CALLS):
            seed_globals(spec.seed)
            started = perf_counter()
            adapter.fit(native)
            seconds.append(perf_counter() - started)
        yield count, min(seconds)
