"""What differs between head and base: which algorithms are worth a duel, and why the others not.

Those stand first whose plugin the change is closest to, counted in imports: where time is short, an
edited algorithm is decided before all that share a kernel with it.
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

FAR = 1_000_000  # imports
# Beside an algorithm's own libraries: every trial goes through these.
EVERYWHERE = ("numpy", "pandas", "scikit-learn")


@dataclass(frozen=True)
class Changes:
    """The algorithms of a repository, by what becomes of them in a gate."""

    chosen: Mapping[str, str]  # name → why it is duelled, the closest to the change first
    skipped: Mapping[str, str] = field(default_factory=dict)  # name → why not
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
    """Return which algorithms of a repository changed since the base.

    Parameters
    ----------
    registry
        What the head registers; algorithms of installed packages are nobody's change.
    base
        What the base registers.
    repository
        The folder that algorithms must lie in to be the repository's.
    tree
        Where the base of it is checked out.
    globs
        Names that are looked at; none: all.
    everything
        Choose what did not change, too.
    """
    wanted = set(registry.matching("algorithm", globs)) if globs else None
    chosen: dict[str, str] = {}
    skipped: dict[str, str] = {}
    lost: dict[str, str] = {}
    broken = {b.plugin: b.reason for b in registry.broken}
    entries = registry.entries["algorithm"]
    for name, entry in sorted(entries.items()):
        if not belongs(Path(entry.path), repository):
            continue
        if wanted is not None and name not in wanted:
            skipped[name] = "not asked for"
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
        asked = not globs or any(fnmatchcase(name, glob) for glob in globs)
        if not asked or not lies_in(known["path"], tree):
            continue
        if (plugin := known["plugin"]) in broken:
            lost[name] = f"{plugin} does not load: {broken[plugin]}"
        else:
            skipped[name] = "the head does not have it"
    order = sorted(chosen, key=lambda name: (distance(entries[name].path, repository, tree), name))
    return Changes({name: chosen[name] for name in order}, skipped, lost)


def distance(plugin: str, repository: Path, tree: Path) -> int:
    """Return how many imports lie between a plugin and the nearest file that changed.

    0 where the plugin itself did; `FAR` where nothing did that it imports.
    """
    steps = ids.import_steps(plugin)
    return min((n for path, n in steps.items() if _edited(path, repository, tree)), default=FAR)


def _edited(path: Path, repository: Path, tree: Path) -> bool:
    """Return whether a file differs from that of the base, which may not have it."""
    there = Path(in_tree(str(path), repository, tree))
    return not there.is_file() or there.read_bytes() != path.read_bytes()


def changed(entry: Entry, base: Base) -> str:
    """Return what changed of an algorithm, or nothing: its code with its kernels, its libraries."""
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
    """Return why the base does not have an algorithm; nothing where it does.

    What the head has installed is found from the base as well, where its own tree lacks the file.
    """
    known = base.algorithms.get(entry.value.name)
    if known is None:
        reason = base.broken.get(entry.plugin)
        return f"broken in the base: {reason}" if reason else "new: the base does not have it"
    mine = lies_in(known["path"], tree)
    return "" if mine else "new or moved: the base's source does not have it where the head does"
