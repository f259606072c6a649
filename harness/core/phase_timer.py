"""Measure phases of a trial: wall time, CPU time of all threads, and peak memory.

Peak memory is read from ``VmHWM``, which Linux resets to the present size when ``5`` is written
to ``/proc/self/clear_refs``. ``ru_maxrss`` would be wrong: it is never reset, and a child starts
with its parent's. If the reset is not possible, a thread samples the size instead, and
``Meter.approximate`` is True.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.core.model import Sample

CLEAR_REFS = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")


class Meter:
    """Measure the phases that run in this process.

    Parameters
    ----------
    kernel_peak
        Whether to read the peak from the kernel; by default if the kernel supports it.

    Notes
    -----
    Peaks are relative to the *warm process*: its size at the last call of :meth:`warm`. So the
    peak of ``fit`` includes the library's training data and everything else allocated since then.
    """

    def __init__(self, *, kernel_peak: bool | None = None) -> None:
        can = reset_peak()
        self.approximate = not (can if kernel_peak is None else kernel_peak and can)
        self.base = 0
        self._seen: set[str] = set()
        self.last = Sample("none", 0.0, 0.0)  # the latest sample
        self.warm()

    def warm(self) -> None:
        """Return free memory to the system and set the base to the present size."""
        gc.collect()
        give_back()
        self.base = resident_now()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the body and store its sample in ``last``, even if the body raises.

        The garbage collector runs before the body and is off during it.
        """
        was_enabled = gc.isenabled()
        gc.collect()
        gc.disable()
        peak = self._sampled_peak() if self.approximate else self._kernel_peak()
        try:
            with peak as highest:
                cpu = cpu_seconds()
                start = time.perf_counter_ns()
                try:
                    yield
                finally:
                    wall = (time.perf_counter_ns() - start) / 1e9
                    cpu = cpu_seconds() - cpu
        finally:
            if was_enabled:
                gc.enable()
            above = max(0, highest() - self.base)
            self.last = Sample(name, wall, cpu, above, cold=name not in self._seen)
            self._seen.add(name)

    def take(self, name: str, work: Callable[[], object]) -> Sample:
        """Return the sample of one call without arguments."""
        with self.phase(name):
            work()
        return self.last

    @contextlib.contextmanager
    def _kernel_peak(self) -> Iterator[Callable[[], int]]:
        reset_peak()
        yield lambda: _status("VmHWM")

    @contextlib.contextmanager
    def _sampled_peak(self) -> Iterator[Callable[[], int]]:
        """Sample the size every 10 ms in a thread; short peaks may be missed."""
        seen = [resident_now()]
        done = threading.Event()

        def sample() -> None:
            while not done.wait(0.01):
                seen.append(max(seen.pop(), resident_now()))

        thread = threading.Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield lambda: max(seen[0], resident_now())
        finally:
            done.set()
            thread.join()


def cpu_seconds() -> float:
    """Return CPU seconds of all threads of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() / 1e9 + children.ru_utime + children.ru_stime


def reset_peak() -> bool:
    """Reset the kernel's peak memory to the present size; return whether that worked."""
    try:
        CLEAR_REFS.write_bytes(b"5")
    except OSError:
        return False
    return True


def resident_now() -> int:
    """Return the resident bytes of this process."""
    try:
        return _status("VmRSS")
    except OSError:
        import psutil

        return int(psutil.Process().memory_info().rss)


def _status(key: str) -> int:
    """Return a size in bytes from ``/proc/self/status``."""
    text = STATUS.read_bytes()
    at = text.index(key.encode() + b":")
    return int(text[at:].split(maxsplit=2)[1]) * 1024


def give_back() -> None:
    """Let glibc return freed memory, so that memory of earlier trials does not hide this peak."""
    with contextlib.suppress(OSError, AttributeError):  # another libc
        ctypes.CDLL(None).malloc_trim(0)
