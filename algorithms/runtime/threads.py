"""Thread pool for kernels, which run without the GIL on Python threads.

OpenMP is not used, so a later fork and concurrent fits are safe.
"""

import os
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

import algorithms.runtime.compile_notice  # noqa: F401 - it says where kernels are compiled
from algorithms.runtime.interrupt_flag import (
    check_interrupt,
    inherit_flag,
    interrupt_flag,
    watch_interrupts,
)
from algorithms.runtime.thread_team import (
    COUNTERS,
    FINISHED,
    GONE,
    SUBMITTED,
    TASK_COUNTERS,
    ThreadTeam,
    spin_until,
)

MAX_SPINS = 500  # spins of a waiting thread before it sleeps: about 100 microseconds


def count_threads(n_jobs: int | None, n_rows: int | None = None) -> int:
    """Return the number of threads for ``n_jobs``: None means 1, and -1 one per core.

    Inside a block of `joblib.parallel_config`, None means its number. For a single row the result
    is 1, because asking joblib takes as long as the prediction.
    """
    if n_jobs == 1 or n_rows == 1:
        return 1
    return max(1, min(effective_n_jobs(n_jobs), 4 * (os.cpu_count() or 1)))


class AllThreads:
    """Mixin for ``n_jobs`` where None means one thread per core, as in LightGBM and XGBoost.

    Inside a block of `joblib.parallel_config`, None means its number; inside a joblib worker 1.
    """

    n_jobs: int | None

    def _threads(self, n_rows: int | None = None) -> int:
        """Return the number of threads to use; 1 for a single row."""
        n_jobs = self.n_jobs
        if n_rows != 1 and (n_jobs is None or n_jobs == 0):
            backend, n_jobs = get_active_backend()
            if n_jobs is None:
                n_jobs = 1 if backend.nesting_level else -1
        return count_threads(n_jobs, n_rows)


def threads_of(estimator: Any, n_rows: int | None = None) -> int:
    """Return the number of threads with which an estimator reads or predicts ``n_rows``."""
    if isinstance(estimator, AllThreads):
        return estimator._threads(n_rows)  # noqa: SLF001 - its own part
    return count_threads(estimator.n_jobs, n_rows)


def threads_worth(threads: int, work: int, least: int) -> int:
    """Return the number of threads that get at least ``least`` of the work each; at least one."""
    return max(1, min(threads, work // least))


class Helper:
    """Worker thread that runs one task at a time.

    Waking a sleeping thread takes about 100 microseconds, and a tree starts several tasks. So a
    helper spins for a while before it sleeps, and so does the thread that waits for its result.
    They spin on counters; tasks and results are passed through queues.

    Spinning in Python needs the GIL, and a thread that waits for the GIL may sleep as long. If the
    same kernel is called many times, a helper can wait inside that kernel instead
    (`set_wait_function`).
    """

    def __init__(self, max_spins: int) -> None:
        self._max_spins = max_spins
        self._counters = np.zeros(TASK_COUNTERS, np.int64)
        self._tasks: SimpleQueue = SimpleQueue()
        self._results: SimpleQueue = SimpleQueue()
        self._wait: list[Callable] = [spin_until]  # a list: the thread must not refer to self
        queues = self._tasks, self._results
        given = max_spins, self._counters, *queues, self._wait, interrupt_flag()
        self._thread = Thread(target=run_tasks, args=given, daemon=True)
        self._finish = weakref.finalize(self, self._tasks.put, None)  # also if collected
        self._thread.start()

    def submit(self, task: Callable, *given: object) -> None:
        """Start ``task(*given)``; `wait` must follow."""
        self._tasks.put((task, given))
        self._counters[SUBMITTED] += 1

    def wait(self) -> BaseException | None:
        """Wait for the end of the task; return its exception or None."""
        spin_until(self._counters, FINISHED, self._counters[SUBMITTED], self._max_spins)
        return self._results.get()

    def set_wait_function(self, function: Callable) -> None:
        """Use ``function(counters, index, target, max_spins=…)`` to wait for tasks."""
        self.submit(self._wait.__setitem__, 0, function)
        self.wait()

    def finish(self) -> None:
        """End the thread after its current task."""
        self._finish()
        self._counters[SUBMITTED] += 1

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()


def run_tasks(
    max_spins: int,
    counters: np.ndarray,
    tasks: SimpleQueue,
    results: SimpleQueue,
    wait: list[Callable],
    flag: np.ndarray,
) -> None:
    """Run tasks from the queue until None; ``flag`` is the interrupt flag of the calling thread."""
    inherit_flag(flag)
    while True:
        wait[0](counters, SUBMITTED, counters[FINISHED] + 1, max_spins=max_spins)
        job = tasks.get()
        if job is None:
            return
        error = None
        try:
            job[0](*job[1])
        except BaseException as raised:  # noqa: BLE001 - raised again where it is waited for
            error = raised
        del job  # free its arguments before the next task comes
        results.put(error)
        del error
        counters[FINISHED] += 1


class Workers:
    """Threads inside a ``with`` block, including the calling thread.

    Only one thread uses them, and a task must not call `share`. Inside the block, Ctrl-C ends
    kernels that read the interrupt flag, in all of these threads.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._helpers: list[Helper] = []
        self._wait_functions: list[Callable] = []
        self._interrupts = ExitStack()

    def __enter__(self):
        self._interrupts.enter_context(watch_interrupts())
        return self

    def __exit__(self, *error):
        with self._interrupts:
            for helper in self._helpers:
                helper.finish()
            for helper in self._helpers:
                helper.join()
            self._helpers.clear()
            self._wait_functions = []

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed; for loops inside tasks."""
        check_interrupt(interrupt_flag())

    def share_steps(self, task: Callable[[int, int], None], count: int, step: int) -> None:
        """Do the same as `share`, in steps of at most ``step``; Ctrl-C is checked between steps."""

        def steps(first: int, last: int) -> None:
            for start in range(first, last, step):
                self.check()
                task(start, min(start + step, last))

        self.share(steps, count)

    def share(
        self, task: Callable[[int, int], None], count: int, team: ThreadTeam | None = None
    ) -> None:
        """Call ``task(first, last)`` for as many equal parts of ``range(count)`` as threads.

        If the threads wait for each other as a ``team``, an interrupt of the calling thread ends
        their waiting.
        """
        parts = max(1, min(self.threads, count))
        if parts == 1:
            task(0, count)
            return
        ends = [count * i // parts for i in range(parts + 1)]
        self._run(task, list(pairwise(ends)), team)

    def each(self, task: Callable, items: list) -> list:
        """Return ``task(item)`` for each item, in order; each thread takes the next item."""
        if self.threads == 1:
            return [self._checked(task, item) for item in items]
        results = [None] * len(items)
        numbered = iter(enumerate(items))  # next() on it is atomic under the GIL

        def work() -> None:
            for i, item in numbered:
                results[i] = self._checked(task, item)

        self._run(work, [()] * max(1, min(len(items), self.threads)))
        return results

    def _checked(self, task: Callable, item: object) -> object:
        """Return ``task(item)``; raise KeyboardInterrupt if Ctrl-C was pressed before."""
        self.check()
        return task(item)

    def set_wait_functions(self, functions: list[Callable]) -> list[Helper]:
        """Set the wait function of one helper for each of ``functions``; return these helpers."""
        helpers = self._first(len(functions))
        if self._wait_functions is not functions:
            for helper, function in zip(helpers, functions, strict=True):
                helper.set_wait_function(function)
            self._wait_functions = functions
        return helpers

    def _first(self, count: int) -> list[Helper]:
        """Return the first ``count`` helpers; start missing ones."""
        while len(self._helpers) < count:
            self._helpers.append(Helper(MAX_SPINS if self.threads <= count_processors() else 0))
        return self._helpers[:count]

    def _run(self, task: Callable, calls: list[tuple], team: ThreadTeam | None = None) -> None:
        """Run ``task(*call)`` for all calls concurrently, the first one in the calling thread."""
        own, *others = calls
        busy = []
        try:
            for helper, call in zip(self._first(len(others)), others, strict=True):
                helper.submit(task, *call)
                busy.append(helper)
            task(*own)
        except BaseException:
            if team is not None:
                leave(team)
            raise
        finally:
            errors = [helper.wait() for helper in busy]
        for error in errors:
            if error is not None:
                raise error


def leave(team: ThreadTeam) -> None:
    """End the waiting of a team's other threads: the caller will not reach the barrier."""
    team.counters[GONE] = 1


def make_team(size: int) -> ThreadTeam:
    """Return a new team; its barrier can be used again and again."""
    return ThreadTeam(size, np.zeros(COUNTERS, np.int64), interrupt_flag())


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


ALONE = Workers(1)  # only the calling thread
