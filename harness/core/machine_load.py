"""Processor load over an interval: of a worker and of all other programs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from typing import NamedTuple

import psutil

from harness.core import processes
from harness.core.model import JSON

SHORTEST = 0.5  # seconds; processor times are counted in hundredths of a second
ENOUGH = 0.8  # share of a worker's threads that must have a free processor


class _Reading(NamedTuple):
    moment: float
    busy: float  # processor seconds of all programs and of the hypervisor (steal time)
    own: float  # processor seconds of the worker and its descendants


class LoadMeter:
    """Measure the processor load from construction on.

    Parameters
    ----------
    pid
        Process id of the worker.
    cpus
        Processors that the worker may use; empty: all that this process may use.
    """

    def __init__(self, pid: int, cpus: Collection[int] = ()) -> None:
        self._pid = pid
        self._cpus = set(cpus) or _usable()
        self._start = self._read()

    def facts(self, threads: int) -> JSON:
        """Return the mean number of processors used so far, and whether the machine was loaded.

        The machine was loaded if other programs left fewer processors free than a worker with
        ``threads`` threads needs.

        Returns
        -------
        dict
            ``processors``: number the worker could use; ``own`` and ``others``: mean number that
            the worker and all other programs used; ``loaded``. Empty if the interval is too short.
        """
        now = self._read()
        seconds = now.moment - self._start.moment
        if seconds < SHORTEST:
            return {}
        own = (now.own - self._start.own) / seconds
        others = max(0.0, (now.busy - self._start.busy) / seconds - own)
        processors = len(self._cpus)
        needed = min(threads, processors)
        loaded = processors - others < ENOUGH * needed and own < ENOUGH * needed
        return {
            "processors": processors,
            "own": round(own, 2),
            "others": round(others, 2),
            "loaded": loaded,
        }

    def _read(self) -> _Reading:
        return _Reading(time.monotonic(), busy_seconds(self._cpus), tree_seconds(self._pid))


def busy_seconds(cpus: Collection[int]) -> float:
    """Return the busy seconds of some processors since the machine started."""
    busy = 0.0
    with contextlib.suppress(Exception):  # psutil raises various errors on unsupported systems
        for number, times in enumerate(psutil.cpu_times(percpu=True)):
            if number in cpus:
                idle = times.idle + getattr(times, "iowait", 0.0)
                guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
                busy += sum(times) - idle - guest  # guest times are part of user and nice
    return busy


def tree_seconds(pid: int) -> float:
    """Return the processor seconds of a process, its descendants, and its ended children."""
    return sum(_seconds(one) for one in (pid, *processes.descendants(pid)))


def _seconds(pid: int) -> float:
    try:
        if processes.PROC.is_dir():
            # user and system time of the process and of its ended children
            return sum(map(int, processes.stat_fields(pid)[11:15])) / processes.TICKS
        return sum(psutil.Process(pid).cpu_times()[:4])
    except (OSError, ValueError, psutil.Error):  # the process has ended
        return 0.0


def _usable() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
