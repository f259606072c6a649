"""Checks of metrics: the score depends only on the rows and their weights."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from harness.conformance.findings import BrokenError, demand, promise
from harness.conformance.held import Held
from harness.core.model import Predicted, Task

ROWS = 60
CLOSE = 1e-9  # tolerance for sums in another order
CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3}


def made(task: Task, noise: float = 0.5) -> Predicted:
    """Return 60 predictions, exact for zero noise and worse with more noise."""
    rng = np.random.default_rng(0)
    blur = noise * rng.normal(size=(ROWS, 3))
    if task is Task.REGRESSION:
        y = rng.normal(size=ROWS) + 3.0
        return Predicted(y, y + blur[:, 0], None, float(y.std()))
    n_classes = CLASSES[task]
    codes = np.arange(ROWS, dtype=np.int64) % n_classes
    odds = np.exp(4.0 * np.eye(n_classes)[codes] + 4.0 * blur[:, :n_classes])
    share = odds / odds.sum(axis=1, keepdims=True)
    return Predicted(codes, np.eye(n_classes)[codes] if noise == 0 else share, None, 1.0)


def tasks_of(held: Held) -> list[Task]:
    """Return the tasks of a metric, in a fixed order."""
    return [task for task in Task if task in held.value.tasks]


@promise("the declaration is complete", kind="metric")
def complete(held: Held) -> None:
    """Check that the metric has tasks and a summary."""
    metric = held.value
    demand(bool(tasks_of(held)), f"tasks is {metric.tasks!r}: name at least one harness.Task")
    demand(bool(metric.summary), "summary is empty: `harness list metrics` shows it")


@promise("it gives a plain number, the same every time", kind="metric")
def number(held: Held) -> None:
    """Compute the score twice; it must be finite for ordinary rows."""
    for task in tasks_of(held):
        one, again = (held.value.score(made(task)) for _ in range(2))
        told = f"of a {task} task it gives {one!r}"
        demand(isinstance(one, float), f"{told}, a {type(one).__name__}, not a float")
        demand(math.isfinite(one), f"{told} for ordinary rows")
        demand(one == again, f"{told} and then {again!r}")


@promise("better predictions score better, in the direction that it declares", kind="metric")
def direction(held: Held) -> None:
    """Compare exact predictions with noisy ones."""
    metric = held.value
    for task in tasks_of(held):
        right, wrong = (metric.score(made(task, noise)) for noise in (0.0, 1.5))
        better = right < wrong if metric.lower_is_better else right > wrong
        told = "lower" if metric.lower_is_better else "higher"
        demand(
            better,
            f"{told} is better, and right {task} predictions score {right:.6g} where blurred ones "
            f"score {wrong:.6g}",
        )


@promise("the order of the rows changes nothing", kind="metric")
def order(held: Held) -> None:
    """Compute the score of the same rows in another order."""
    for task in tasks_of(held):
        given = weighed(made(task))
        turned = picked(given, np.random.default_rng(1).permutation(ROWS))
        _near(held, given, turned, f"of {task} rows in another order")


@promise(
    "a weight counts rows: 2 is the row twice, 0 is no row, and equal ones are none", kind="metric"
)
def weights(held: Held) -> None:
    """Compare weighted rows with repeated rows."""
    for task in tasks_of(held):
        plain = made(task)
        _near(held, plain, replace(plain, weight=np.full(ROWS, 3.0)), f"of {task} rows weighing 3")
        counts = np.arange(ROWS) // 3 % 3
        weighted = replace(plain, weight=counts.astype(np.float64))
        repeated = picked(plain, np.repeat(np.arange(ROWS), counts))
        _near(held, repeated, weighted, f"of {task} rows weighing 0, 1 and 2")


@promise("what it is given is left as it was", kind="metric")
def no_mutation(held: Held) -> None:
    """Compare arrays before and after."""
    for task in tasks_of(held):
        given = weighed(made(task))
        before = copy.deepcopy(given)
        held.value.score(given)
        for name in ("y", "output", "weight"):
            kept = np.array_equal(getattr(given, name), getattr(before, name))
            demand(kept, f"{name} was written to")


@promise("where it is undefined it is NaN, and nothing is raised", kind="metric")
def undefined(held: Held) -> None:
    """Compute the score of one row, of equal rows, and with all weights 0."""
    for task in tasks_of(held):
        given = made(task)
        same = np.zeros(ROWS, np.int64)
        odd = {
            "one row": picked(given, np.array([0])),
            "equal rows": picked(given, same),
            "weights that are all 0": replace(given, weight=np.zeros(ROWS)),
        }
        for what, rows in odd.items():
            try:
                with np.errstate(all="ignore"):
                    found = held.value.score(rows)
            except Exception as error:
                told = f"of {what} of a {task} task it raises {type(error).__name__}: {error}"
                raise BrokenError(told) from error
            demand(isinstance(found, float), f"of {what} it gives {found!r}, not a float")


def weighed(given: Predicted) -> Predicted:
    """Return the predictions with unequal weights."""
    return replace(given, weight=1.0 + np.arange(len(given.y)) % 4)


def picked(given: Predicted, rows: np.ndarray) -> Predicted:
    """Return the rows with the given numbers."""
    weight = None if given.weight is None else given.weight[rows]
    return Predicted(given.y[rows], given.output[rows], weight, given.scale)


def _near(held: Held, one: Predicted, other: Predicted, what: str) -> None:
    wanted, found = (float(held.value.score(given)) for given in (one, other))
    near = math.isclose(wanted, found, rel_tol=CLOSE, abs_tol=CLOSE)
    demand(near or wanted == found, f"{what} it gives {found:.6g}, not {wanted:.6g}")
