"""Timer of the phases of a fit, switched on by the environment variable ``HARNESS_PHASE_TIMER=1``.

    HARNESS_PHASE_TIMER=1 python train.py

Each fit of a histogram booster then writes a table to stderr: wall seconds and CPU seconds of all
threads by phase. A phase does not include the phases that run inside it, so the seconds add up to
those of the fit. The rest is Python between kernels. When the variable is not set, `timed_phase`
and `timed_fit` return the function itself, so the timer costs nothing.

Histograms, split search and partition are one phase, because one kernel does all three. Below
65 536 rows one kernel adds many rounds; these are one phase.
"""

import os
import sys
import threading
import time
from functools import wraps

SWITCH = "HARNESS_PHASE_TIMER"
IS_ON = os.environ.get(SWITCH, "0") not in ("", "0")

INPUT = "checking and converting input"
EDGES = "bin edges"
BINNING = "binning"
BUNDLING = "bundling"
GRADIENTS = "gradients"
PACKING = "packed gradients"
CATEGORIES = "bins of high-cardinality columns"
GROWTH = "histograms, split search, partition"
LINEAR_LEAVES = "linear leaves"
SCORES = "leaf values and scores"
ROUNDS = "rounds added by one kernel"
MODEL = "joining the trees"
REST = "Python between kernels"
PHASES = (
    *(INPUT, EDGES, BINNING, BUNDLING, GRADIENTS, PACKING, CATEGORIES, GROWTH, LINEAR_LEAVES),
    *(SCORES, ROUNDS, MODEL, REST),
)


class PhaseTimer:
    """Seconds by phase of one fit, in the thread that runs the fit."""

    def __init__(self):
        self.thread = threading.get_ident()
        self.seconds = {name: [0.0, 0.0, 0] for name in PHASES}  # wall, CPU, calls
        self._open = [REST]
        self._last = time.perf_counter(), time.process_time()

    def enter(self, name):
        """Begin a phase; the surrounding phase is paused."""
        self._charge()
        self._open.append(name)
        self.seconds[name][2] += 1

    def leave(self):
        """End the innermost phase."""
        self._charge()
        self._open.pop()

    def _charge(self):
        """Add the time since the last change to the innermost phase."""
        now = time.perf_counter(), time.process_time()
        own = self.seconds[self._open[-1]]
        own[0] += now[0] - self._last[0]
        own[1] += now[1] - self._last[1]
        self._last = now

    def report(self):
        """Return the table of the phases, as text."""
        self._charge()
        total = [sum(one[i] for one in self.seconds.values()) for i in range(2)]
        lines = [f"{'phase':38} {'calls':>6} {'wall ms':>10} {'CPU ms':>10} {'CPU %':>6}"]
        for name, (wall, cpu, calls) in [*self.seconds.items(), ("fit", (*total, 1))]:
            share = 100.0 * cpu / total[1] if total[1] > 0.0 else 0.0
            lines.append(f"{name:38} {calls:6d} {1e3 * wall:10.2f} {1e3 * cpu:10.2f} {share:6.1f}")
        return "\n".join(lines)


_active: list[PhaseTimer] = []


def timed_phase(name, *, is_on=IS_ON):
    """Return a decorator that adds a function's time to a phase, during a timed fit."""

    def decorate(function):
        if not is_on:
            return function

        @wraps(function)
        def timed(*args, **kwargs):
            timer = _active[-1] if _active else None
            if timer is None or timer.thread != threading.get_ident():
                return function(*args, **kwargs)
            timer.enter(name)
            try:
                return function(*args, **kwargs)
            finally:
                timer.leave()

        return timed

    return decorate


def timed_fit(function, *, is_on=IS_ON):
    """Decorate a function that fits a model: write the table of its phases to stderr."""
    if not is_on:
        return function

    @wraps(function)
    def timed(*args, **kwargs):
        timer = PhaseTimer()
        _active.append(timer)
        try:
            result = function(*args, **kwargs)
        finally:
            _active.remove(timer)
        sys.stderr.write(timer.report() + "\n")
        return result

    return timed
