"""Algorithms that differ between head and base, and the reason why each is compared or not.

Algorithms are ordered by the number of imports between their plugin and the nearest changed file.
If time is short, an edited algorithm is thus measured before those that only share a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.core import ids
from harness.core.libraries import installed_version
from harness.gate.base import Base
from harness.gate.revision import belongs, in_tree, lies_in
from harness.plugins.registry import Entry, Registry

FAR = 1_000_000  # imports; larger than any real distance
# Libraries that every trial uses, beside an algorithm's own.
EVERYWHERE = ("numpy", "pandas", "scikit-learn")


@dataclass(frozen=True)
class Changes:
    """The algorithms of a repository, by how a gate treats them."""

    chosen: Mapping[str, str]  # name → why it is compared, nearest to the change first
    skipped: Mapping[str, str] = field(default_factory=dict)  # name → why it is not compared
    lost: Mapping[str, str] = field(default_factory=dict)  # name → why the head cannot load it


def find_changes(
    registry: Registry,
    base: Base,
    repository: Path,
    tree: Path,
    globs: Sequence[str],
    *,
    everything: bool,
) -> Changes:
    """Return the algorithms of a repository that changed since the base.

    Parameters
    ----------
    registry
        Registered plugins of the head. Algorithms of installed packages are ignored.
    base
        The base with its registered algorithms.
    repository
        Folder that an algorithm must lie in to belong to the repository.
    tree
        Working tree of the base.
    globs
        Names of algorithms to consider; empty: all.
    everything
        Choose unchanged algorithms, too.
    """
    selected = set(registry.matching("algorithm", globs)) if globs else None
    chosen: dict[str, str] = {}
    skipped: dict[str, str] = {}
    lost: dict[str, str] = {}
    broken = {b.plugin: b.reason for b in registry.broken}
    entries = registry.entries["algorithm"]
    for name, entry in sorted(entries.items()):
        if not belongs(Path(entry.path), repository):
            continue
        if selected is not None and name not in selected:
            skipped[name] = "not selected"
        elif why := _missing(entry, base, tree):
            skipped[name] = why
        elif why := changed(entry, base):
            chosen[name] = why
        elif everything:
            chosen[name] = "unchanged"
        else:
            skipped[name] = "its code did not change"
    for name in sorted(set(base.algorithms) - set(entries)):
        known = base.algorithms[name]
        is_selected = not globs or any(fnmatchcase(name, glob) for glob in globs)
        if not is_selected or not lies_in(known["path"], tree):
            continue
        if (plugin := known["plugin"]) in broken:
            lost[name] = f"{plugin} does not load: {broken[plugin]}"
        else:
            skipped[name] = "the head does not have it"
    order = sorted(chosen, key=lambda name: (distance(entries[name].path, repository, tree), name))
    return Changes({name: chosen[name] for name in order}, skipped, lost)


def distance(plugin: str, repository: Path, tree: Path) -> int:
    """Return the number of imports between a plugin and the nearest changed file.

    It is 0 if the plugin itself changed, and `FAR` if none of its imports changed.
    """
    steps = ids.import_steps(plugin)
    return min((n for path, n in steps.items() if _edited(path, repository, tree)), default=FAR)


def _edited(path: Path, repository: Path, tree: Path) -> bool:
    """Return whether a file differs from the base's, or is missing there."""
    there = Path(in_tree(str(path), repository, tree))
    return not there.is_file() or there.read_bytes() != path.read_bytes()


def changed(entry: Entry, base: Base) -> str:
    """Describe a change of an algorithm's code, kernels or libraries; empty if none changed."""
    known: Mapping[str, Any] = base.algorithms[entry.value.name]
    if ids.code_digest(entry.path) != ids.code_digest(known["path"]):
        return "its code changed"
    if not base.own_libraries:
        return ""
    libraries = sorted({*entry.value.libraries, *EVERYWHERE})
    moved = [
        f"{library} {base.versions.get(library, 'absent')} → {installed_version(library)}"
        for library in libraries
        if base.versions.get(library, "absent") != installed_version(library)
    ]
    return ", ".join(moved)


def _missing(entry: Entry, base: Base, tree: Path) -> str:
    """Return the reason why an algorithm is missing in the base; empty if it is not.

    If its file is missing in the base's tree, the base may import the head's installed copy: that
    counts as missing.
    """
    known = base.algorithms.get(entry.value.name)
    if known is None:
        reason = base.broken.get(entry.plugin)
        return f"broken in the base: {reason}" if reason else "new: the base does not have it"
    in_base = lies_in(known["path"], tree)
    return "" if in_base else "new or moved: the base's source does not have it where the head does"
