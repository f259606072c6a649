"""The harness's end of the templates that workers are forked from, see `harness.worker.template`.

A template is started when the first worker of its kind is needed, serves every supervisor of this
process, and ends with it or when idle. Where none can be had the caller starts a new interpreter.
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
STATUS_LATE = 2.0  # seconds between the end of a worker and the word of it
UNKNOWN_END = 1 << 16  # no exit code: that of a worker whose template ended before it

_Kind = tuple[int, frozenset[tuple[str, str]]]  # this process, and the variables
_lock = threading.Lock()
_templates: dict[_Kind, Template | None] = {}  # None: of this kind none can be had


class Forked:
    """A worker that a template forked: what `subprocess.Popen` is of one that was started."""

    def __init__(self, pid: int, pidfd: int, told: socket.socket, stdin: IO[bytes]) -> None:
        self.pid = pid
        self.stdin = stdin
        self.returncode: int | None = None
        self._pidfd = pidfd
        self._told = told

    def poll(self) -> int | None:
        """Return the exit code, or None as long as it runs."""
        if self.returncode is None and self._readable(0.0):
            self._hear()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one; −n stands for signal n.

        Raises
        ------
        subprocess.TimeoutExpired
            Where it goes on for longer than so many seconds.
        """
        if self.returncode is None:
            if not self._readable(timeout):
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
            self._hear()
        assert self.returncode is not None
        return self.returncode

    def _readable(self, timeout: float | None) -> bool:
        """Say whether it ends within some seconds."""
        heed = select.poll()
        heed.register(self._pidfd, select.POLLIN)
        return bool(heed.poll(None if timeout is None else timeout * 1000))

    def _hear(self) -> None:
        """Take the word of the template on how it ended, and let go of the process id."""
        self._told.settimeout(STATUS_LATE)
        try:
            word = self._told.recv(64)
        except OSError:
            word = b""
        self.returncode = int(word) if word else UNKNOWN_END
        os.close(self._pidfd)
        self._told.close()


class Template:
    """A process that forks workers with the same variables."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.used = False
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._door.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-m", "harness.worker", "--template", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # a Ctrl-C in the terminal is not for it
                env=dict(variables),
            )

    def fork(self, variables: Mapping[str, str], output: int, replies: int) -> Forked:
        """Return a new worker with further variables.

        Raises
        ------
        OSError
            Where the template has ended, cannot fork, or takes too long.
        """
        told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stdin, requests = os.pipe()
        asked = {"variables": dict(variables), "folder": _folder()}
        try:
            with theirs:
                given = [stdin, output, replies, theirs.fileno()]
                socket.send_fds(self._door, [json.dumps(asked).encode()], given)
            pid, pidfd = _announced(told)
        except BaseException:  # hung up, a worker that is forked after all ends at once
            os.close(requests)
            told.close()
            raise
        finally:
            os.close(stdin)
        self.used = True
        return Forked(pid, pidfd, told, os.fdopen(requests, "wb", buffering=0))

    def runs(self) -> bool:
        """Say whether it can still be asked."""
        return self.process.poll() is None

    def end(self) -> None:
        """End it; its workers go on."""
        self._door.close()
        self.process.kill()
        self.process.wait()


def _announced(told: socket.socket) -> tuple[int, int]:
    """Return the process id of a new worker, and a descriptor of the process."""
    told.settimeout(PATIENCE)
    word, pidfds, _, _ = socket.recv_fds(told, 64, 1, socket.MSG_CMSG_CLOEXEC)
    if not pidfds:
        raise ConnectionResetError("the template of workers, or its fork, has ended")
    return int(word), pidfds[0]


def can_fork() -> bool:
    """Say whether this system has what it takes; macOS's own libraries do not survive a fork."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


def fork_worker(
    common: Mapping[str, str], own: Mapping[str, str], output: int, replies: int
) -> Forked | None:
    """Return a worker forked from a template, or None where a new interpreter has to be started.

    Parameters
    ----------
    common
        All environment variables that workers of this kind share.
    own
        Those of this one beside.
    output
        Descriptor for what it prints.
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
                if template.used:  # it had been well: the next worker may have another
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
    # A child of this process that was forked itself must not ask the templates of its parent.
    return os.getpid(), frozenset(variables.items())


def _folder() -> str:
    with contextlib.suppress(OSError):  # it was removed
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
