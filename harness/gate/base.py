"""The base as an environment: which interpreter runs its source tree, and what it offers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.model import Environment
from harness.core.processes import ending
from harness.gate.libraries import HARNESS_ROOT, BaseError, own_python, same_libraries
from harness.gate.revision import belongs
from harness.worker.environment import worker_environment

PROBE_SECONDS = 120
MARK = "harness-base: "
# Runs in the base's tree, whatever it is: it asks for what every revision has.
PROBE = f"""
import json, sys
from importlib.metadata import distributions
try:
    from harness.plugins.registry import load_registry
except ImportError:  # revisions in which `harness.plugins` was one module
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
versions = {{d.metadata["Name"]: d.version for d in reversed(list(distributions()))}}
print({MARK!r} + json.dumps({{"algorithms": found, "broken": broken, "versions": versions}}))
"""


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
    python = ""
    if not same_libraries(tree, head):
        python = own_python(tree, told, stranger=not belongs(HARNESS_ROOT, head))
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
    except OSError as error:
        raise BaseError(f"the base does not start: {error}") from error
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            found: Mapping[str, Any] = json.loads(line.removeprefix(MARK))
            return found
    last = done.stderr.strip().splitlines()
    raise BaseError(f"the base does not start: {last[-1] if last else ending(done.returncode)[1]}")
