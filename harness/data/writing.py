"""Write files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

DAY = 86_400.0  # seconds; nothing that is still being written is so old


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file: beside its place first, flushed to the disk, then moved there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def sweep(folder: Path, pattern: str, older: float = DAY) -> None:
    """Remove files and folders that were left half-written by a process that was killed.

    Parameters
    ----------
    folder
        Where they lie.
    pattern
        A glob that only names in the making match.
    older
        Only what was not touched for so many seconds; 0 where a lock says that nobody writes.
    """
    with suppress(OSError):
        for left in folder.glob(pattern):
            if older and time.time() - left.stat().st_mtime < older:
                continue
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
