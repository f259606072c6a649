"""Teams of threads that run one kernel together and synchronize at barriers inside it.

Each thread of a team calls the same kernel with its own rank; barriers separate the steps of the
work. A barrier takes well under a microsecond, starting threads about fifty; growing a tree has
hundreds of steps.

A waiting thread spins for about 3 microseconds, because the others usually arrive soon, and then
yields its processor, because on a busy machine the others may need it: spinning for 100
microseconds made fits on such a machine 5 to 20 times slower.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.intrinsics import add_atomic, load_atomic, pause, yield_processor
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

# Indices into arrays of counters, each in its own cache line, and the lengths of these arrays: the
# counters of a team, the tasks of a helper, and the jobs of a thread.
ARRIVED, ROUND, GONE, COUNTERS = 0, 8, 16, 24
SUBMITTED, FINISHED, TASK_COUNTERS = 0, 8, 16
CALLED, TAKEN, DONE, AWAY, CALLS = 0, 8, 16, 24, 32
SPINS = 100  # about three microseconds


class ThreadTeam(NamedTuple):
    """Number of threads, and the counters of their barrier."""

    size: int
    counters: np.ndarray  # int64 (COUNTERS,), zeros
    flag: np.ndarray  # int64, the interrupt flag; see `interrupts`


@inner_kernel
def wait(spins):
    """Wait a moment: pause during the first SPINS calls of a loop, then yield the processor."""
    if spins < SPINS:
        pause()
    else:
        yield_processor()


@linked_kernel
def barrier_wait(team):
    """Wait until all threads of the team have called this; return True.

    Writes before the barrier are visible to all threads after it. If a thread was interrupted
    before it entered the kernel, it sets GONE to 1; the first barrier then returns False, and the
    other threads must leave the kernel.
    """
    if team.size == 1:
        return True
    now = load_atomic(team.counters, ROUND)
    if add_atomic(team.counters, ARRIVED, 1) == team.size - 1:
        add_atomic(team.counters, ARRIVED, -team.size)
        add_atomic(team.counters, ROUND, 1)
        return True
    spins = 0
    while load_atomic(team.counters, ROUND) == now:
        if load_atomic(team.counters, GONE) > 0:
            return False
        wait(spins)
        spins += 1
    return True


@inner_kernel
def share_of(team, rank, first, last):
    """Return the first and the last + 1 of a thread's share of first … last − 1."""
    count = last - first
    return first + count * rank // team.size, first + count * (rank + 1) // team.size


@kernel
def post_job(calls):
    """Post a job to each thread; return how many threads do not wait for one and must be woken.

    Parameters
    ----------
    calls : int64 (n, CALLS), zeros at first
    """
    away = 0
    for thread in range(len(calls)):
        call = calls[thread]
        add_atomic(call, CALLED, 1)
        away += load_atomic(call, AWAY)
    return away


@kernel
def wait_until_done(calls):
    """Wait until each thread has finished its job and no longer reads its arrays.

    Parameters
    ----------
    calls : as in `post_job`
    """
    for thread in range(len(calls)):
        spins = 0
        while load_atomic(calls[thread], DONE) < load_atomic(calls[thread], CALLED):
            wait(spins)
            spins += 1


@inner_kernel
def wait_for_job(call, counters, index, target, max_spins):
    """Wait for the next job of a thread; return False if a task or the spin limit comes first.

    Calling this again acknowledges that the previous job is finished.

    The caller of `post_job` must know whether the thread waits for a job. Before the thread leaves
    because of the spin limit, it sets AWAY. If it leaves to run a task, it must call this again
    afterwards.

    Parameters
    ----------
    call : int64 (CALLS,), counters of the thread; no other thread reads TAKEN
    counters, index, target, max_spins : as in `spin_until`
    """
    spins = 0
    add_atomic(call, DONE, call[TAKEN] - call[DONE])
    add_atomic(call, AWAY, -call[AWAY])
    while True:
        if load_atomic(call, CALLED) > call[TAKEN]:
            call[TAKEN] += 1
            return True
        if load_atomic(counters, index) >= target:
            return False
        if spins >= max_spins:
            add_atomic(call, AWAY, 1)  # then check CALLED again: `post_job` reads AWAY last
            if load_atomic(call, CALLED) == call[TAKEN]:
                return False
            add_atomic(call, AWAY, -1)
        else:
            wait(spins)
            spins += 1


@kernel
def spin_until(counters, index, target, max_spins):
    """Wait until a counter reaches a number, for a limited number of spins.

    Parameters
    ----------
    counters : int64 (TASK_COUNTERS,), numbers of submitted and of finished tasks
    index : SUBMITTED or FINISHED
    target : number that the counter must reach
    max_spins : maximum number of spins
    """
    for spins in range(max_spins):
        if load_atomic(counters, index) >= target:
            return
        wait(spins)
