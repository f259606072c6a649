"""The checks of a plugin as pytest tests: for the tests of your own package.

A test file of two lines holds every algorithm of a plugin to the contract::

    from harness.testing import conformance

    test_conformance = conformance("my_package.plugin")

Each check is a test of its own, named by algorithm, task and promise; one that does not apply is
skipped with its reason. They run in the process of pytest; `harness plugin check` runs them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.conformance.checks import cases
from harness.conformance.findings import Check
from harness.conformance.subject import Subject
from harness.plugins import load_registry

if TYPE_CHECKING:
    from harness.plugins import Registry

__all__ = ["conformance", "run_check"]


def conformance(
    plugin: str | Registry, *, leave_out: frozenset[str] = frozenset()
) -> Callable[..., None]:
    """Return a pytest test that holds each algorithm of a plugin to the contract.

    Parameters
    ----------
    plugin
        A module name, the path of a plugin file, or a registry of what is to be checked.
    leave_out
        Promises to leave out, by name.
    """
    import pytest

    registry = _load(plugin) if isinstance(plugin, str) else plugin
    found = [
        pytest.param(check, subject, id=_id(check, subject))
        for check, subject in _every(registry)
        if check.name not in leave_out
    ]

    @pytest.mark.parametrize(("check", "subject"), found)
    def test(check: Check, subject: Subject) -> None:
        run_check(check, subject)

    checked: Callable[..., None] = test
    return checked


def run_check(check: Check, subject: Subject) -> None:
    """Run one check as a test: skip where it does not apply, fail with its sentence."""
    import pytest

    found = check.run(subject)
    if found.state == "skipped":
        pytest.skip(found.message)
    assert found.state != "failed", found.message


def _load(plugin: str) -> Registry:
    if Path(plugin).suffix == ".py":
        return load_registry([plugin], modules=[])
    return load_registry(modules=[plugin])


def _every(registry: Registry) -> list[tuple[Check, Subject]]:
    return [case for name in registry.names("algorithm") for case in cases(registry, name)]


def _id(check: Check, subject: Subject) -> str:
    task: Any = f"-{subject.task.value}" if check.per_task else ""
    return f"{subject.algorithm.name}{task}-{check.name.replace(' ', '_')}"
