"""Checks of a plugin when it loads: its declarations, and the version of the API it declares."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from harness import __plugin_api__, __version__
from harness.core import ids
from harness.core.errors import ConfigError, OtherPluginAPIError
from harness.core.model import Algorithm, Dataset, Executor, Metric, ReportWriter, Section, Task

NAME = "__plugin_api__"
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


def check_version(declared: Any, path: str) -> None:
    """Raise OtherPluginAPIError if a plugin declares another version of the plugin API."""
    if declared == __plugin_api__:
        return
    if type(declared) is not int:
        fault, remedy = f"sets {NAME} to {declared!r}", f"set it to {__plugin_api__}"
    elif declared > __plugin_api__:
        fault = f"was written for plugin API {declared}"
        remedy = "install a newer tree-harness, or an older release of the plugin"
    else:
        fault = f"was written for plugin API {declared}"
        remedy = (
            "install a newer release of the plugin, or change it as the changelog of tree-harness "
            f"describes and set {NAME} = {__plugin_api__}"
        )
    has = f"tree-harness {__version__} has plugin API {__plugin_api__}"
    raise OtherPluginAPIError(f"{path} {fault}, but {has}: {remedy}")


def check_source(path: Path) -> None:
    """Check the version that a source file declares, before its import fails for that reason."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return  # the import reports it
    declared = [
        node.value.value
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and NAME in map(ast.unparse, node.targets)
    ]
    for version in declared[-1:]:
        check_version(version, str(path))
