"""Every check, in the order in which an author would mend things."""

from __future__ import annotations

from collections.abc import Iterator

from harness.conformance import declaration, edges, kinds, predictions
from harness.conformance.findings import CHECKS, Check
from harness.conformance.subject import Subject
from harness.model import Task
from harness.plugins import Registry

MODULES = [module.__name__ for module in (declaration, predictions, kinds, edges)]


def cases(registry: Registry, name: str) -> Iterator[tuple[Check, Subject]]:
    """Yield each check with the subject it is about; checks of the declaration come once."""
    algorithm = registry.algorithm(name)
    plugin = registry.entry("algorithm", name).plugin
    subjects = [Subject(algorithm, task, plugin) for task in Task if task in algorithm.tasks]
    for check in sorted(CHECKS, key=lambda c: MODULES.index(c.function.__module__)):
        for subject in subjects if check.per_task else subjects[:1]:
            yield check, subject
