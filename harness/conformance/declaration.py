"""Checks of an algorithm's declaration."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from harness.conformance.findings import BrokenError, NotApplicableError, contract_check, require
from harness.conformance.subject import Subject, make_table
from harness.core.ids import canonical
from harness.plugins.registry import ESTIMATORS, HOOKS, load_registry

KINDS = [kind for kind, _ in HOOKS.values()]
SMALL_VALUES = {
    "trees": 2,
    "rate": 0.5,
    "depth": 2,
    "leaves": 3,
    "bins": 16,
    "min_samples": 2,
    "min_hessian": 1,
    "l2": 1,
}  # a small value of each common parameter


@contract_check("the declaration is complete", per_task=False)
def complete(subject: Subject) -> None:
    """Check that params are JSON, a summary is there and libraries are installed."""
    algorithm = subject.algorithm
    canonical(algorithm.params)  # raises if params are not JSON
    require(bool(algorithm.tasks), "tasks is empty")
    require(bool(algorithm.summary), "summary is empty: `harness list algorithms` shows it")
    for library in algorithm.libraries:
        try:
            version(library)
        except PackageNotFoundError:
            raise BrokenError(f"libraries names {library}, which is not installed") from None
    for word, argument in algorithm.capacity.items():
        named = bool(argument.name) or argument.match == "impossible"
        require(named, f"capacity {word!r} names no parameter and is not marked impossible")
        noted = bool(argument.note) or argument.match == "exact"
        require(noted, f"capacity {word!r} is {argument.match}, but has no note that explains it")


def alone(subject: Any) -> None:
    """Load only this plugin, as a worker does."""
    if not subject.plugin:
        raise NotApplicableError("it was registered without a plugin module")
    if Path(subject.plugin).suffix == ".py":
        registry = load_registry([subject.plugin], modules=[])
    else:
        registry = load_registry(modules=[subject.plugin])
    if subject.plugin == ESTIMATORS:
        registry.algorithm(subject.name)  # named by its import path, so nothing registers it
        return
    names = registry.names(subject.kind)
    require(subject.name in names, f"{subject.plugin} loaded alone registers only {names}")


for _kind in KINDS:
    contract_check("the plugin registers it if loaded alone", kind=_kind, per_task=False)(alone)


@contract_check("each common parameter can be set", per_task=False)
def capacity(subject: Subject) -> None:
    """Train with a small value of each common parameter."""
    data = make_table(subject.task)
    any_set = False
    for word, argument in subject.algorithm.capacity.items():
        if argument.match == "impossible" or word not in SMALL_VALUES:
            continue
        any_set = True
        value = argument.convert(SMALL_VALUES[word]) if argument.convert else SMALL_VALUES[word]
        params = {**subject.few_trees, argument.name: value}
        subject.check_output(subject.fit(data, params=params).output)
    if not any_set:
        raise NotApplicableError("it declares no common parameters")
