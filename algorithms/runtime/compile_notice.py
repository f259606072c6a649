"""Notice on stderr about the progress of kernel compilation, and how to compile beforehand.

The first fit in a process compiles its kernels where the cache does not hold them. The notice
appears once in a process, only where compilation takes more than a second. If the package has
compiled kernels that this process cannot run, a line says why, before the first compilation.
``HARNESS_COMPILE_NOTICE=0`` turns all of it off.
"""

import os
import sys
import threading
import time

from numba.core import event

from algorithms.runtime import jit, packaged_kernels

SWITCH = "HARNESS_COMPILE_NOTICE"
COMMAND = "python -m harness compile"
FIRST = 1.0  # seconds of compilation before anything is said
EVERY = 5.0  # seconds between two lines of progress
IDLE = 2.0  # seconds without compilation after which it counts as done
STEP = 0.25  # seconds between two looks


class CompileNotice(event.Listener):
    """Listener to numba that reports the progress of kernel compilation."""

    def __init__(self):
        self.kernels = 0  # that are compiled
        self._seconds = 0.0  # of all compilations that have ended
        self._began = 0.0  # monotonic time of the present compilation, 0.0: there is none
        self._ended = 0.0  # monotonic time of the end of the last one
        self._depth = 0  # a compilation may lie inside that of its caller
        self._thread = None
        self._done = False
        self._told_problem = False  # whether the line about the package's kernels was written

    def on_start(self, event):
        """Record that the compilation of a function begins."""
        self._depth += 1
        if self._depth > 1 or self._done or not _is_ours(event):
            return
        if jit.PACKAGED.problem and not self._told_problem:
            self._told_problem = True
            write(
                "algorithms: the compiled kernels of the package are not used "
                f"({jit.PACKAGED.problem}), so kernels are compiled now. "
                f"`{packaged_kernels.COMMAND}` replaces those of the package."
            )
        self._began = time.monotonic()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._watch, name="compile-notice", daemon=True)
            self._thread.start()

    def on_end(self, event):  # noqa: ARG002 - numba's signature
        """Record that the compilation has ended."""
        self._depth = max(0, self._depth - 1)
        if not self._depth and self._began:
            self._ended = time.monotonic()
            self._seconds += self._ended - self._began
            self._began = 0.0
            self.kernels += 1

    def seconds(self):
        """Return the seconds of compilation so far."""
        began = self._began
        return self._seconds + (time.monotonic() - began if began else 0.0)

    def _watch(self):
        """Write lines until nothing has been compiled for a while; runs in a thread of its own."""
        said = 0.0  # seconds of compilation at the last line
        while self._began or time.monotonic() - self._ended < IDLE:
            time.sleep(STEP)
            spent = self.seconds()
            if not said and spent >= FIRST:
                write(
                    "algorithms: compiling kernels for this machine; they are kept for later. "
                    f"`{COMMAND}` compiles all of them beforehand; {SWITCH}=0 hides this notice."
                )
                said = spent
            elif said and spent - said >= EVERY:
                write(f"algorithms: {self.kernels} kernels compiled, {spent:.0f} s")
                said = spent
        if said:
            self._done = True
            write(f"algorithms: done, {self.kernels} kernels compiled in {self.seconds():.0f} s")


def write(line):
    """Write a line to stderr, if there is one."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except Exception:  # noqa: BLE001 - closed or replaced: a fit must not end for a notice
        return


def _is_ours(event):
    dispatcher = (event.data or {}).get("dispatcher")
    module = getattr(getattr(dispatcher, "py_func", None), "__module__", "")
    return module.startswith("algorithms.")


def install():
    """Listen from now on, unless the environment says otherwise; return the listener or None."""
    if os.environ.get(SWITCH, "") == "0":
        return None
    notice = CompileNotice()
    event.register("numba:compile", notice)
    return notice


NOTICE = install()
