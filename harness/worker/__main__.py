"""Entry point of a worker: set up the process, then answer requests."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from harness.core.processes import MARK, Mark, kill_group
from harness.worker.affinity import pin

if TYPE_CHECKING:
    from harness.core.model import Sample

PR_SET_CHILD_SUBREAPER = 36  # of Linux's prctl
TEMPLATE = "--template"  # followed by the descriptor of a socket: run as template, see `template`


def main(imported: Sample | None = None) -> None:
    """Run ``python -m harness.worker``, or a fork of its template."""
    guard()
    become_subreaper()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prefer_for_oom_kill()
    pin([int(cpu) for cpu in os.environ.pop("HARNESS_AFFINITY", "").split(",") if cpu])
    # The file stays open, because faulthandler writes to it when the process crashes.
    faulthandler.enable(open_faults(os.environ.pop("HARNESS_FAULTS", os.devnull)))
    requests, replies = channels()

    from harness.worker.loop import serve

    serve(requests, replies, imported)


def open_faults(path: str) -> int:
    """Open the file for faulthandler; the null device if the run's folder was removed."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        return os.open(os.devnull, os.O_WRONLY)


def guard() -> None:
    """Start a guard process that kills this process group when the parent has ended.

    It waits until stdin is closed, whose other end only the parent has open. A signal at the
    parent's death (``PR_SET_PDEATHSIG``) would be sent when the *thread* that started the worker
    ends, would not reach the worker's children, and exists only on Linux.
    """
    if os.getpid() != os.getpgrp():
        return  # started from a shell: do not kill its process group
    mark = Mark.now(os.environ[MARK]) if MARK in os.environ else None
    if os.fork():
        os.wait()
        return
    if os.fork():  # second fork: the guard is no child of the worker and not part of its memory
        os._exit(0)
    for fd in {1, 2, int(os.environ.get("HARNESS_REPLY_FD", "1"))}:
        os.close(fd)
    poll = select.poll()
    poll.register(0, 0)  # reports only a hang-up and reads no requests
    poll.poll()
    kill_group(os.getpgrp(), mark)


def become_subreaper() -> None:
    """Become the parent of all descendants whose parents end, on Linux.

    So daemon processes of a plugin are found and ended with this worker.
    """
    with contextlib.suppress(OSError, AttributeError):  # macOS and others have no prctl
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def prefer_for_oom_kill() -> None:
    """Let the kernel kill this process first if it runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")


def channels() -> tuple[BinaryIO, BinaryIO]:
    """Return private descriptors of both channels, which plugins and their children do not use."""
    given = int(os.environ.pop("HARNESS_REPLY_FD", "1"))
    requests, replies = os.dup(0), os.dup(given)
    if given > 2:
        os.close(given)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(requests, "rb"), os.fdopen(replies, "wb")


if __name__ == "__main__":  # a plugin's own child processes may import this file again
    if sys.argv[1:2] == [TEMPLATE]:
        from harness.worker.template import become_worker

        main(become_worker(int(sys.argv[2])))
    else:
        main()
