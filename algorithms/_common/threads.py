"""Share work among threads. Kernels run without the GIL, so Python's own threads are enough.

They need no OpenMP, so a later fork does no harm, and two callers at once do not either.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from joblib import effective_n_jobs


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads an ``n_jobs`` asks for: None is 1, and -1 is one a core.

    None is what `joblib.parallel_config` says inside such a block.
    """
    if n_jobs == 1:
        return 1
    return max(1, min(effective_n_jobs(n_jobs), 4 * (os.cpu_count() or 1)))


class Workers:
    """A number of threads, the caller's own among them, that live inside a ``with`` block."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def share(self, task: Callable[[int, int], None], count: int) -> None:
        """Call ``task(first, last)`` for as many equal parts of ``range(count)`` as threads."""
        parts = max(1, min(self.threads, count))
        ends = [count * i // parts for i in range(parts + 1)]
        waiting = [self._pool.submit(task, first, last) for first, last in pairwise(ends[1:])]
        task(ends[0], ends[1])
        for future in waiting:
            future.result()

    def each(self, task: Callable, items: list) -> list:
        """Return ``task(item)`` for each item, in their order; a thread takes the next one."""
        if self._pool is None:
            return [task(item) for item in items]
        results = [None] * len(items)
        numbered = iter(enumerate(items))  # next() on it is atomic under the GIL

        def work() -> None:
            for i, item in numbered:
                results[i] = task(item)

        waiting = [self._pool.submit(work) for _ in range(min(self.threads, len(items)) - 1)]
        work()
        for future in waiting:
            future.result()
        return results


ALONE = Workers(1)  # the caller's own thread
