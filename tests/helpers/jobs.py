"""Jobs of the misbehaving plugin, for all tests that run a worker."""

import contextlib
import hashlib
import itertools
import time
from pathlib import Path

import psutil

from harness.core.model import DatasetRef, Job, Limits, Split, Task, Trial

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "misbehave.py"
_numbers = itertools.count()


def trial(params, *, timed=False, threads=1):
    number = f"{next(_numbers):016x}"
    return Trial(
        "misbehave",
        params,
        "native",
        "tiny",
        Split("given", folds=1),
        0,
        threads,
        f"c{number[1:]}",
        number,
        Task.BINARY,
        timed=timed,
    )


def job(*params, timed=False, threads=1, timeout=30.0, memory=0, plugin=PLUGIN, **more):
    """Return a job with one trial for each set of params."""
    ref = more.pop("dataset", DatasetRef("tiny", hashlib.sha256(b"tiny").hexdigest()))
    return Job(
        "misbehave",
        str(plugin),
        ref,
        tuple(trial(p, timed=timed, threads=threads) for p in params),
        threads=threads,
        limits=Limits(timeout, memory),
        **more,
    )


def running(pid):
    """Return True if a process runs; a zombie does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def wait_until(condition, seconds=20.0):
    """Return the result of a condition once it is true; fail after a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError(f"still not so after {seconds} s: {condition}")


def pids_in(path):
    """Return the process ids that a plugin wrote to a file, once they are there."""
    return [int(pid) for pid in wait_until(lambda: path.exists() and path.read_text()).split()]
