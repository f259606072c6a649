"""Atomic writing of files, and removal of unfinished ones."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

DAY = 86_400.0  # seconds; older unfinished files are left over


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: temporary file, fsync, rename."""
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
    """Remove unfinished files and folders of killed processes.

    Parameters
    ----------
    older
        Minimum age in seconds; 0 if the caller holds a lock.
    """
    with suppress(OSError):
        for left in folder.glob(pattern):
            if older and time.time() - left.stat().st_mtime < older:
                continue
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
