"""How many processors a worker had, and how many other programs used, over an interval."""

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
ENOUGH = 0.8  # share of its threads for which a worker needs processors that others leave free


class _Reading(NamedTuple):
    moment: float
    busy: float  # processor seconds of all programs, and those that the hypervisor took
    own: float  # processor seconds of the worker and its descendants


class LoadMeter:
    """Measure from now on.

    Parameters
    ----------
    pid
        The worker.
    cpus
        Processors that the worker may use; none: all of this process.
    """

    def __init__(self, pid: int, cpus: Collection[int] = ()) -> None:
        self._pid = pid
        self._cpus = set(cpus) or _usable()
        self._start = self._read()

    def facts(self, threads: int) -> JSON:
        """Return the mean number of processors used so far, and whether the machine was loaded.

        It was loaded where the other programs left fewer processors free than a worker with so
        many threads needs.

        Returns
        -------
        dict
            ``processors`` the worker could use, ``own`` and ``others``: how many of them the
            worker and all other programs used; ``loaded``. Empty where nothing can be measured.
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
    """Return the seconds in which some processors were not idle since the machine started."""
    found = 0.0
    with contextlib.suppress(Exception):  # psutil raises many kinds where a system does not say
        for number, times in enumerate(psutil.cpu_times(percpu=True)):
            if number in cpus:
                idle = times.idle + getattr(times, "iowait", 0.0)
                guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
                found += sum(times) - idle - guest  # guest times are part of user and nice
    return found


def tree_seconds(pid: int) -> float:
    """Return the processor seconds of a process, its descendants, and its ended children."""
    return sum(_seconds(one) for one in (pid, *processes.descendants(pid)))


def _seconds(pid: int) -> float:
    try:
        if processes.PROC.is_dir():
            # of itself and of its children that have ended, as user and in the kernel
            return sum(map(int, processes.stat_fields(pid)[11:15])) / processes.TICKS
        return sum(psutil.Process(pid).cpu_times()[:4])
    except (OSError, ValueError, psutil.Error):  # it has ended
        return 0.0


def _usable() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
