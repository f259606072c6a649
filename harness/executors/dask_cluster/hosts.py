"""Host-wide lock for timed work, and temporary folders that are removed after a crash.

Several clients may use the workers of one cluster, and one host may serve several clusters. Timed
work holds the lock of its host exclusively, all other work shares it. The system releases the locks
of a process that dies; folders whose lock is free are left over and are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path("/tmp")  # noqa: S108 - not TMPDIR, which may differ from process to process
POLL = 0.05  # seconds between two tries
PREFIX, OWNER = "harness-dask-", "owner"
YOUNG = 60.0  # seconds that a new folder may be without an owner


class WaitCancelledError(Exception):
    """Error raised if waiting for a host is canceled."""


@contextmanager
def on_this_host(*, alone: bool, keep_waiting: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Hold this host's lock during the body, exclusively or shared; wait for it first.

    Parameters
    ----------
    alone
        Whether to hold the lock exclusively, so that nothing else runs on this host.
    keep_waiting
        Function called while waiting; False cancels.

    Raises
    ------
    WaitCancelledError
        If ``keep_waiting`` returns False.

    Notes
    -----
    A waiter for exclusive use holds a second lock, the gate, so that new shared users cannot delay
    it indefinitely.
    """
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with _locked("gate", kind, keep_waiting) as gate, _locked("host", kind, keep_waiting):
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextmanager
def _locked(name: str, kind: int, keep_waiting: Callable[[], bool]) -> Iterator[int]:
    handle = _opened(LOCKS / f"harness-{name}.lock")
    try:
        while not _lock(handle, kind):
            if not keep_waiting():
                raise WaitCancelledError
            time.sleep(POLL)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> bool:
    """Try to lock an open file; return whether that succeeded."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    """Open a file, possibly of another user, for locking; read-only access suffices."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, flags)
    return os.open(path, flags | os.O_CREAT, 0o644)


class Folder:
    """Temporary folder of this process; other processes remove it if this one dies.

    Attributes
    ----------
    path : Path
    """

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        mark = self.path / f".{OWNER}"
        self._handle = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        mark.rename(self.path / OWNER)  # so that the owner file is locked as soon as it exists

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._handle)


def sweep() -> None:
    """Remove the folders of processes that have died."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def is_abandoned(path: Path) -> bool:
    """Return whether the owner of a folder has died."""
    try:
        handle = os.open(path / OWNER, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - path.stat().st_mtime > YOUNG
    try:
        return _lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)
