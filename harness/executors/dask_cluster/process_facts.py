"""Facts of a process that are checked before it gets jobs: code, library versions, hardware."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
from functools import cache
from pathlib import Path

from harness.core import ids, machine
from harness.core.libraries import installed_version
from harness.core.model import JSON
from harness.plugins.files import is_file

OWN = Path(__file__).resolve().parents[2]  # the harness
MISSING = "missing"


def facts_here(plugins: tuple[str, ...], libraries: tuple[str, ...]) -> JSON:
    """Return the versions that must be the same everywhere, and the hardware class.

    Parameters
    ----------
    plugins
        Modules or files of algorithms and datasets; each digest covers the kernels used.
    libraries
        Distributions that the algorithms import, besides those that the harness knows.

    Notes
    -----
    Files are read again each time, because a cluster's worker may run for days. The code that it
    has loaded may be older than the files, so digests of both are returned.
    """
    ids.clear_caches()
    code = {f"code of {plugin}": digest_of(plugin) for plugin in plugins}
    requested = {name: installed_version(name) for name in libraries}
    return {
        "machine": machine.machine_id(),
        "host": platform.node(),
        "versions": {
            "python": platform.python_version(),
            **requested,
            **machine.library_versions(),
            "code of the harness": source_digest(OWN),
            "code of the harness that is loaded": loaded_code(),
            **code,
        },
    }


@cache
def loaded_code() -> str:
    """Return the digest of the harness at the first call in this process."""
    return source_digest(OWN)


def source_digest(package: Path) -> str:
    """Return the digest of the names and contents of all source files of a package."""
    joined = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name, text = str(path.relative_to(package)).encode(), path.read_bytes()
        joined.update(b"%d %d " % (len(name), len(text)) + name + text)
    return joined.hexdigest()[:16]


def digest_of(plugin: str) -> str:
    """Return the digest of a plugin's code, or "missing"."""
    path = Path(plugin)
    if not is_file(plugin):
        try:
            spec = importlib.util.find_spec(plugin)
        except ModuleNotFoundError:
            spec = None
        if spec is None or not spec.origin:
            return MISSING
        path = Path(spec.origin)
    return ids.code_digest(str(path)) if path.is_file() else MISSING
