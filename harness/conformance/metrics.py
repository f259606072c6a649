"""Checks of metrics: the score depends only on the rows and their weights."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from harness.conformance.findings import BrokenError, contract_check, require
from harness.conformance.registered_object import RegisteredObject
from harness.core.model import Predicted, Task

ROWS = 60
CLOSE = 1e-9  # tolerance for sums in another order
CLASSES = {Task.BINARY: 2, Task.MULTICLASS: 3}


def make_predictions(task: Task, noise: float = 0.5) -> Predicted:
    """Return 60 predictions, exact for zero noise and worse with more noise."""
    rng = np.random.default_rng(0)
    blur = noise * rng.normal(size=(ROWS, 3))
    if task is Task.REGRESSION:
        y = rng.normal(size=ROWS) + 3.0
        return Predicted(y, y + blur[:, 0], None, float(y.std()))
    if task is Task.RANKING:
        grades = np.arange(ROWS) * 7.0 % 5.0
        output = grades + 3.0 * blur[:, 0]
        return Predicted(grades, output, None, float(grades.std()), np.arange(ROWS) // 12)
    n_classes = CLASSES[task]
    codes = np.arange(ROWS, dtype=np.int64) % n_classes
    odds = np.exp(4.0 * np.eye(n_classes)[codes] + 4.0 * blur[:, :n_classes])
    share = odds / odds.sum(axis=1, keepdims=True)
    return Predicted(codes, np.eye(n_classes)[codes] if noise == 0 else share, None, 1.0)


def tasks_of(registered: RegisteredObject) -> list[Task]:
    """Return the tasks of a metric, in a fixed order."""
    return [task for task in Task if task in registered.value.tasks]


@contract_check("the declaration is complete", kind="metric")
def complete(registered: RegisteredObject) -> None:
    """Check that the metric has tasks and a summary."""
    metric = registered.value
    require(
        bool(tasks_of(registered)), f"tasks is {metric.tasks!r}: name at least one harness.Task"
    )
    require(bool(metric.summary), "summary is empty: `harness list metrics` shows it")


@contract_check("it returns a float, the same every time", kind="metric")
def number(registered: RegisteredObject) -> None:
    """Compute the score twice; it must be finite for ordinary rows."""
    for task in tasks_of(registered):
        one, again = (registered.value.score(make_predictions(task)) for _ in range(2))
        message = f"for a {task} task it returns {one!r}"
        require(isinstance(one, float), f"{message}, a {type(one).__name__}, not a float")
        require(math.isfinite(one), f"{message} for ordinary rows")
        require(one == again, f"{message} and then {again!r}")


@contract_check("better predictions score better, in the declared direction", kind="metric")
def direction(registered: RegisteredObject) -> None:
    """Compare exact predictions with noisy ones."""
    metric = registered.value
    for task in tasks_of(registered):
        right, wrong = (metric.score(make_predictions(task, noise)) for noise in (0.0, 1.5))
        better = right < wrong if metric.lower_is_better else right > wrong
        wording = "lower" if metric.lower_is_better else "higher"
        require(
            better,
            f"{wording} is better, but exact {task} predictions score {right:.6g} and noisy ones "
            f"{wrong:.6g}",
        )


@contract_check("the order of the rows does not matter", kind="metric")
def order(registered: RegisteredObject) -> None:
    """Compute the score of the same rows in another order."""
    for task in tasks_of(registered):
        given = with_weights(make_predictions(task))
        permuted = take_rows(given, np.random.default_rng(1).permutation(ROWS))
        _near(registered, given, permuted, f"for {task} rows in another order")


@contract_check(
    "weights count rows: 2 is the row twice, 0 is no row, equal ones change nothing", kind="metric"
)
def weights(registered: RegisteredObject) -> None:
    """Compare weighted rows with repeated rows."""
    for task in tasks_of(registered):
        plain = make_predictions(task)
        _near(
            registered,
            plain,
            replace(plain, weight=np.full(ROWS, 3.0)),
            f"for {task} rows of weight 3",
        )
        if plain.group is not None:
            continue  # a row twice is another ranking: only queries have weights
        counts = np.arange(ROWS) // 3 % 3
        weighted = replace(plain, weight=counts.astype(np.float64))
        repeated = take_rows(plain, np.repeat(np.arange(ROWS), counts))
        _near(registered, repeated, weighted, f"for {task} rows of weights 0, 1 and 2")


@contract_check("inputs are not modified", kind="metric")
def no_mutation(registered: RegisteredObject) -> None:
    """Compare arrays before and after."""
    for task in tasks_of(registered):
        given = with_weights(make_predictions(task))
        before = copy.deepcopy(given)
        registered.value.score(given)
        for name in ("y", "output", "weight"):
            kept = np.array_equal(getattr(given, name), getattr(before, name))
            require(kept, f"{name} was modified")


@contract_check("an undefined score is NaN, and nothing is raised", kind="metric")
def undefined(registered: RegisteredObject) -> None:
    """Compute the score of one row, of equal rows, and with all weights 0."""
    for task in tasks_of(registered):
        given = make_predictions(task)
        same = np.zeros(ROWS, np.int64)
        special_cases = {
            "one row": take_rows(given, np.array([0])),
            "equal rows": take_rows(given, same),
            "weights that are all 0": replace(given, weight=np.zeros(ROWS)),
        }
        for what, rows in special_cases.items():
            try:
                with np.errstate(all="ignore"):
                    score = registered.value.score(rows)
            except Exception as error:
                message = f"for {what} of a {task} task it raises {type(error).__name__}: {error}"
                raise BrokenError(message) from error
            require(isinstance(score, float), f"for {what} it returns {score!r}, not a float")


def with_weights(given: Predicted) -> Predicted:
    """Return the predictions with unequal weights."""
    return replace(given, weight=1.0 + np.arange(len(given.y)) % 4)


def take_rows(given: Predicted, rows: np.ndarray) -> Predicted:
    """Return the rows with the given numbers."""
    weight = None if given.weight is None else given.weight[rows]
    group = None if given.group is None else given.group[rows]
    return Predicted(given.y[rows], given.output[rows], weight, given.scale, group)


def _near(registered: RegisteredObject, one: Predicted, other: Predicted, what: str) -> None:
    expected, found = (float(registered.value.score(given)) for given in (one, other))
    near = math.isclose(expected, found, rel_tol=CLOSE, abs_tol=CLOSE)
    require(near or expected == found, f"{what} it returns {found:.6g}, not {expected:.6g}")
