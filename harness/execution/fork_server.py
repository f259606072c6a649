"""Fork server for workers: the parent's side of the template processes.

See `harness.worker.template` for the other side. A template is started when the first worker of its
kind is needed, serves every supervisor of this process, and ends with it or when idle. If forking
is not possible, the caller starts a new interpreter instead.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

PATIENCE = 60.0  # seconds for a template to import and to fork
STATUS_LATE = 2.0  # seconds to wait for the exit code after the end of a worker
UNKNOWN_END = 1 << 16  # placeholder exit code of a worker whose template ended before it

_Kind = tuple[int, frozenset[tuple[str, str]]]  # id of this process, environment variables
_lock = threading.Lock()
_templates: dict[_Kind, Template | None] = {}  # None: this kind cannot be started


class Forked:
    """Process of a forked worker, with the interface of `subprocess.Popen`."""

    def __init__(
        self, pid: int, pidfd: int, status_socket: socket.socket, stdin: IO[bytes]
    ) -> None:
        self.pid = pid
        self.stdin = stdin
        self.returncode: int | None = None
        self._pidfd = pidfd
        self._status_socket = status_socket

    def poll(self) -> int | None:
        """Return the exit code, or None while the worker runs."""
        if self.returncode is None and self._readable(0.0):
            self._read_exit_code()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; −n means signal n.

        Raises
        ------
        subprocess.TimeoutExpired
            If the worker still runs after ``timeout`` seconds.
        """
        if self.returncode is None:
            if not self._readable(timeout):
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
            self._read_exit_code()
        assert self.returncode is not None
        return self.returncode

    def _readable(self, timeout: float | None) -> bool:
        """Return whether the worker ends within ``timeout`` seconds."""
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(None if timeout is None else timeout * 1000))

    def _read_exit_code(self) -> None:
        """Read the exit code from the template and close the descriptors."""
        self._status_socket.settimeout(STATUS_LATE)
        try:
            word = self._status_socket.recv(64)
        except OSError:
            word = b""
        self.returncode = int(word) if word else UNKNOWN_END
        os.close(self._pidfd)
        self._status_socket.close()


class Template:
    """Process that forks workers with the same environment variables."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.used = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-m", "harness.worker", "--template", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C in the terminal must not reach it
                env=dict(variables),
            )

    def fork(self, variables: Mapping[str, str], output: int, replies: int) -> Forked:
        """Return a new worker with further environment variables.

        Raises
        ------
        OSError
            If the template has ended, cannot fork, or takes too long.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stdin, requests = os.pipe()
        request = {"variables": dict(variables), "folder": _folder()}
        try:
            with theirs:
                given = [stdin, output, replies, theirs.fileno()]
                socket.send_fds(self._socket, [json.dumps(request).encode()], given)
            pid, pidfd = _receive_process_id(ours)
        except BaseException:  # with closed ends, a late fork ends at once
            os.close(requests)
            ours.close()
            raise
        finally:
            os.close(stdin)
        self.used = True
        return Forked(pid, pidfd, ours, os.fdopen(requests, "wb", buffering=0))

    def runs(self) -> bool:
        """Return whether the template still runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """Kill the template; its workers go on."""
        self._socket.close()
        self.process.kill()
        self.process.wait()


def _receive_process_id(connection: socket.socket) -> tuple[int, int]:
    """Return the process id and a pidfd of a new worker."""
    connection.settimeout(PATIENCE)
    word, pidfds, _, _ = socket.recv_fds(connection, 64, 1, socket.MSG_CMSG_CLOEXEC)
    if not pidfds:
        raise ConnectionResetError("the template of workers, or its fork, has ended")
    return int(word), pidfds[0]


def can_fork() -> bool:
    """Return whether workers can be forked: only on Linux; macOS libraries are not fork-safe."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


def fork_worker(
    common: Mapping[str, str], own: Mapping[str, str], output: int, replies: int
) -> Forked | None:
    """Return a worker forked from a template, or None if forking is not possible.

    Parameters
    ----------
    common
        Environment variables that all workers of this kind share.
    own
        Further environment variables of this worker.
    output
        Descriptor of its stdout and stderr.
    replies
        Descriptor that it writes its replies to.
    """
    template = _template_of(common) if can_fork() else None
    if template is None:
        return None
    try:
        return template.fork(own, output, replies)
    except OSError:
        with _lock:
            key = _key(common)
            if _templates.get(key) is template:
                _templates[key] = None
                if template.used:  # it has worked before: start a new template for the next worker
                    del _templates[key]
            template.end()
        return None


def _template_of(variables: Mapping[str, str]) -> Template | None:
    key = _key(variables)
    with _lock:
        found = _templates.get(key)
        if found is not None and found.used and not found.runs():
            _templates.pop(key)
            found.end()
        if key not in _templates:
            found = _templates[key] = None
            with contextlib.suppress(OSError):
                found = _templates[key] = Template(variables)
        return found


def _key(variables: Mapping[str, str]) -> _Kind:
    # With the process id: a fork of this process must not use the templates of its parent.
    return os.getpid(), frozenset(variables.items())


def _folder() -> str:
    with contextlib.suppress(OSError):  # the working directory was removed
        return str(Path.cwd())
    return ""


@atexit.register
def end_templates() -> None:
    """End the templates of this process."""
    with _lock:
        for (pid, _), template in _templates.items():
            if template is not None and pid == os.getpid():
                template.end()
        _templates.clear()
