"""What Dask's workers do for the ``dask`` executor: say what they are, and carry out jobs.

A job is supervised there as it would be here, in a process of its own; what comes back are the
bytes of its outcome files. One supervisor serves all jobs of a run, so that its workers are kept
for the next job of their algorithm.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import tempfile
import threading
from pathlib import Path

from harness import machine
from harness.ids import code_digest
from harness.model import JSON, Job
from harness.outcomes import outcome_path
from harness.supervise import Supervisor

Carried = tuple[bytes, dict[str, bytes]]  # an outcome's JSON, and its array files by name

_lock = threading.Lock()
_supervisors: dict[str, Supervisor] = {}  # by run
_warmed: set[tuple[str, str, int]] = set()  # run, algorithm, threads


def facts_here(plugins: tuple[str, ...]) -> JSON:
    """Return what must be the same everywhere, and which class of hardware this is.

    ``plugins`` are modules or files; each one's digest covers the kernels it uses.
    """
    known = {name: told for name, told in machine.library_versions().items() if told}
    code = {f"code of {plugin}": digest_of(plugin) for plugin in plugins}
    return {
        "machine": machine.machine_id(),
        "host": platform.node(),
        "versions": {"python": platform.python_version(), **known, **code},
    }


def digest_of(plugin: str) -> str:
    """Return the digest of a plugin's code, or "missing"."""
    path = Path(plugin)
    if not path.suffix:
        try:
            found = importlib.util.find_spec(plugin)
        except ModuleNotFoundError:
            found = None
        path = Path(found.origin) if found is not None and found.origin else path
    return code_digest(str(path)) if path.is_file() else "missing"


def run_here(run: str, job: Job) -> list[Carried]:
    """Carry out a job and return its outcomes; kernels are compiled before its first trial."""
    supervisor = _supervisor_of(run)
    what = run, job.algorithm, job.threads
    if what not in _warmed:
        supervisor.warm(job)
        _warmed.add(what)
    found = []
    for outcome in supervisor.supervise(job):
        path = outcome_path(supervisor.folder, outcome.trial.id)
        files = [Path(file) for file in outcome.arrays.values()]
        found.append((path.read_bytes(), {file.name: file.read_bytes() for file in files}))
        for file in (path, *files):
            file.unlink()
    return found


def close_here(run: str) -> None:
    """End the workers of a run, and remove its files."""
    with _lock:
        supervisor = _supervisors.pop(run, None)
    if supervisor is not None:
        supervisor.close()
        shutil.rmtree(supervisor.folder, ignore_errors=True)


def _supervisor_of(run: str) -> Supervisor:
    with _lock:
        if run not in _supervisors:
            folder = Path(tempfile.mkdtemp(prefix="harness-dask-"))
            _supervisors[run] = Supervisor(folder, idle=2)
        return _supervisors[run]
