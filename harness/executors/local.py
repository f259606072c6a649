"""Executor ``local``: run jobs on this machine, untimed ones in parallel."""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

from harness.core.errors import ConfigError
from harness.core.model import JSON, Executor, Job, Outcome
from harness.execution.pool import is_timed, kind_of
from harness.plugins.hookspecs import hookimpl

Supervise = Callable[[Job], Iterator[Outcome]]


def run_local(jobs: Iterable[Job], supervise: Supervise, options: JSON) -> Iterator[Outcome]:
    """Run jobs in worker processes on this machine and yield outcomes as they come.

    Jobs without timed trials run first, ``options["jobs"]`` of them in parallel (default 1), each
    in a thread that only waits for its worker. Timed jobs follow, one by one.

    Notes
    -----
    If the caller stops early or a thread raises, the other threads end after their running trial;
    closing the supervisor ends that one too.
    """
    workers = options.get("jobs", 1)
    if not isinstance(workers, int) or workers < 1:
        raise ConfigError(f"the local executor's jobs is {workers!r}; give a whole number from 1")
    if unknown := sorted(set(options) - {"jobs"}):
        raise ConfigError(f"the local executor has no option {unknown[0]!r}; it has 'jobs'")
    every = list(jobs)
    untimed = [job for job in every if not is_timed(job)]
    if workers == 1:
        for job in untimed:
            yield from supervise(job)
    else:
        yield from _side_by_side(untimed, supervise, workers)
    for job in every:
        if is_timed(job):
            yield from supervise(job)


def _side_by_side(jobs: list[Job], supervise: Supervise, workers: int) -> Iterator[Outcome]:
    job_threads = _JobThreads(jobs, supervise)
    count = min(workers, len(jobs))
    for number in range(count):
        threading.Thread(target=job_threads.drive, name=f"job-{number}", daemon=True).start()
    try:
        while count:
            result = job_threads.results.get()
            if result is None:
                count -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result
    finally:
        job_threads.stopped.set()


class _JobThreads:
    """Threads that run jobs and put the results into a queue.

    The queue ``results`` gets outcomes, exceptions of threads, and None from each ended thread.
    """

    def __init__(self, jobs: list[Job], supervise: Supervise) -> None:
        self.supervise = supervise
        self.stopped = threading.Event()
        self.results: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()
        self.job_queue = JobQueue(jobs)

    def drive(self) -> None:
        """Run jobs until none is left or ``stopped`` is set."""
        try:
            for outcome in self._outcomes():
                self.results.put(outcome)
                if self.stopped.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            self.results.put(error)
        finally:
            self.results.put(None)

    def _outcomes(self) -> Iterator[Outcome]:
        last: Job | None = None
        while (last := self.job_queue.take(last)) is not None:
            yield from self.supervise(last)


class JobQueue:
    """Queue of jobs that lets a thread stay with one kind of worker while possible.

    A worker is reused for the next job of its kind, because importing a library takes seconds. So
    two threads should not start workers of one kind while another kind has no thread.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[object, deque[Job]] = {}
        self._takers: Counter[object] = Counter()  # number of threads per kind
        for job in jobs:
            self._waiting.setdefault(kind_of(job), deque()).append(job)

    def take(self, last: Job | None = None) -> Job | None:
        """Return the next job for a thread whose last job was ``last``, or None at the end."""
        with self._lock:
            mine = kind_of(last) if last is not None else None
            if mine is not None and mine not in self._waiting:
                self._takers[mine] -= 1
            if not self._waiting:
                return None
            kind = mine if mine in self._waiting else self._least_taken()
            self._takers[kind] += kind != mine
            waiting = self._waiting[kind]
            job = waiting.popleft()
            if not waiting:
                del self._waiting[kind]
            return job

    def _least_taken(self) -> object:
        """Return the kind with the fewest threads; ties go to the one with the most jobs left."""
        return min(self._waiting, key=lambda k: (self._takers[k], -len(self._waiting[k])))


@hookimpl
def register_executors(register: Callable[[Executor], None]) -> None:
    """Register the local executor."""
    register(Executor("local", run_local, "worker processes on this machine; option jobs=N"))
