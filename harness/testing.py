"""The checks of a plugin as pytest tests: for the tests of your own package.

A test file of two lines holds all that a plugin registers to the contract::

    from harness.testing import conformance

    test_conformance = conformance("my_package.plugin")

Each check is a test of its own, named by what is checked, its task and the promise; one that does
not apply is skipped with its reason. Of an algorithm that claims rungs the last tests hold each of
them against what it reaches. All run in the process of pytest; `harness plugin check` runs them in
one of its own, which may crash.

Where nothing shall be written at all, pytest collects the same tests by a setting, see
`harness.pytest_plugin`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.checks import cases
from harness.conformance.claims import CHECK, check_claim
from harness.conformance.findings import Check, Finding
from harness.conformance.held import Held
from harness.conformance.subject import Subject
from harness.plugins.registry import HOOKS, load_registry, own_modules

if TYPE_CHECKING:
    from harness.plugins.registry import Registry

__all__ = ["Case", "conformance", "every_case", "run_check"]

KINDS = tuple(kind for kind, _ in HOOKS.values())


@dataclass(frozen=True)
class Case:
    """One test: a promise, what is held to it, and the function that tries it."""

    name: str  # of the test
    promise: str
    try_it: Callable[[], list[Finding]]

    def run(self) -> None:
        """Run it as a test: skip where it does not apply, fail with its sentence."""
        _judge(self.try_it())


def conformance(
    plugin: str | Registry,
    *,
    leave_out: Collection[str] = (),
    only: Collection[str] = (),
    kinds: Collection[str] = KINDS,
) -> Callable[..., None]:
    """Return a pytest test that holds all that a plugin registers to the contract.

    Parameters
    ----------
    plugin
        A module name, the path of a plugin file, or a registry of what is to be checked.
    leave_out
        Promises to leave out, by name.
    only
        Promises to which the test is confined; none: all.
    kinds
        Of what is checked: ``algorithm``, ``dataset``, ``metric``, ``section``, ``executor``.
    """
    import pytest

    found = [
        pytest.param(case, id=case.name)
        for case in every_case(plugin, kinds)
        if case.promise not in leave_out and (not only or case.promise in only)
    ]

    @pytest.mark.parametrize("case", found)
    def test(case: Case) -> None:
        case.run()

    checked: Callable[..., None] = test
    return checked


def every_case(plugin: str | Registry, kinds: Collection[str] = KINDS) -> Iterator[Case]:
    """Yield the tests of all that a plugin registers, kind by kind; parameters as above."""
    registry = _load(plugin) if isinstance(plugin, str) else plugin
    for kind in (kind for kind in KINDS if kind in kinds):
        for name in registry.names(kind):
            for check, subject in cases(registry, name, kind):
                yield Case(_id(check, subject), check.name, _trial(check, subject))
            for mode in registry.algorithm(name).rungs if kind == "algorithm" else ():
                told = f"{name}-{mode}-{CHECK.replace(' ', '_')}"
                yield Case(told, CHECK, _claim(registry, name, mode))


def run_check(check: Check, subject: Subject | Held) -> None:
    """Run one check as a test: skip where it does not apply, fail with its sentence."""
    _judge([check.run(subject)])


def _trial(check: Check, subject: Subject | Held) -> Callable[[], list[Finding]]:
    return lambda: [check.run(subject)]


def _claim(registry: Registry, name: str, mode: str) -> Callable[[], list[Finding]]:
    """Return what grows the trees of an algorithm and of its reference, each in a worker."""

    def grow() -> list[Finding]:
        mine = registry.entry("algorithm", name).plugin
        files = [Path(mine)] if Path(mine).suffix == ".py" else []
        known = load_registry(files)
        if name not in known.names("algorithm"):  # a module that no distribution offers
            known = load_registry(modules=[*own_modules(), mine])
        return list(check_claim(known, name, mode, files))

    return grow


def _judge(found: list[Finding]) -> None:
    import pytest

    broken = [f"{one.task}: {one.message}" if one.task else one.message for one in found
              if one.state == "failed"]  # fmt: skip
    assert not broken, "; ".join(broken)
    if all(one.state == "skipped" for one in found):
        pytest.skip("; ".join(one.message for one in found))


def _load(plugin: str) -> Registry:
    if Path(plugin).suffix == ".py":
        return load_registry([plugin], modules=[])
    return load_registry(modules=[plugin])


def _id(check: Check, subject: Subject | Held) -> str:
    task = f"-{subject.task.value}" if isinstance(subject, Subject) and check.per_task else ""
    return f"{subject.name}{task}-{check.name.replace(' ', '_')}"
