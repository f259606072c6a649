"""The base as an environment: which interpreter runs its source tree, and what it offers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import __version__
from harness.data.places import cache_folder
from harness.errors import HarnessError
from harness.model import Environment
from harness.processes import ending
from harness.worker.environment import worker_environment

HARNESS_ROOT = Path(__file__).resolve().parents[2]
LOCK = "requirements.lock"
PROBE_SECONDS = 120
SETUP_SECONDS = 1800
MARK = "harness-base: "
# Runs in the base's tree, whatever it is: it asks for what every revision has.
PROBE = f"""
import json, sys
from importlib.metadata import distributions
from harness.plugins import load_registry
registry = load_registry(sys.argv[1:])
found = {{
    name: {{
        "plugin": entry.plugin,
        "path": str(entry.path),
        "params": dict(entry.value.params),
        "rungs": dict(entry.value.rungs),
        "reference": entry.value.reference,
    }}
    for name, entry in registry.entries["algorithm"].items()
}}
broken = {{b.plugin: b.reason for b in registry.broken}}
versions = {{d.metadata["Name"]: d.version for d in distributions()}}
print({MARK!r} + json.dumps({{"algorithms": found, "broken": broken, "versions": versions}}))
"""


class BaseError(HarnessError):
    """The base cannot be run at all; the gate is undecided, for that is no fault of the head."""

    exit_code = 6


@dataclass(frozen=True)
class Base:
    """A revision that can be run."""

    environment: Environment
    algorithms: Mapping[str, Mapping[str, Any]]  # name → plugin, path, params, rungs, reference
    broken: Mapping[str, str]  # plugins that do not load there, with the reason
    versions: Mapping[str, str]  # of its libraries
    own_libraries: bool  # whether it has an interpreter of its own


def make_base(
    tree: Path,
    head: Path,
    roots: Sequence[Path],
    plugin_files: Sequence[str],
    name: str,
    told: Callable[[str], None],
) -> Base:
    """Return the base in a checked-out tree.

    Parameters
    ----------
    tree, head
        The base's working tree, and that of the head.
    roots
        Folders of the base that go first on the path.
    plugin_files
        Plugin files, as the base has them.
    name
        Of the environment.
    told
        Receives a line where something takes long.

    Raises
    ------
    BaseError
        Where its environment cannot be made, or the harness does not start in it.
    """
    python = "" if same_libraries(tree, head) else _own_python(tree, told)
    root = os.pathsep.join(str(path) for path in roots)
    environment = Environment(name=name, python=python, root=root)
    found = probe(environment, plugin_files)
    return Base(environment, found["algorithms"], found["broken"], found["versions"], bool(python))


def probe(environment: Environment, plugin_files: Sequence[str]) -> Mapping[str, Any]:
    """Start the harness in an environment and return what is registered there."""
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of ours
            [environment.python or sys.executable, "-c", PROBE, *plugin_files],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
            env=worker_environment(os.environ, environment, 1),
        )
    except subprocess.TimeoutExpired:
        raise BaseError(f"the base does not start within {PROBE_SECONDS} s") from None
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            found: Mapping[str, Any] = json.loads(line.removeprefix(MARK))
            return found
    last = done.stderr.strip().splitlines()
    raise BaseError(f"the base does not start: {last[-1] if last else ending(done.returncode)[1]}")


def same_libraries(tree: Path, head: Path) -> bool:
    """Return whether two trees ask for the same libraries, by lock and declared dependencies."""
    return wanted_libraries(tree) == wanted_libraries(head)


def wanted_libraries(tree: Path) -> str:
    """Return a digest of what a tree wants installed; other lines of its files do not count."""
    lock, project = tree / LOCK, tree / "pyproject.toml"
    told: list[Any] = [lock.read_text(encoding="utf-8") if lock.is_file() else ""]
    if project.is_file():
        try:
            declared = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
        except tomllib.TOMLDecodeError as error:
            raise BaseError(f"{project} is not TOML: {error}") from error
        told += [declared.get("requires-python", ""), sorted(declared.get("dependencies", ()))]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _own_python(tree: Path, told: Callable[[str], None]) -> str:
    """Return an interpreter with the libraries that a tree wants, made once for each set."""
    folder = cache_folder() / "environments" / wanted_libraries(tree)
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.is_file():
        return str(python)
    told(f"the base wants other libraries; installing them once, into {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    _must([sys.executable, "-m", "venv", str(folder)])
    lock = tree / LOCK
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = ["--require-hashes", "--requirement", str(lock)] if lock.is_file() else [str(tree)]
    _must([*install, *locked])
    if not (tree / "harness").is_dir():  # a stranger's project: base and head share the harness
        _must([*install, _harness()])
    ready.touch()
    return str(python)


def _harness() -> str:
    """Return what pip takes for this harness: its checkout, or its version."""
    checkout = (HARNESS_ROOT / "pyproject.toml").is_file()
    return str(HARNESS_ROOT) if checkout else f"tree-harness=={__version__}"


def _must(command: list[str]) -> None:
    """Run a command of the set-up, or say why the base cannot be had."""
    try:
        done = subprocess.run(  # noqa: S603 - python and pip, with a list of arguments
            command, capture_output=True, text=True, timeout=SETUP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise BaseError(f"no end of {' '.join(command[:4])} in {SETUP_SECONDS} s") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise BaseError(f"the base's libraries cannot be installed: {last[-1] if last else ''}")
