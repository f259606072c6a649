"""List of all checks, in the order in which a plugin's author should fix problems."""

from __future__ import annotations

from collections.abc import Iterator

from harness.conformance import (
    datasets,
    declaration,
    edges,
    executors,
    inputs,
    kinds,
    metrics,
    predictions,
    sections,
)
from harness.conformance.findings import CHECKS, Check
from harness.conformance.registered_object import RegisteredObject
from harness.conformance.subject import Subject
from harness.core.errors import ConfigError, unknown
from harness.core.model import Task
from harness.plugins.estimators import is_estimator_path
from harness.plugins.registry import Registry

OF_ALGORITHMS = (declaration, predictions, inputs, kinds, edges)
OF_OTHERS = (datasets, metrics, sections, executors)
MODULES = [module.__name__ for module in (*OF_ALGORITHMS, *OF_OTHERS)]


def cases(
    registry: Registry, name: str, kind: str = "algorithm"
) -> Iterator[tuple[Check, Subject | RegisteredObject]]:
    """Yield each check with its subject; checks of the declaration are yielded once.

    Parameters
    ----------
    name, kind
        Name and kind of the checked object: algorithm, dataset, metric, section or executor.
    """
    entry = registry.entry(kind, name)
    checks = sorted(
        (check for check in CHECKS if check.kind == kind),
        key=lambda check: MODULES.index(check.function.__module__),
    )
    if kind != "algorithm":
        registered = RegisteredObject(kind, entry.value, entry.plugin)
        yield from ((check, registered) for check in checks)
        return
    algorithm = entry.value
    subjects = [Subject(algorithm, task, entry.plugin) for task in Task if task in algorithm.tasks]
    for check in checks:
        for subject in subjects if check.per_task else subjects[:1]:
            yield check, subject


def kinds_of(registry: Registry, name: str) -> list[str]:
    """Return the kinds of registered objects with a name; raise ConfigError if there are none."""
    matching = [kind for kind, entries in registry.entries.items() if name in entries]
    if not matching and is_estimator_path(name):
        registry.entry("algorithm", name)
        return ["algorithm"]
    if not matching:
        known = [name for entries in registry.entries.values() for name in entries]
        broken = "".join(f"; {one.plugin} does not load: {one.reason}" for one in registry.broken)
        raise ConfigError(unknown("plugin", name, sorted(known)) + broken)
    return matching
