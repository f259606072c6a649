"""Hook specifications of plugins. A plugin is a module with one or more of these functions.

Mark each with ``@hookimpl`` (``from harness import hookimpl``) and call ``register`` once for
each object that the plugin provides. Built-in algorithms, datasets and metrics use the same hooks.
"""

from __future__ import annotations

from collections.abc import Callable

import pluggy

from harness.core.model import Algorithm, Dataset, Executor, Metric, Outcome, ReportWriter, Section

hookspec = pluggy.HookspecMarker("harness")
hookimpl = pluggy.HookimplMarker("harness")


@hookspec
def register_algorithms(register: Callable[[Algorithm], None]) -> None:
    """Call ``register(Algorithm(...))`` for each algorithm this module offers."""


@hookspec
def register_datasets(register: Callable[[Dataset], None]) -> None:
    """Call ``register(Dataset(...))`` for each dataset this module offers."""


@hookspec
def register_metrics(register: Callable[[Metric], None]) -> None:
    """Call ``register(Metric(...))`` for each metric this module offers."""


@hookspec
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Call ``register(Section(...))`` for each report section this module offers."""


@hookspec
def register_report_writers(register: Callable[[ReportWriter], None]) -> None:
    """Call ``register(ReportWriter(...))`` for each output format this module provides."""


@hookspec
def register_executors(register: Callable[[Executor], None]) -> None:
    """Call ``register(Executor(...))`` for each executor this module offers."""


@hookspec
def trial_finished(outcome: Outcome) -> None:
    """Handle the outcome of a trial, after it was stored."""
