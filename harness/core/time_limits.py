"""Time limits of requests to a worker, without suspended time and compile time."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds. The parent checks a limit at least four times a second. A longer gap means that the
# parent was suspended (Ctrl-Z, SIGSTOP, a suspended machine) or was not scheduled.
LONGEST_GAP = 1.0
MAX_COMPILING = 3600.0  # seconds of compilation that do not count


class TimeLimit:
    """Time limit of one or several requests.

    Time in which this process was suspended does not count, because it could not receive a reply.
    Time in which the worker compiled kernels does not count either.

    Parameters
    ----------
    seconds
        The limit.
    compile_seconds
        Function that returns the seconds that the worker has spent compiling until now.
    """

    def __init__(self, seconds: float, compile_seconds: Callable[[], float] = float) -> None:
        self.seconds = seconds
        self._compile_seconds = compile_seconds
        self._compiled_before = compile_seconds()
        self._seen = time.monotonic()
        self._watched = 0.0  # seconds, without those of gaps

    @property
    def compiled(self) -> float:
        """Return the seconds of compilation that do not count."""
        spent = self._compile_seconds() - self._compiled_before
        return min(max(spent, 0.0), MAX_COMPILING)

    def left(self) -> float:
        """Return the remaining seconds; call it at least every `LONGEST_GAP` seconds."""
        now = time.monotonic()
        gap, self._seen = now - self._seen, now
        if gap <= LONGEST_GAP:
            self._watched += gap
        return self.seconds + self.compiled - self._watched
