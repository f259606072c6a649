"""Template process: it has imported the modules of every worker, and forks workers on request.

Importing numpy, pandas and scikit-learn takes seconds of processor time; a fork takes
milliseconds. The template only imports: it runs no plugin, no kernel, and loads no table. So it has
only two threads besides the main one, of OpenBLAS and of Arrow's allocator, which are fork-safe.

Requests come over a Unix socket: one message per worker, JSON with the four descriptors that it
needs. The worker sends its process id; the template sends the exit code when the worker has ended.
The template ends when the harness closes its end of the socket, or after some idle time.
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

IDLE = 60.0  # seconds without workers and requests after which it ends
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
    """Worker of this template, until the parent closes its socket."""

    pid: int
    pidfd: int  # readable once it has ended
    status_socket: socket.socket  # closed by the parent when it no longer needs the process id
    ended: bool = False

    def close(self) -> None:
        os.close(self.pidfd)
        self.status_socket.close()


def become_worker(socket_fd: int) -> Sample:
    """Fork a worker for each request at a socket; return only in the workers.

    Returns
    -------
    Sample
        Time and memory of the imports in the template.
    """
    imported = preload()
    if threading.active_count() > 1:  # threads of a site customization would not survive a fork
        os._exit(0)
    gc.collect()
    gc.freeze()  # keeps these pages shared with the workers for longer
    with socket.socket(fileno=socket_fd) as requests:
        _serve(requests)
    return imported


def preload() -> Sample:
    """Import the modules that every worker needs; return the sample."""
    from harness.core.phase_timer import Meter
    from harness.worker.loading import builtin_data

    meter = Meter()
    with meter.phase("import"):
        for name in (*PRELOADED, *builtin_data()):
            importlib.import_module(name)
    return meter.last


def _serve(requests: socket.socket) -> None:
    """Answer requests until the parent has gone; return only in a new worker."""
    workers: list[_Worker] = []
    while True:
        poll = select.poll()
        poll.register(requests, select.POLLIN)
        for worker in workers:
            if worker.ended:
                poll.register(worker.status_socket, 0)  # reports only a hang-up
            else:
                poll.register(worker.pidfd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if workers else 1000 * IDLE)}
        if not ready:
            os._exit(0)
        workers = [worker for worker in workers if _kept(worker, ready)]
        if requests.fileno() in ready:
            request, given, _, _ = socket.recv_fds(requests, LONGEST, 4, socket.MSG_CMSG_CLOEXEC)
            if not request:
                os._exit(0)  # the harness has ended; guards end the workers
            if (new := _forked(given)) is None:
                for worker in workers:
                    worker.close()
                _set_up_worker(json.loads(request), *given)
                return
            workers.append(new)


def _kept(worker: _Worker, ready: set[int]) -> bool:
    """Send the exit code of an ended worker; reap it when the parent has closed its socket."""
    if worker.pidfd in ready:
        worker.ended = True
        how = os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        assert how is not None
        code = how.si_status if how.si_code == os.CLD_EXITED else -how.si_status
        with contextlib.suppress(OSError):
            worker.status_socket.send(str(code).encode())
    if worker.status_socket.fileno() not in ready:
        return True
    os.waitpid(worker.pid, 0)  # not earlier, so that its process id is not reused
    worker.close()
    return False


def _forked(given: list[int]) -> _Worker | None:
    """Fork; return None in the worker, and close the worker's descriptors in the template."""
    pid = os.fork()
    if not pid:
        return None
    *inherited, status_fd = given
    for fd in inherited:
        os.close(fd)
    return _Worker(pid, os.pidfd_open(pid), socket.socket(fileno=status_fd))


def _set_up_worker(request: JSON, stdin: int, output: int, replies: int, status_fd: int) -> None:
    """Set up this fork like a newly started worker, and send its process id."""
    os.setsid()  # first, so that its process group exists when the parent may kill it
    pidfd = os.pidfd_open(os.getpid())
    with socket.socket(fileno=status_fd) as parent, contextlib.suppress(OSError):
        # If the parent has given up meanwhile, stdin is closed too and this worker ends.
        socket.send_fds(parent, [str(os.getpid()).encode()], [pidfd])
    for fd, place in ((stdin, 0), (output, 1), (output, 2)):
        os.dup2(fd, place)
    for fd in (pidfd, stdin, output):
        os.close(fd)
    with contextlib.suppress(OSError):
        os.chdir(request["folder"])
    os.environ.update(request["variables"], HARNESS_REPLY_FD=str(replies))
    del sys.argv[1:]
    import numpy as np

    np.random.seed()  # noqa: NPY002 - otherwise all workers share the global state
