"""What processes of one host share, whoever started them: the right to time, and folders to sweep.

Several clients may use the workers of one cluster, and one host may serve several clusters. What
is timed holds its host's lock alone, all else shares it. The system drops the locks of a process
that dies, however it dies; what it left on the disk is found by that.
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
LOOK = 0.05  # seconds between two tries
PREFIX, OWNER = "harness-dask-", "owner"
YOUNG = 60.0  # seconds that a folder may have no owner: it is being made


class GivenUpError(Exception):
    """Whoever waited for a host no longer wants it."""


@contextmanager
def on_this_host(*, alone: bool, wanted: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Have this host to oneself, or with others that do not time; wait until that can be.

    Parameters
    ----------
    alone
        Whether nobody else may be at work on this host meanwhile.
    wanted
        Asked while waiting.

    Raises
    ------
    GivenUpError
        Where it is no longer wanted.

    Notes
    -----
    Whoever wants the host alone holds a gate until it is free, or those who share it could come
    and go for ever.
    """
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with _locked("gate", kind, wanted) as gate, _locked("host", kind, wanted):
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextmanager
def _locked(name: str, kind: int, wanted: Callable[[], bool]) -> Iterator[int]:
    handle = _opened(LOCKS / f"harness-{name}.lock")
    try:
        while not _lock(handle, kind):
            if not wanted():
                raise GivenUpError
            time.sleep(LOOK)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> bool:
    """Try to lock an open file; say whether it could be had."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    """Open a file that any user may have made; to lock it, it need not be written."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, flags)
    return os.open(path, flags | os.O_CREAT, 0o644)


class Folder:
    """A folder of this process, which another one removes should this one die.

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
        mark.rename(self.path / OWNER)  # is locked from its first moment

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._handle)


def sweep() -> None:
    """Remove the folders of processes that have died."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if is_left(path):
                shutil.rmtree(path, ignore_errors=True)


def is_left(path: Path) -> bool:
    """Say whether nobody owns a folder."""
    try:
        handle = os.open(path / OWNER, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - path.stat().st_mtime > YOUNG
    try:
        return _lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)
