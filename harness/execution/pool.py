"""Pool of worker processes: started when needed, kept for reuse, ended together."""

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

MIN_IDLE, MAX_IDLE = 2, 32  # bounds of the number of idle workers
IDLE_BYTES = 3 * 2**28  # maximum memory of an idle worker; half suffices without a table


def idle_workers() -> int:
    """Return the number of idle workers for which this machine has memory.

    If there are enough, the workers that compiled the kernels are reused for the trials.
    """
    return max(MIN_IDLE, min(MAX_IDLE, psutil.virtual_memory().available // IDLE_BYTES))


class Pool:
    """Workers of one run; thread-safe.

    Parameters
    ----------
    folder
        Folder of the workers' files.
    max_idle
        Maximum number of idle workers, kept for later jobs of the same kind because importing a
        library takes seconds.
    """

    def __init__(self, folder: Path, max_idle: int) -> None:
        self.folder = folder
        self.max_idle = max_idle
        self.closed = False
        self._lock = threading.Lock()
        self._idle: list[tuple[Any, Session]] = []
        self._busy: set[Session] = set()
        self._taken = 0

    def take(self, job: Job) -> Session:
        """Return an idle worker of the right kind, or a new one; always a new one for a timed job.

        Raises
        ------
        SessionError
            If the interpreter cannot be started, or the pool was closed.
        OSError
            If the folder cannot be written.
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
        """Keep a healthy worker for later, unless it uses much memory; end all others."""
        ended = [session]
        useful = session.alive and not is_timed(job) and session.resident_bytes() <= IDLE_BYTES
        with self._lock:
            self._busy.discard(session)
            if useful and not self.closed:
                self._idle.append((kind_of(job), session))
                surplus = max(0, len(self._idle) - self.max_idle)
                ended = [one for _, one in self._idle[:surplus]]
                del self._idle[:surplus]
        for one in ended:
            one.close()

    def start(self, job: Job, *, pinned: bool = True, forked: bool = False) -> Session:
        """Return a new worker that the caller closes; pin it if the job is timed."""
        cpus = machine.choose_cpus(job.threads) if pinned and is_timed(job) else ()
        return Session(job, self.folder, cpus, forked=forked)

    def load_snapshot(self) -> tuple[int, int]:
        """Return the number of busy workers, and the number of calls of `take` so far."""
        with self._lock:
            return len(self._busy), self._taken

    def end_idle(self) -> None:
        """End the idle workers, to free their memory."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, session in idle:
            session.stop()

    def close(self) -> None:
        """End all workers, even those that another thread waits for."""
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
    """Return whether any trial of a job is timed; such a job runs alone in a new process."""
    return any(trial.timed for trial in job.trials)


def kind_of(job: Job) -> Hashable:
    """Return a key that is equal for jobs that may share a worker.

    Plugins of one package that import the same libraries share a worker, because importing takes
    seconds. With a memory limit algorithms do not share one: memory left by one algorithm would
    count for the other.
    """
    home: Hashable = job.plugin
    if job.limits.memory:
        home = job.plugin, job.algorithm
    elif job.libraries and not is_file(job.plugin):
        home = job.plugin.partition(".")[0], job.libraries
    return home, job.plugins, job.threads, job.environment
