"""Threads that grow one small tree after another together, and wait for the next inside the kernel.

To hand a task to a thread, and to hear that it is done, takes the lock of the interpreter four
times, and whoever waits for the lock may sleep: 35 to 50 µs in all, where a small tree takes 300.
So helpers stand by inside the kernel, without the lock, and grow as soon as they are called.

Beside busy processes members may wait for each other a hundred times as long as they work. What a
tree takes one thread is known from the first ones; while several take longer, one grows them.
"""

from time import perf_counter

import numpy as np

from algorithms.gbdt.kernels.grow_tree import grow_when_called
from algorithms.runtime.thread_team import CALLED, CALLS, SIGNS, post_job, wait_until_done
from algorithms.runtime.threads import leave, make_team

SLOWER = 1.2  # times as long as one thread: then a tree has not been shared for good
FIRST = 2  # trees that one thread grows; of the first one in a process some time is for loading
MOST_ALONE = 64  # trees that one thread grows before it is tried again to share one
PATIENCE = 4  # times as long as others, a helper looks out: other steps of a round lie between
NO_SIGNS = np.zeros(SIGNS, np.int64)


def grow(scale, *given):
    """Grow one tree, of records in the steps of a `Scale`; ``given`` is as of `grow_when_called`.

    The kernel is the one that helpers wait in: to compile another one takes five seconds.
    """
    call = np.zeros(CALLS, np.int64)
    call[CALLED] = 1
    grow_when_called(NO_SIGNS, 0, 1, 0, call, np.array(scale, np.float64), *given)


class Crew:
    """The members of a team, on the arrays of a `Grower`.

    Parameters
    ----------
    workers : Workers
    given : team, bins, records, growth, scratch and rules, as `grow` takes them
    """

    def __init__(self, workers, given):
        team, *rest = given
        self._workers, self._given = workers, given
        self._calls = np.zeros((team.size - 1, CALLS), np.int64)
        self._steps = np.zeros(3)
        self._alone, self._next_alone, self._seconds = FIRST, 1, np.inf
        steps, calls = self._steps, self._calls

        def watch(i):
            own = calls[i], steps, team, i + 1, *rest
            return lambda *told, looks: grow_when_called(*told, PATIENCE * looks, *own)

        self._watches = [watch(i) for i in range(len(calls))]

    def is_given(self, given):
        """Return whether it grows trees on these very objects."""
        return all(own is other for own, other in zip(self._given, given, strict=True))

    def grow(self, scale):
        """Grow a tree, of records in the steps of a `Scale`."""
        began = perf_counter()
        if self._alone:
            grow(scale, make_team(1), 0, *self._given[1:])
            self._alone -= 1
            self._seconds = perf_counter() - began
            return
        self._grow_together(scale)
        if perf_counter() - began <= SLOWER * self._seconds:
            self._next_alone = 1
        else:
            self._alone, self._next_alone = self._next_alone, min(2 * self._next_alone, MOST_ALONE)

    def _grow_together(self, scale):
        """Grow a tree with the helpers."""
        team, *rest = self._given
        helpers = self._workers.stand_by(self._watches)
        self._steps[:] = scale
        try:
            woken = helpers if post_job(self._calls) else []
            for helper in woken:
                helper.hand(int)  # nothing: it then stands by again, and finds that it is called
            grow(scale, team, 0, *rest)
            wait_until_done(self._calls)  # the next tree may be one that they have no part in
        except BaseException:
            leave(team)
            raise
        for helper in woken:
            helper.wait()
