"""The two ids of a trial.

The *cell id* (algorithm, params, preparation, dataset, split, seed, threads) is stable: it joins
runs, commits and machines. The *trial id* is the cell plus all that may change its outcome: code
digest, library versions, the dataset's digest, the measurement version and, where it is timed,
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

MEASUREMENT_VERSION = 1  # raise when the way a trial is carried out or measured changes


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; NaN and infinity are refused."""
    try:
        return json.dumps(to_json(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"params must be finite JSON values: {error}") from error


def digest(value: Any) -> str:
    """Return 16 hex digits that name a JSON value."""
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
    """Return the stable id that joins runs, commits and machines."""
    return cell_of(digest([algorithm, params, preparation, dataset]), split.label, seed, threads)


def cell_of(what: str, split: str, seed: int, threads: int) -> str:
    """Return a cell id from the digest of [algorithm, params, preparation, dataset].

    Planning makes that digest once for many splits, and a split's label once for many of those.
    """
    return _short(f"{what} {split} {seed} {threads}")


def trial_id(cell: str, rest: str, *, timed: bool) -> str:
    """Return a trial id from its cell and the digest of its other ingredients."""
    return _short(f"{cell} {rest} {timed}")


@cache
def code_digest(source: str) -> str:
    """Return the digest of a plugin's source and of what it imports from its own package.

    Parameters
    ----------
    source
        A plugin file's path; its files are those of :func:`source_files`, so an edited kernel
        makes exactly the algorithms that use it stale.
    """
    joined = hashlib.sha256()
    root = _package_root(Path(source).resolve())
    # The name of the folder that a lone file lies in is no part of its code.
    base = root.parent if (root / "__init__.py").is_file() else root
    for path in sorted(source_files(source)):
        joined.update(str(path.relative_to(base)).encode() + b"\0" + path.read_bytes())
    return joined.hexdigest()[:16]


@cache
def source_files(source: str) -> frozenset[Path]:
    """Return a plugin's file and, of the package that it lies in, every module that it imports.

    Imports are followed through others, within the same top-level package.
    """
    return frozenset(import_steps(source))


def forget() -> None:
    """Have files read again: a process that lives for days outlives what it has read."""
    for known in (code_digest, source_files, _imports_of):
        known.cache_clear()


def import_steps(source: str) -> dict[Path, int]:
    """Return the same files, each with the fewest imports that lead to it from the plugin."""
    steps: dict[Path, int] = {}
    todo = deque([(Path(source).resolve(), 0)])
    while todo:
        path, step = todo.popleft()
        if path in steps or not path.is_file():
            continue
        steps[path] = step
        todo += [(found, step + 1) for found in _imports_of(path)]
    return steps


def _package_root(path: Path) -> Path:
    """Return the top-level package folder that holds a file, or its folder where there is none."""
    folder = path.parent
    if not (folder / "__init__.py").is_file():
        return folder
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@cache
def _imports_of(path: Path) -> list[Path]:
    """Return the files in the same top-level package that a file imports, by its syntax."""
    root = _package_root(path)
    if not (root / "__init__.py").is_file():
        return []
    package = ".".join(path.parent.relative_to(root.parent).parts)
    found: list[Path] = []
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(name, package) if node.level else name
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [file for name in names if (file := _file_of(name, root)) is not None]
    return found


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement, but no expression: a file has ten times as many of those."""
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
