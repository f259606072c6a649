"""Functions that run on Dask workers: run trials, run duels, clean up.

A trial runs under a supervisor in a separate process, as on the client's machine. The worker sends
back the bytes of its outcome file. One supervisor serves all jobs of a run, so that processes are
reused. It is closed after a long time without jobs, because the client may have died.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.model import Duel, DuelOutcome, Job
from harness.core.outcome_files import outcome_path
from harness.execution.pool import is_timed
from harness.execution.supervisor import Supervisor
from harness.executors.dask_cluster.hosts import Folder, on_this_host
from harness.measurement.duel import run_duel

OutcomeFiles = tuple[bytes, dict[str, bytes]]  # an outcome's JSON, and its array files by name

IDLE = 600.0  # seconds without jobs after which a run's processes and files are removed


@dataclass
class RunResources:
    """Processes and files of a run on this Dask worker."""

    run: str
    folder: Folder = field(default_factory=Folder)
    warmed: set[tuple[str, int]] = field(default_factory=set)  # algorithm, threads
    running_jobs: int = 0
    closed: bool = False
    timer: threading.Timer = field(default_factory=lambda: threading.Timer(0.0, print))

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.folder.path, idle=2)

    def host(self, *, alone: bool) -> AbstractContextManager[None]:
        """Hold this host's lock; waiting is canceled when the run is closed here."""
        return on_this_host(alone=alone, keep_waiting=lambda: not self.closed)

    def warm(self, jobs: Iterable[Job]) -> None:
        """Compile the kernels of algorithms once, while nothing is timed on this host."""
        for job in jobs:
            what = job.algorithm, job.threads
            if what not in self.warmed:
                with self.host(alone=False):
                    self.supervisor.warm(job)
                self.warmed.add(what)

    def close(self) -> None:
        """End the processes and remove the files."""
        self.closed = True
        self.timer.cancel()
        self.supervisor.close()
        self.folder.close()


_lock = threading.Lock()
_resources: dict[str, RunResources] = {}  # by run


def run_here(run: str, job: Job) -> list[OutcomeFiles]:
    """Run a job and return its outcomes; compile kernels before the first trial."""
    outcomes = []
    with _resources_of(run) as resources:
        resources.warm([job])
        with resources.host(alone=is_timed(job)):
            for outcome in resources.supervisor.supervise(job):
                path = outcome_path(resources.folder.path, outcome.trial.id)
                files = [Path(file) for file in outcome.arrays.values()]
                arrays = {file.name: file.read_bytes() for file in files}
                outcomes.append((path.read_bytes(), arrays))
                for file in (path, *files):
                    file.unlink()
    return outcomes


def run_duel_here(run: str, duel: Duel) -> DuelOutcome:
    """Run a duel with exclusive use of this host."""
    with _resources_of(run) as resources:
        resources.warm([duel.a, duel.b])
        with resources.host(alone=True):
            return run_duel(duel, resources.supervisor.open_session)


def close_here(run: str) -> None:
    """End the workers of a run and remove its files."""
    with _lock:
        resources = _resources.pop(run, None)
    if resources is not None:
        resources.close()


@contextmanager
def _resources_of(run: str) -> Iterator[RunResources]:
    """Yield the resources of a run; release them after a long time without jobs."""
    with _lock:
        if run not in _resources:
            _resources[run] = RunResources(run)
        resources = _resources[run]
        resources.running_jobs += 1
        resources.timer.cancel()
    try:
        yield resources
    finally:
        with _lock:
            resources.running_jobs -= 1
            resources.timer = threading.Timer(IDLE, _close_idle, (resources,))
            resources.timer.daemon = True
            resources.timer.start()


def _close_idle(resources: RunResources) -> None:
    """Release the resources of a run that has no jobs here."""
    with _lock:
        idle = not resources.running_jobs and _resources.get(resources.run) is resources
    if idle:
        close_here(resources.run)
