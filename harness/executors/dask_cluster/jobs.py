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

Carried = tuple[bytes, dict[str, bytes]]  # an outcome's JSON, and its array files by name

IDLE = 600.0  # seconds without jobs after which a run's processes and files are removed


@dataclass
class Place:
    """Processes and files of a run on this Dask worker."""

    run: str
    folder: Folder = field(default_factory=Folder)
    warmed: set[tuple[str, int]] = field(default_factory=set)  # algorithm, threads
    at_work: int = 0
    closed: bool = False
    timer: threading.Timer = field(default_factory=lambda: threading.Timer(0.0, print))

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.folder.path, idle=2)

    def host(self, *, alone: bool) -> AbstractContextManager[None]:
        """Hold this host's lock; waiting is cancelled when the place is closed."""
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
_places: dict[str, Place] = {}  # by run


def run_here(run: str, job: Job) -> list[Carried]:
    """Run a job and return its outcomes; compile kernels before the first trial."""
    outcomes = []
    with _at(run) as place:
        place.warm([job])
        with place.host(alone=is_timed(job)):
            for outcome in place.supervisor.supervise(job):
                path = outcome_path(place.folder.path, outcome.trial.id)
                files = [Path(file) for file in outcome.arrays.values()]
                arrays = {file.name: file.read_bytes() for file in files}
                outcomes.append((path.read_bytes(), arrays))
                for file in (path, *files):
                    file.unlink()
    return outcomes


def run_duel_here(run: str, duel: Duel) -> DuelOutcome:
    """Run a duel with exclusive use of this host."""
    with _at(run) as place:
        place.warm([duel.a, duel.b])
        with place.host(alone=True):
            return run_duel(duel, place.supervisor.open_session)


def close_here(run: str) -> None:
    """End the workers of a run and remove its files."""
    with _lock:
        place = _places.pop(run, None)
    if place is not None:
        place.close()


@contextmanager
def _at(run: str) -> Iterator[Place]:
    """Yield the place of a run; close it after a long time without jobs."""
    with _lock:
        if run not in _places:
            _places[run] = Place(run)
        place = _places[run]
        place.at_work += 1
        place.timer.cancel()
    try:
        yield place
    finally:
        with _lock:
            place.at_work -= 1
            place.timer = threading.Timer(IDLE, _close_idle, (place,))
            place.timer.daemon = True
            place.timer.start()


def _close_idle(place: Place) -> None:
    """Close a place if it is not in use."""
    with _lock:
        idle = not place.at_work and _places.get(place.run) is place
    if idle:
        close_here(place.run)
