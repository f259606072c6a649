"""Checks of plugin declarations, so that a mistake is reported when the plugin loads."""

from __future__ import annotations

from typing import Any

from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.model import Algorithm, Dataset, Executor, Metric, ReportWriter, Section, Task

CALLED = {
    Algorithm: ("adapter", "adapter(spec) returns an Adapter"),
    Dataset: ("load", "load(**options) returns a Table"),
    Metric: ("score", "score(predicted) returns a number"),
    Section: ("build", "build(page) returns a Fragment or None"),
    ReportWriter: ("write", "write(...) returns or writes one form of a report"),
    Executor: ("run", "run(jobs, supervise, options) yields outcomes"),
}


def fault_of(value: Any) -> str:
    """Return a message on what is wrong with a registered declaration, or ""."""
    field, use = CALLED[type(value)]
    if not callable(getattr(value, field)):
        return f"{field} cannot be called: {use}"
    if isinstance(value, Dataset) and not isinstance(value.task, Task):
        return f"task is {value.task!r}; it must be a harness.Task, such as Task.BINARY"
    if isinstance(value, Dataset) and value.task is Task.RANKING and not value.grouped:
        return "grouped is False; the groups of a ranking are its queries"
    return _fault_of_algorithm(value) if isinstance(value, Algorithm) else ""


def _fault_of_algorithm(algorithm: Algorithm) -> str:
    tasks = algorithm.tasks
    given = isinstance(tasks, (frozenset, set)) and all(isinstance(t, Task) for t in tasks)
    if not given or not tasks:
        return f"tasks is {tasks!r}; it must be a frozenset of harness.Task, and not empty"
    try:
        ids.canonical(algorithm.params)
    except ConfigError as error:
        return str(error)
    return ""
