"""What Dask's workers do for the ``dask`` executor: run trials, fight duels, clean up.

A trial is supervised there as it would be here, in a process of its own; what comes back are the
bytes of its outcome file. One supervisor serves all of a run, so that its workers are kept for the
next trial of their algorithm. Where nothing comes any more, it is closed: the client has died.
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

IDLE = 600.0  # seconds without any work after which what a run has here is closed


@dataclass
class Place:
    """What a run has at this worker."""

    run: str
    folder: Folder = field(default_factory=Folder)
    warmed: set[tuple[str, int]] = field(default_factory=set)  # algorithm, threads
    at_work: int = 0
    closed: bool = False
    timer: threading.Timer = field(default_factory=lambda: threading.Timer(0.0, print))

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.folder.path, idle=2)

    def host(self, *, alone: bool) -> AbstractContextManager[None]:
        """Have this host, alone or with others, for as long as the place is wanted."""
        return on_this_host(alone=alone, wanted=lambda: not self.closed)

    def warm(self, jobs: Iterable[Job]) -> None:
        """Compile the kernels of algorithms, once, and while nobody is timed on this host."""
        for job in jobs:
            what = job.algorithm, job.threads
            if what not in self.warmed:
                with self.host(alone=False):
                    self.supervisor.warm(job)
                self.warmed.add(what)

    def close(self) -> None:
        """End the processes, and remove the files."""
        self.closed = True
        self.timer.cancel()
        self.supervisor.close()
        self.folder.close()


_lock = threading.Lock()
_places: dict[str, Place] = {}  # by run


def run_here(run: str, job: Job) -> list[Carried]:
    """Carry out a job and return its outcomes; kernels are compiled before its first trial."""
    found = []
    with _at(run) as place:
        place.warm([job])
        with place.host(alone=is_timed(job)):
            for outcome in place.supervisor.supervise(job):
                path = outcome_path(place.folder.path, outcome.trial.id)
                files = [Path(file) for file in outcome.arrays.values()]
                arrays = {file.name: file.read_bytes() for file in files}
                found.append((path.read_bytes(), arrays))
                for file in (path, *files):
                    file.unlink()
    return found


def fight_here(run: str, duel: Duel) -> DuelOutcome:
    """Fight a duel with this host to itself."""
    with _at(run) as place:
        place.warm([duel.a, duel.b])
        with place.host(alone=True):
            return run_duel(duel, place.supervisor.open_session)


def close_here(run: str) -> None:
    """End the workers of a run, and remove its files."""
    with _lock:
        place = _places.pop(run, None)
    if place is not None:
        place.close()


@contextmanager
def _at(run: str) -> Iterator[Place]:
    """Give the place of a run; close it once nothing has come for long."""
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
    """Close a place that nobody has used since."""
    with _lock:
        idle = not place.at_work and _places.get(place.run) is place
    if idle:
        close_here(place.run)
