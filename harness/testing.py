"""Conformance checks of a plugin as pytest tests, for the tests of a plugin package.

A test file of two lines checks everything that a plugin registers::

    from harness.testing import conformance

    test_conformance = conformance("my_package.plugin")

Each check is one test, named after the checked object, its task and the rule. A check that does not
apply is skipped with a reason. If an algorithm claims parity levels, one test for each level
compares it with the reached level. All tests run in the process of pytest; `harness plugin check`
runs the checks in a separate process, which may crash.

A pytest setting collects the same tests without a test file; see `harness.pytest_plugin`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.advice import sentences
from harness.conformance.checks import cases
from harness.conformance.claims import CHECK, check_claim
from harness.conformance.findings import Check, Finding
from harness.conformance.registered_object import RegisteredObject
from harness.conformance.subject import Subject
from harness.plugins.registry import HOOKS, load_registry, own_modules

if TYPE_CHECKING:
    from harness.plugins.registry import Registry

__all__ = ["Case", "conformance", "every_case", "run_check"]

KINDS = tuple(kind for kind, _ in HOOKS.values())


@dataclass(frozen=True)
class Case:
    """One test: its name, the checked rule and the function that runs the check."""

    name: str  # name of the test
    promise: str  # the checked rule, as a sentence
    try_it: Callable[[], list[Finding]]

    def run(self) -> None:
        """Run the check as a test; skip the test if the check does not apply."""
        _judge(self.try_it())


def conformance(
    plugin: str | Registry,
    *,
    leave_out: Collection[str] = (),
    only: Collection[str] = (),
    kinds: Collection[str] = KINDS,
) -> Callable[..., None]:
    """Return a pytest test that checks everything a plugin registers.

    Parameters
    ----------
    plugin
        Module name, path of a plugin file, or registry with the objects to check.
    leave_out
        Names of rules that are not checked.
    only
        Names of the only rules that are checked; empty for all.
    kinds
        Kinds of the checked objects: ``algorithm``, ``dataset``, ``metric``, ``section``,
        ``executor``.
    """
    import pytest

    params = [
        pytest.param(case, id=case.name)
        for case in every_case(plugin, kinds)
        if case.promise not in leave_out and (not only or case.promise in only)
    ]

    @pytest.mark.parametrize("case", params)
    def test(case: Case) -> None:
        case.run()

    checked: Callable[..., None] = test
    return checked


def every_case(plugin: str | Registry, kinds: Collection[str] = KINDS) -> Iterator[Case]:
    """Yield the tests of everything a plugin registers, one kind after the other."""
    registry = _load(plugin) if isinstance(plugin, str) else plugin
    for kind in (kind for kind in KINDS if kind in kinds):
        for name in registry.names(kind):
            for check, subject in cases(registry, name, kind):
                yield Case(_id(check, subject), check.name, _trial(check, subject))
            for mode in registry.algorithm(name).parity_levels if kind == "algorithm" else ():
                test_name = f"{name}-{mode}-{CHECK.replace(' ', '_')}"
                yield Case(test_name, CHECK, _claim(registry, name, mode))


def run_check(check: Check, subject: Subject | RegisteredObject) -> None:
    """Run one check as a test; skip the test if the check does not apply."""
    _judge([check.run(subject)])


def _trial(check: Check, subject: Subject | RegisteredObject) -> Callable[[], list[Finding]]:
    return lambda: [check.run(subject)]


def _claim(registry: Registry, name: str, mode: str) -> Callable[[], list[Finding]]:
    """Return a function that checks a claimed parity level; it trains in workers."""

    def check() -> list[Finding]:
        plugin = registry.entry("algorithm", name).plugin
        files = [Path(plugin)] if Path(plugin).suffix == ".py" else []
        known = load_registry(files)
        if name not in known.names("algorithm"):  # a module without an entry point
            known = load_registry(modules=[*own_modules(), plugin])
        return list(check_claim(known, name, mode, files))

    return check


def _judge(found: list[Finding]) -> None:
    import pytest

    failures = [sentences([one]) for one in found if one.state == "failed"]
    assert not failures, " ".join(failures)
    if all(one.state == "skipped" for one in found):
        pytest.skip("; ".join(one.message for one in found))


def _load(plugin: str) -> Registry:
    if Path(plugin).suffix == ".py":
        return load_registry([plugin], modules=[])
    return load_registry(modules=[plugin])


def _id(check: Check, subject: Subject | RegisteredObject) -> str:
    task = f"-{subject.task.value}" if isinstance(subject, Subject) and check.per_task else ""
    return f"{subject.name}{task}-{check.name.replace(' ', '_')}"
