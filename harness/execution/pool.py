"""Worker processes at hand: started when needed, kept while useful, ended all at once."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import psutil

from harness.core import machine
from harness.core.model import Failure, Job
from harness.execution.session import DiedError, Session
from harness.plugins.files import is_file

FEWEST, MOST = 2, 32  # workers that are kept idle, by how much memory is left
IDLE_BYTES = 3 * 2**28  # left for each, and the most it may hold: without a table it is half of it


def idle_workers() -> int:
    """Return how many idle workers this machine has the memory for.

    Enough of them, and the workers that compiled the kernels go on to the trials.
    """
    return max(FEWEST, min(MOST, psutil.virtual_memory().available // IDLE_BYTES))


class Pool:
    """Workers of one run; any thread may take one and give it back.

    Parameters
    ----------
    folder
        Where workers keep their files.
    most_idle
        Workers that are kept for a later job of the same kind: to import a library again takes
        seconds.
    """

    def __init__(self, folder: Path, most_idle: int) -> None:
        self.folder = folder
        self.most_idle = most_idle
        self.closed = False
        self._lock = threading.Lock()
        self._idle: list[tuple[Any, Session]] = []
        self._busy: set[Session] = set()
        self._taken = 0

    def take(self, job: Job) -> Session:
        """Return an idle worker of the right kind, or a new one; a timed job gets a new one.

        Raises
        ------
        SessionError
            Where the interpreter cannot be started, or the pool was closed.
        OSError
            Where the folder cannot be written.
        """
        session = self._idle_one(job) or self.start(job, forked=not is_timed(job))
        with self._lock:
            self._busy.add(session)
            self._taken += 1
            closed = self.closed
        if closed:
            self.give_back(job, session)
            raise DiedError(Failure("closed", "the run is being stopped"))
        return session

    def give_back(self, job: Job, session: Session) -> None:
        """Keep a healthy worker for later, unless it grew large; end any other."""
        ended = [session]
        useful = session.alive and not is_timed(job) and session.resident_bytes() <= IDLE_BYTES
        with self._lock:
            self._busy.discard(session)
            if useful and not self.closed:
                self._idle.append((kind_of(job), session))
                surplus = max(0, len(self._idle) - self.most_idle)
                ended = [one for _, one in self._idle[:surplus]]
                del self._idle[:surplus]
        for one in ended:
            one.close()

    def start(self, job: Job, *, pinned: bool = True, forked: bool = False) -> Session:
        """Return a new worker that the caller closes; that of a timed job is pinned."""
        cpus = machine.choose_cpus(job.threads) if pinned and is_timed(job) else ()
        return Session(job, self.folder, cpus, forked=forked)

    def crowd(self) -> tuple[int, int]:
        """Return how many workers are busy, and how many were ever taken."""
        with self._lock:
            return len(self._busy), self._taken

    def end_idle(self) -> None:
        """End the workers that are kept: what comes next has no use for them, but for memory."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, session in idle:
            session.stop()

    def close(self) -> None:
        """End all workers, also those that another thread waits for."""
        with self._lock:
            self.closed = True
            busy = list(self._busy)
        for session in busy:
            session.stop()
        self.end_idle()
        for session in busy:
            session.ended.wait(5.0)

    def _idle_one(self, job: Job) -> Session | None:
        if is_timed(job):
            return None
        with self._lock:
            for pair in self._idle:
                if pair[0] == kind_of(job):
                    self._idle.remove(pair)
                    return pair[1]
        return None


def is_timed(job: Job) -> bool:
    """Say whether any trial of a job is timed: then it runs alone, in a process of its own."""
    return any(trial.timed for trial in job.trials)


def kind_of(job: Job) -> Hashable:
    """Return what two jobs must share so that one worker can do both.

    Plugins of one package that import the same libraries share a worker, to save the seconds that
    importing takes. Under a cap on memory algorithms do not: what one left in the process would
    count as the other's.
    """
    home: Hashable = job.plugin
    if job.limits.memory:
        home = job.plugin, job.algorithm
    elif job.libraries and not is_file(job.plugin):
        home = job.plugin.partition(".")[0], job.libraries
    return home, job.plugins, job.threads, job.environment
