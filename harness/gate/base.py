"""Base of a gate as an environment: interpreter, source tree and registered algorithms."""

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
# This code runs in the base's tree, so it uses only what every revision has.
PROBE = f"""
import json, sys
from importlib.metadata import distributions
try:
    from harness.plugins.registry import load_registry
except ImportError:  # revisions in which `harness.plugins` was one module
    from harness.plugins import load_registry
registry = load_registry(sys.argv[1:])
def parity_levels(algorithm):  # formerly `rungs`
    old = "parity_levels" not in vars(algorithm)
    return dict(algorithm.rungs if old else algorithm.parity_levels)
found = {{
    name: {{
        "plugin": entry.plugin,
        "path": str(entry.path),
        "params": dict(entry.value.params),
        "parity_levels": parity_levels(entry.value),
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
    algorithms: Mapping[str, Mapping[str, Any]]  # name → plugin, path, params, …
    broken: Mapping[str, str]  # plugins that do not load there, with the reason
    versions: Mapping[str, str]  # of its libraries
    own_libraries: bool  # whether the base has its own interpreter


def make_base(
    tree: Path,
    head: Path,
    roots: Sequence[Path],
    plugin_files: Sequence[str],
    name: str,
    on_wait: Callable[[str], None],
) -> Base:
    """Return the base of a checked-out tree.

    Parameters
    ----------
    tree, head
        Working trees of the base and of the head.
    roots
        Folders of the base that come first on the path.
    plugin_files
        Plugin files in the base's tree.
    name
        Name of the environment.
    on_wait
        Called with a sentence before a long step.

    Raises
    ------
    BaseError
        If its environment cannot be made, or the harness does not start in it.
    """
    python = ""
    if not same_libraries(tree, head):
        python = own_python(tree, on_wait, stranger=not belongs(HARNESS_ROOT, head))
    root = os.pathsep.join(str(path) for path in roots)
    environment = Environment(name=name, python=python, root=root)
    probed = probe(environment, plugin_files)
    return Base(
        environment, probed["algorithms"], probed["broken"], probed["versions"], bool(python)
    )


def probe(environment: Environment, plugin_files: Sequence[str]) -> Mapping[str, Any]:
    """Start the harness in an environment and return its registered algorithms."""
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of the base
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
            registered: Mapping[str, Any] = json.loads(line.removeprefix(MARK))
            return registered
    last = done.stderr.strip().splitlines()
    raise BaseError(f"the base does not start: {last[-1] if last else ending(done.returncode)[1]}")
