"""A lock beside the database that admits one writer at a time, and a record of its holder.

SQLite's own locks keep the file consistent. This lock makes a second run wait for the first, with a
message, so that it can reuse the stored outcomes. The system releases it when its holder ends, also
by a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from harness.core.errors import BusyError, StoreError
from harness.store.faults import faults

POLL = 0.2  # seconds between two tries


class WriterLock:
    """The lock for writing to the store of one folder."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self.owner = database.with_name(database.name + ".owner")
        self._lock = FileLock(self.path, poll_interval=POLL)

    def acquire(self, started: str, *, wait: bool, on_wait: Callable[[str], None] | None) -> None:
        """Take the lock; if another process holds it, report that once and wait.

        Raises
        ------
        BusyError
            If another process holds the lock and ``wait`` is false.
        """
        with faults(self.path):
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                self._wait(wait=wait, on_wait=on_wait)
            self.owner.write_text(json.dumps({"pid": os.getpid(), "started": started}))

    def _wait(self, *, wait: bool, on_wait: Callable[[str], None] | None) -> None:
        message = f"{self.holder()} writes to this store"
        if not wait:
            raise BusyError(
                f"{message} ({self.path.parent}); run again when it has ended"
            ) from None
        if on_wait is not None:
            on_wait(f"{message}; waiting")
        try:
            self._lock.acquire()
        except RuntimeError as error:  # this thread holds the lock, so waiting would never end
            raise StoreError(f"this process already writes to {self.path.parent}") from error

    def holder(self) -> str:
        """Describe the holder of the lock."""
        try:
            record = json.loads(self.owner.read_text())
            started = datetime.fromisoformat(record["started"])
            return (
                f"another run (pid {int(record['pid'])}, started {started:%Y-%m-%d %H:%M:%S} UTC)"
            )
        except (OSError, ValueError, TypeError, LookupError):
            return "another run"

    def release(self) -> None:
        """Release the lock."""
        if self._lock.is_locked:
            self.owner.unlink(missing_ok=True)
            self._lock.release()
