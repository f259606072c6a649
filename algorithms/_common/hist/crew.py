"""Threads that grow one small tree after another together, and wait for the next inside the kernel.

To hand a task to a thread, and to hear that it is done, takes the lock of the interpreter four
times, and whoever waits for the lock may sleep: 35 to 50 µs in all, where a small tree takes 300.
So helpers stand by inside the kernel, without the lock, and grow as soon as they are called.
"""

import numpy as np

from algorithms._kernels.hist.grow import grow, grow_when_called
from algorithms._kernels.team import CALLS, call_all

PATIENCE = 4  # times as long as others, a helper looks out: other steps of a round lie between


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
        self._order = np.zeros(3)
        order, calls = self._order, self._calls

        def watch(i):
            own = calls[i], order, team, i + 1, *rest
            return lambda *told, looks: grow_when_called(*told, PATIENCE * looks, *own)

        self._watches = [watch(i) for i in range(len(calls))]

    def is_given(self, given):
        """Return whether it grows trees on these very objects."""
        return all(own is other for own, other in zip(self._given, given, strict=True))

    def grow(self, scale):
        """Grow a tree, of records in the steps of a `Scale`."""
        helpers = self._workers.stand_by(self._watches)
        self._order[:] = scale
        woken = helpers if call_all(self._calls) else []
        for helper in woken:
            helper.hand(int)  # nothing: it then stands by again, and finds that it is called
        team, *rest = self._given
        grow(team, 0, *rest, scale)
        for helper in woken:
            helper.wait()
