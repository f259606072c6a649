"""A process that has imported what every worker imports, and forks one whenever it is asked.

Importing numpy, pandas and scikit-learn takes seconds of processor time; a fork takes
milliseconds. The template runs nothing but imports: no plugin, no kernel, no table. So it has no
threads but two that look after themselves at a fork, OpenBLAS's and one of Arrow's allocator.

Asked is over a Unix socket: one message a worker, JSON with the four descriptors that it needs.
The worker tells its process id, and the template, when it has ended, how. A template ends with the
harness, whose end of the socket nobody else holds, and by itself where nobody asks for a while.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import socket
import sys
import threading
from dataclasses import dataclass

from harness.core.model import JSON, Sample

IDLE = 60.0  # seconds without a worker and without a request after which it ends
LONGEST = 1 << 16  # bytes of a request
PRELOADED = (
    "harness.worker.arrays",
    "harness.worker.checks",
    "harness.worker.prepared_trial",
    "harness.worker.loop",
    "harness.worker.tuning",
    "harness.worker.variations",
    "harness.worker.warm_up",
    "pandas",
    "scipy.sparse",
    "sklearn.model_selection",
    "threadpoolctl",
)


@dataclass(eq=False)
class _Worker:
    """A worker of this template, as long as somebody wants to hear of it."""

    pid: int
    pidfd: int  # readable once it has ended
    told: socket.socket  # hung up once nobody needs its process id any more
    ended: bool = False

    def close(self) -> None:
        os.close(self.pidfd)
        self.told.close()


def become_worker(door: int) -> Sample:
    """Fork a worker for each request at a socket; return in each of them, and only there.

    Returns
    -------
    Sample
        What the imports took, which every worker of the template was spared.
    """
    imported = preload()
    if threading.active_count() > 1:  # somebody's site customisation: a fork would lose them
        os._exit(0)
    gc.collect()
    gc.freeze()  # a worker's collector then leaves these pages shared for longer
    with socket.socket(fileno=door) as requests:
        _serve(requests)
    return imported


def preload() -> Sample:
    """Import what every worker imports, and measure it."""
    from harness.core.phase_timer import Meter
    from harness.worker.loading import builtin_data

    meter = Meter()
    with meter.phase("import"):
        for name in (*PRELOADED, *builtin_data()):
            importlib.import_module(name)
    return meter.last


def _serve(requests: socket.socket) -> None:
    """Answer requests until there is nobody to ask; return in a new worker."""
    workers: list[_Worker] = []
    while True:
        poll = select.poll()
        poll.register(requests, select.POLLIN)
        for worker in workers:
            if worker.ended:
                poll.register(worker.told, 0)  # a hang-up is always told
            else:
                poll.register(worker.pidfd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if workers else 1000 * IDLE)}
        if not ready:
            os._exit(0)
        workers = [worker for worker in workers if _kept(worker, ready)]
        if requests.fileno() in ready:
            asked, given, _, _ = socket.recv_fds(requests, LONGEST, 4, socket.MSG_CMSG_CLOEXEC)
            if not asked:
                os._exit(0)  # the harness has gone; the guards of its workers see to them
            if (new := _forked(given)) is None:
                for worker in workers:
                    worker.close()
                _furnish(json.loads(asked), *given)
                return
            workers.append(new)


def _kept(worker: _Worker, ready: set[int]) -> bool:
    """Tell how a worker ended, once it has; reap it when that is known, and then forget it."""
    if worker.pidfd in ready:
        worker.ended = True
        how = os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        assert how is not None
        code = how.si_status if how.si_code == os.CLD_EXITED else -how.si_status
        with contextlib.suppress(OSError):
            worker.told.send(str(code).encode())
    if worker.told.fileno() not in ready:
        return True
    os.waitpid(worker.pid, 0)  # not before: until then its process id is nobody else's
    worker.close()
    return False


def _forked(given: list[int]) -> _Worker | None:
    """Fork; return None in the worker, which alone then has the first descriptors."""
    pid = os.fork()
    if not pid:
        return None
    *workers_own, told = given
    for fd in workers_own:
        os.close(fd)
    return _Worker(pid, os.pidfd_open(pid), socket.socket(fileno=told))


def _furnish(asked: JSON, stdin: int, output: int, replies: int, told: int) -> None:
    """Make this fork what a worker is that was started anew, and tell that it is there."""
    os.setsid()  # before it is known of, else its group could be missed where it is to be killed
    pidfd = os.pidfd_open(os.getpid())
    with socket.socket(fileno=told) as door, contextlib.suppress(OSError):
        # Where nobody hears, it has been given up meanwhile, and its stdin hung up.
        socket.send_fds(door, [str(os.getpid()).encode()], [pidfd])
    for fd, place in ((stdin, 0), (output, 1), (output, 2)):
        os.dup2(fd, place)
    for fd in (pidfd, stdin, output):
        os.close(fd)
    with contextlib.suppress(OSError):
        os.chdir(asked["folder"])
    os.environ.update(asked["variables"], HARNESS_REPLY_FD=str(replies))
    del sys.argv[1:]
    import numpy as np

    np.random.seed()  # noqa: NPY002 - else that global generator is the same in every worker
