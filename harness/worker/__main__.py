"""Set the process up before anything heavy is imported, then answer requests until the end."""

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
TEMPLATE = "--template"  # and the descriptor of a socket: fork workers, see `template`


def main(imported: Sample | None = None) -> None:
    """Run ``python -m harness.worker``, or a fork of its template."""
    guard()
    become_subreaper()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prefer_as_victim()
    pin([int(cpu) for cpu in os.environ.pop("HARNESS_AFFINITY", "").split(",") if cpu])
    # The file is kept open for as long as the process lives: it is written to by a dying one.
    faults = os.open(os.environ.pop("HARNESS_FAULTS", os.devnull), os.O_WRONLY | os.O_APPEND)
    faulthandler.enable(faults)
    requests, replies = channels()

    from harness.worker.loop import serve

    serve(requests, replies, imported)


def guard() -> None:
    """Start a process that ends this one's group when the parent has gone, however it went.

    It waits for the hang-up of stdin, whose other end only the parent holds. A signal at the
    parent's death (``PR_SET_PDEATHSIG``) would be sent when the *thread* that started the worker
    ends, would not reach the worker's own children, and is known to Linux alone.
    """
    if os.getpid() != os.getpgrp():
        return  # started by hand from a shell, whose process group is not ours to end
    mark = Mark.now(os.environ[MARK]) if MARK in os.environ else None
    if os.fork():
        os.wait()
        return
    if os.fork():  # once more, so that it is nobody's child, and no part of the worker's memory
        os._exit(0)
    for fd in {1, 2, int(os.environ.get("HARNESS_REPLY_FD", "1"))}:
        os.close(fd)
    poll = select.poll()
    poll.register(0, 0)  # a hang-up is always told, and no request is read away
    poll.poll()
    kill_group(os.getpgrp(), mark)


def become_subreaper() -> None:
    """Become the parent of all descendants whose own parents end, as far as the system can.

    So a process that a plugin has made a daemon is still found and ended with this worker.
    """
    with contextlib.suppress(OSError, AttributeError):  # macOS and others have no prctl
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def prefer_as_victim() -> None:
    """Let the kernel, where it runs out of memory, end this process before any other."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")


def channels() -> tuple[BinaryIO, BinaryIO]:
    """Return private ends of the two channels, out of the way of plugins and their children."""
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
