"""Claims that the base declares and the head has dropped: what nobody claims nobody measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.analysis.gates import Decision
from harness.analysis.parity_level import MEANING, reaches
from harness.config.experiment import Gate
from harness.gate.base import Base
from harness.gate.decision import decided
from harness.gate.revision import lies_in
from harness.plugins.registry import Registry


def lost_claims(
    registry: Registry, base: Base, tree: Path, globs: Sequence[str]
) -> Iterator[Decision]:
    """Yield a failure for each rung that an algorithm of the base claims and the head does not.

    Parameters
    ----------
    registry
        What the head registers. An algorithm that it cannot load is lost with all its claims, and
        is told of as such.
    base
        What the base registers.
    tree
        Where the base is checked out; what lies elsewhere belongs to both sides.
    globs
        Names that are looked at; none: all.
    """
    broken = {one.plugin for one in registry.broken}
    for name, known in sorted(base.algorithms.items()):
        asked = not globs or any(fnmatchcase(name, glob) for glob in globs)
        if not asked or not lies_in(known["path"], tree) or known["plugin"] in broken:
            continue
        for mode, rung in known["rungs"].items():
            if why := _dropped(registry, name, known, mode, rung):
                told = f"lost claim: in {mode} mode the base claims {rung} ({MEANING[rung]}); {why}"
                library = str(known["reference"])
                gate = Gate(kind="rung", algorithm=name, reference=library, limit=rung)
                yield decided(gate, "fail", told)


def _dropped(registry: Registry, name: str, known: Mapping[str, Any], mode: str, rung: str) -> str:
    """Return what the head says in the place of a claim, or nothing where it stands."""
    if name not in registry.entries["algorithm"]:
        return "the head does not have the algorithm"
    head = registry.algorithm(name)
    if head.reference != known["reference"]:
        return f"in the head it answers to {head.reference or 'no library'}"
    if mode not in head.rungs:
        return "the head claims nothing there"
    claimed = head.rungs[mode]
    return "" if reaches(claimed, rung) else f"the head claims only {claimed} ({MEANING[claimed]})"
