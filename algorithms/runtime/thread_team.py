"""Threads that run one kernel together and wait for each other inside it.

Each member of a team calls the same kernel with its own rank; between the steps of the work they
meet at a barrier. That costs well under a microsecond, where starting threads anew would cost
fifty: a tree has hundreds of steps.

A member that waits spins for a few microseconds, as the others are mostly about to come, and then
gives its processor away, as on a busy machine they may be waiting for just that: spinning for 100
in place of 3 made fits there 5 to 20 times slower.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.intrinsics import add_atomic, load_atomic, pause, yield_processor
from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

ARRIVED, ROUND, GONE, COUNTERS = 0, 8, 16, 24  # places that lie in different cache lines
HANDED, ANSWERED, SIGNS = 0, 8, 16  # likewise, of signs, and how many entries these have
CALLED, TAKEN, DONE, AWAY, CALLS = 0, 8, 16, 24, 32  # likewise, of the calls of a member
SPINS = 100  # some three microseconds


class ThreadTeam(NamedTuple):
    """How many threads there are, and the counters by which they meet."""

    size: int
    counters: np.ndarray  # int64 (COUNTERS,), zeros
    flag: np.ndarray  # int64: see `interrupts`


@inner_kernel
def wait(spins):
    """Wait a moment, after so many others: at first in place, then by giving way."""
    if spins < SPINS:
        pause()
    else:
        yield_processor()


@linked_kernel
def barrier_wait(team):
    """Return when every member has called this; what they wrote before, all see after it.

    A member whose thread was interrupted before it entered the kernel never comes. It says so by
    a 1 at GONE: where members meet first they are told by False, and must leave the kernel.
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
    """Return the first and the last + 1 of a member's part of first … last − 1."""
    count = last - first
    return first + count * rank // team.size, first + count * (rank + 1) // team.size


@kernel
def call_all(calls):
    """Call each member once; return how many of them do not listen, and must be woken.

    Parameters
    ----------
    calls : int64 (n, CALLS), zeros at first
    """
    away = 0
    for member in range(len(calls)):
        own = calls[member]
        add_atomic(own, CALLED, 1)
        away += load_atomic(own, AWAY)
    return away


@kernel
def wait_for_all(calls):
    """Return when each member has done what it was called for: it reads nothing of that any more.

    Parameters
    ----------
    calls : as of `call_all`
    """
    for member in range(len(calls)):
        spins = 0
        while load_atomic(calls[member], DONE) < load_atomic(calls[member], CALLED):
            wait(spins)
            spins += 1


@inner_kernel
def is_called(call, signs, place, until, looks):
    """Return, for a member, whether it is called before a sign reaches a number; else it leaves.

    To ask again says that the last call is done.

    Who calls must know whether it listens. Where it leaves since nobody has called for long, it
    says so first; where it leaves for a sign, it is told of a task, and listens again after it.

    Parameters
    ----------
    call : int64 (CALLS,), the member's own; what it has taken nobody else reads
    signs, place, until, looks : as of `look_out`
    """
    spins = 0
    add_atomic(call, DONE, call[TAKEN] - call[DONE])
    add_atomic(call, AWAY, -call[AWAY])
    while True:
        if load_atomic(call, CALLED) > call[TAKEN]:
            call[TAKEN] += 1
            return True
        if load_atomic(signs, place) >= until:
            return False
        if spins >= looks:
            add_atomic(call, AWAY, 1)  # then a last look: who calls looks at this after the call
            if load_atomic(call, CALLED) == call[TAKEN]:
                return False
            add_atomic(call, AWAY, -1)
        else:
            wait(spins)
            spins += 1


@kernel
def look_out(signs, place, until, looks):
    """Return when a sign has reached a number, or after so many looks at it.

    Parameters
    ----------
    signs : int64 (SIGNS,), by which two threads tell each other how far they are
    """
    for spins in range(looks):
        if load_atomic(signs, place) >= until:
            return
        wait(spins)
