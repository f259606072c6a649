"""Threads that stay inside the growing kernel and wait there for the next small tree.

Starting a task on a Python thread and waiting for it acquires the GIL four times, which takes 35
to 50 µs, while a small tree takes 300 µs. So helper threads wait inside the kernel, without the
GIL, and start as soon as a flag is set.

On a busy machine threads may wait for each other a hundred times as long as they work. The first
trees are grown by one thread to measure its time. Whenever several threads take longer than that,
the next trees are grown by one thread.
"""

from time import perf_counter

import numpy as np

from algorithms.gbdt.high_cardinality import collect_columns
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, NODE, RoundArrays
from algorithms.gbdt.kernels.gradients import ROWS
from algorithms.gbdt.kernels.grow_tree import grow_when_called
from algorithms.gbdt.phase_timer import GROWTH, timed_phase
from algorithms.runtime.exact_sum_kernels import SINGLE_EXPONENTS
from algorithms.runtime.thread_team import CALLED, CALLS, TASK_COUNTERS, post_job, wait_until_done
from algorithms.runtime.threads import leave, make_team

SLOWER = 1.2  # sharing a tree failed if it takes this many times as long as one thread
FIRST = 2  # trees that one thread grows first; the first one includes loading time
MAX_ALONE = 64  # maximum number of trees that one thread grows before sharing is tried again
PATIENCE = 4  # factor of a helper's polling time, because a round has other steps between trees
NO_TASKS = np.zeros(TASK_COUNTERS, np.int64)


def empty_rounds(n_rounds, n_scores, n_nodes, n_set_nodes, n_held_out):
    """Return the arrays of `RoundArrays` that all threads write, by name."""
    return {
        "steps": np.ones((n_scores, 2)),
        "taken": np.zeros(n_rounds, np.int64),
        "continues": np.zeros(n_rounds, np.int64),
        "nodes": np.empty((n_rounds, n_scores, n_nodes), NODE),
        "goes_left": np.empty((n_rounds, n_scores, n_set_nodes, MAX_BINS), np.uint8),
        "n_leaves": np.zeros((n_rounds, n_scores), np.int64),
        "held_out_scores": np.empty((n_rounds, n_scores, n_held_out)),
    }


def work_arrays(n_scores):
    """Return the array of `RoundArrays` that one thread writes, by name."""
    return {"work": np.empty((n_scores + 2, ROWS))}


def packing_arrays(size):
    """Return the arrays of `RoundArrays` that a team of threads packs gradients with, by name."""
    tables = np.empty((size, 2, SINGLE_EXPONENTS + 1), np.int64)
    return {"tables": tables, "bounds": np.ones(2, np.int64)}


def rows_of_trees(rows, held_out):
    """Return the arrays of rows of `RoundArrays`, by name."""
    return {"no_rows": np.empty(0, np.uint32), "rows": rows, "held_out": held_out}


def no_rounds():
    """Return the `RoundArrays` of a call that grows one tree."""
    numbers, singles = np.empty((0, 0)), np.empty((0, 0), np.float32)
    seeds, rows = np.empty((0, 0), np.uint32), np.empty(0, np.uint32)
    given = seeds, seeds, numbers, numbers, np.empty(0), singles, singles
    named = work_arrays(0) | packing_arrays(1) | empty_rounds(0, 0, 0, 0, 0)
    named |= rows_of_trees(rows, rows) | {"categories": collect_columns([], 1.0, 1.0)}
    return RoundArrays(make_team(1), 0, 0, 0.0, 0.0, 0.0, 1, *given, **named)


NO_ROUNDS = no_rounds()


def grow(scale, *given, rounds=NO_ROUNDS):
    """Grow one tree with packed gradients of the given `Scale`, or add rounds.

    ``given`` are arguments of `grow_when_called`. This uses the same kernel as the helper threads,
    because compiling another one would take five seconds.
    """
    call = np.zeros(CALLS, np.int64)
    call[CALLED] = 1
    grow_when_called(NO_TASKS, 0, 1, 0, call, np.array(scale, np.float64), *given, rounds)


class ThreadTrial:
    """Decides from measured times whether one or several threads grow the next trees or rounds."""

    def __init__(self):
        self.alone = FIRST  # trees or rounds that one thread adds next; 0: several threads do
        self._next_alone, self._seconds = 1, np.inf

    def note(self, seconds, n_trees=1):
        """Record the time of the last ``n_trees`` trees or rounds.

        If one thread grew them, they are at most `alone`.
        """
        if self.alone:
            self.alone -= n_trees
            self._seconds = seconds / n_trees
        elif seconds <= SLOWER * self._seconds * n_trees:
            self._next_alone = 1
        else:
            self.alone, self._next_alone = self._next_alone, min(2 * self._next_alone, MAX_ALONE)


class ResidentThreads:
    """Thread team that grows trees in the arrays of one `Grower`.

    Parameters
    ----------
    workers : Workers
    given : tuple of team, bins, records, growth, scratch and rules, the arguments of `grow`
    """

    def __init__(self, workers, given):
        team, *rest = given
        self._workers, self._given = workers, given
        self._calls = np.zeros((team.size - 1, CALLS), np.int64)
        self._steps = np.zeros(4)
        self._trial = ThreadTrial()
        steps, calls = self._steps, self._calls

        def wait_function(i):
            own = calls[i], steps, team, i + 1, *rest, NO_ROUNDS
            return lambda *until, max_spins: grow_when_called(*until, PATIENCE * max_spins, *own)

        self._wait_functions = [wait_function(i) for i in range(len(calls))]

    def is_given(self, given):
        """Return whether these are the objects that it grows trees with."""
        return all(own is other for own, other in zip(self._given, given, strict=True))

    @timed_phase(GROWTH)
    def grow(self, scale):
        """Grow a tree with packed gradients of the given `Scale`."""
        began = perf_counter()
        if self._trial.alone:
            grow(scale, make_team(1), 0, *self._given[1:])
        else:
            self._grow_together(scale)
        self._trial.note(perf_counter() - began)

    def _grow_together(self, scale):
        """Grow a tree together with the helper threads."""
        team, *rest = self._given
        helpers = self._workers.set_wait_functions(self._wait_functions)
        self._steps[:] = scale
        try:
            woken = helpers if post_job(self._calls) else []
            for helper in woken:
                helper.submit(int)  # an empty task: the helper then reenters the kernel
            grow(scale, team, 0, *rest)
            wait_until_done(self._calls)  # the next tree may be grown without the helpers
        except BaseException:
            leave(team)
            raise
        for helper in woken:
            helper.wait()
