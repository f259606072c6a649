"""Ids of a trial: cell id and trial id.

The *cell id* (algorithm, params, preparation, dataset, split, seed, threads) is stable across
runs, commits and machines. The *trial id* is the cell plus everything that may change its outcome:
code digest, library versions, the dataset's digest, the measurement version and, for timed trials,
the machine. Both are the first 16 hex digits of a SHA-256 over canonical JSON.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError
from harness.core.model import Split, to_json

MEASUREMENT_VERSION = 1  # increase when trials are carried out or measured differently


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; raise ConfigError for NaN and infinity."""
    try:
        return json.dumps(to_json(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"params must be finite JSON values: {error}") from error


def digest(value: Any) -> str:
    """Return the digest of a JSON value: 16 hex digits."""
    return _short(canonical(value))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cell_id(
    algorithm: str,
    params: Mapping[str, Any],
    preparation: str,
    dataset: str,
    split: Split,
    seed: int,
    threads: int,
) -> str:
    """Return the cell id, which is stable across runs, commits and machines."""
    return cell_of(digest([algorithm, params, preparation, dataset]), split.label, seed, threads)


def cell_of(what: str, split: str, seed: int, threads: int) -> str:
    """Return a cell id from the digest of [algorithm, params, preparation, dataset].

    Planning computes this digest once for many splits, and a split's label once for many cells.
    """
    return _short(f"{what} {split} {seed} {threads}")


def trial_id(cell: str, rest: str, *, timed: bool) -> str:
    """Return the trial id for a cell and the digest of the other ingredients."""
    return _short(f"{cell} {rest} {timed}")


@cache
def code_digest(source: str) -> str:
    """Return the digest of a plugin's source and of the modules it imports from its own package.

    Parameters
    ----------
    source
        Path of a plugin file. The digest covers the files of :func:`source_files`, so editing a
        kernel makes exactly those algorithms stale that use it.
    """
    joined = hashlib.sha256()
    root = _package_root(Path(source).resolve())
    # The folder name of a single file (outside a package) is not part of its code.
    base = root.parent if (root / "__init__.py").is_file() else root
    for path in sorted(source_files(source)):
        joined.update(str(path.relative_to(base)).encode() + b"\0" + path.read_bytes())
    return joined.hexdigest()[:16]


@cache
def source_files(source: str) -> frozenset[Path]:
    """Return a plugin's file and all modules of its top-level package that it imports.

    Imports are followed recursively within that package.
    """
    return frozenset(import_steps(source))


def clear_caches() -> None:
    """Clear the caches, so that a long-running process reads changed files again."""
    for known in (code_digest, source_files, _imports_of):
        known.cache_clear()


def import_steps(source: str) -> dict[Path, int]:
    """Return the files of :func:`source_files`, each with its import distance from the plugin."""
    steps: dict[Path, int] = {}
    todo = deque([(Path(source).resolve(), 0)])
    while todo:
        path, step = todo.popleft()
        if path in steps or not path.is_file():
            continue
        steps[path] = step
        todo += [(imported, step + 1) for imported in _imports_of(path)]
    return steps


def _package_root(path: Path) -> Path:
    """Return the top-level package folder of a file, or the file's folder if not in a package."""
    folder = path.parent
    if not (folder / "__init__.py").is_file():
        return folder
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@cache
def _imports_of(path: Path) -> list[Path]:
    """Return the files of the same top-level package that a file imports, from its AST."""
    root = _package_root(path)
    if not (root / "__init__.py").is_file():
        return []
    package = ".".join(path.parent.relative_to(root.parent).parts)
    files: list[Path] = []
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(name, package) if node.level else name
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        files += [file for name in names if (file := _file_of(name, root)) is not None]
    return files


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement; skip expressions, which are ten times as many."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for part in getattr(node, name, ()):
            if isinstance(part, ast.stmt):
                yield part
            yield from _statements(part)


def _file_of(module: str, root: Path) -> Path | None:
    parts = module.split(".")
    if parts[0] != root.name:
        return None
    base = root.parent.joinpath(*parts)
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
