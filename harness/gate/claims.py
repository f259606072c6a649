"""Parity levels that the base declares and the head no longer declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.analysis.gates import Decision
from harness.config.experiment import Gate
from harness.core.parity_level import MEANING, reaches
from harness.gate.base import Base
from harness.gate.decision import make_decision
from harness.gate.revision import lies_in
from harness.plugins.registry import Registry


def lost_claims(
    registry: Registry, base: Base, tree: Path, globs: Sequence[str]
) -> Iterator[Decision]:
    """Yield a failure for each parity level that the base declares and the head does not.

    Without it, a dropped claim would go unchecked.

    Parameters
    ----------
    registry
        Registered plugins of the head. An algorithm that the head cannot load is reported as lost
        elsewhere, and not again here.
    base
        The base with its registered algorithms.
    tree
        Working tree of the base; plugins outside of it belong to both sides.
    globs
        Names of algorithms to consider; empty: all.
    """
    broken = {one.plugin for one in registry.broken}
    for name, known in sorted(base.algorithms.items()):
        is_selected = not globs or any(fnmatchcase(name, glob) for glob in globs)
        if not is_selected or not lies_in(known["path"], tree) or known["plugin"] in broken:
            continue
        for mode, level in known["parity_levels"].items():
            if why := _dropped(registry, name, known, mode):
                claim = f"in {mode} mode the base claims {level} ({MEANING[level]})"
                library = str(known["reference"])
                gate = Gate(kind="parity_level", algorithm=name, reference=library, limit=level)
                yield make_decision(gate, "fail", f"lost claim: {claim}; {why}")


def _dropped(registry: Registry, name: str, known: Mapping[str, Any], mode: str) -> str:
    """Describe the head's declaration that replaces a claim; empty if the claim still holds."""
    if name not in registry.entries["algorithm"]:
        return "the head does not have the algorithm"
    head = registry.algorithm(name)
    if head.reference != known["reference"]:
        return f"in the head its reference is {head.reference or 'no library'}"
    if mode not in head.parity_levels:
        return "the head claims nothing there"
    claimed = head.parity_levels[mode]
    if reaches(claimed, known["parity_levels"][mode]):
        return ""
    return f"the head claims only {claimed} ({MEANING[claimed]})"
