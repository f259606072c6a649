"""Processor affinity of this process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path


def pin(cpus: Collection[int]) -> None:
    """Pin every thread of this process to processors; no-op if empty or not supported."""
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):  # it has ended, or may not run there
            os.sched_setaffinity(int(thread.name), cpus)


def affinity() -> list[int]:
    """Return the processors this process may use; empty if not supported."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0))
