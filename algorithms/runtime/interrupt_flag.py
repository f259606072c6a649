"""Ctrl-C while kernels run: a flag in shared memory that Python's own C handler writes to.

Python runs its handler of SIGINT in the main thread, when that returns from a kernel. Its C
handler, which runs at once, also writes the number of the signal to the file descriptor that
`signal.set_wakeup_fd` names. Here that is a file mapped into memory: kernels of all threads that
work for the main thread read the mapping, and return early. Then KeyboardInterrupt is raised.

Other threads of a program are not interrupted by signals; their flag is never set.
"""

import contextlib
import mmap
import os
import signal
import tempfile
import threading

import numpy as np

from algorithms.runtime.interrupts import INTERRUPT, NEVER

BYTES = mmap.PAGESIZE
_of_thread = threading.local()  # ``flag``, of threads that work for another one


class SignalFile:
    """File that the signal handler writes to, and its memory mapping.

    Attributes
    ----------
    flag : int64 (n,), bytes are the signal numbers in order of arrival
    """

    def __init__(self):
        with tempfile.TemporaryFile(buffering=0) as file:
            self._descriptor = os.dup(file.fileno())
        os.truncate(self._descriptor, BYTES)
        os.set_blocking(self._descriptor, False)
        self.flag = np.frombuffer(mmap.mmap(self._descriptor, BYTES), np.int64)

    @contextlib.contextmanager
    def receive(self):
        """Context in which signals are written to the file."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self.flag[:] = 0
        before = signal.set_wakeup_fd(self._descriptor, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            if before >= 0 and self.flag[0]:
                signals = self.flag.tobytes().rstrip(b"\0")
                with contextlib.suppress(OSError):
                    os.write(before, signals)


class InterruptWatch:
    """Interrupt flag of the main thread while it is in a fit or prediction."""

    def __init__(self):
        self._file = None
        self._is_watching = False

    def flag(self):
        """Return the flag of the current thread, for kernels."""
        own = getattr(_of_thread, "flag", None)
        if own is not None:
            return own
        return self._file.flag if self._is_watching and is_main_thread() else NEVER

    @contextlib.contextmanager
    def watch(self):
        """Set the flag of the main thread by SIGINT, inside; do nothing in other threads.

        Nothing is done either where SIGINT has another handler than Python's own, which might not
        raise KeyboardInterrupt, nor where no file can be made.
        """
        if self._is_watching or not can_be_interrupted() or not self._has_file():
            yield
            return
        self._is_watching = True
        try:
            with self._file.receive():
                yield
        finally:
            self._is_watching = False

    def _has_file(self):
        """Return whether there is a file; create it when first needed."""
        if self._file is None:
            with contextlib.suppress(OSError, ValueError):
                self._file = SignalFile()
        return self._file is not None

    def forget(self):
        """Use another file from now on: a forked process must not share its parent's."""
        if self._is_watching:
            signal.set_wakeup_fd(-1)
        self._file, self._is_watching = None, False


def is_main_thread():
    """Return whether the current thread is the one that Python handles signals in."""
    return threading.get_ident() == threading.main_thread().ident


def can_be_interrupted():
    """Return whether this is the main thread, and SIGINT raises KeyboardInterrupt in it."""
    return is_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def inherit_flag(flag):
    """Use the flag of another thread in the current thread."""
    _of_thread.flag = flag


def check_interrupt(flag):
    """Raise KeyboardInterrupt if a flag contains SIGINT."""
    if flag[0] and INTERRUPT in flag.view(np.uint8):
        raise KeyboardInterrupt


_watch = InterruptWatch()
interrupt_flag, watch_interrupts = _watch.flag, _watch.watch
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.forget)
