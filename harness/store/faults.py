"""Translate errors of SQLite, the file system and damaged rows into errors with advice."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import BusyError, StoreError

# Exceptions that decoding a damaged row may raise.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def damaged(path: Path, reason: str) -> StoreError:
    """Return the error for a database that cannot be trusted."""
    aside = path.with_name(f"{path.name}.damaged")
    return StoreError(
        f"{path} is damaged ({reason}); move it aside (mv {path} {aside}) and run again;"
        f" `sqlite3 {aside} .recover` shows the rows that can still be read"
    )


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Raise errors of the database and of its folder as :class:`StoreError`."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a fault of the harness: a closed store, another thread
    except sqlite3.Error as error:
        raise _from_sqlite(error, path) from error
    except UnicodeDecodeError as error:  # a message of SQLite's that quotes damaged bytes
        raise damaged(path, one_line(error)) from error
    except MemoryError as error:
        raise StoreError(f"not enough memory to read {path}") from error
    except OverflowError as error:
        raise StoreError(f"{path} cannot hold a number: {one_line(error)}") from error
    except OSError as error:
        raise from_os(error, path) from error


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Report rows that the harness did not write as a damaged store."""
    try:
        yield
    except _UNREADABLE as error:
        raise damaged(path, f"a row cannot be read: {one_line(error)}") from error
    except MemoryError as error:
        raise StoreError(f"not enough memory to read {path}") from error


def from_os(error: OSError, path: Path) -> StoreError:
    """Return the error for a file that the system cannot open, read or write."""
    where = error.filename or path
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return StoreError(f"no room to write {where}; what was stored is intact: free some, rerun")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return StoreError(f"{where} may not be written or read; check the folder's permissions")
    return StoreError(f"{where}: {error.strerror or one_line(error)}")


def one_line(error: BaseException) -> str:
    """Return an error's class and message on one line, printable and at most 200 characters."""
    text = f"{type(error).__name__}: {error}"
    return "".join(c if c.isprintable() else " " for c in text)[:200]


def code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code, or 0 if the error is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


_MESSAGES = {
    sqlite3.SQLITE_FULL: "the disk of {path} is full; what was stored is intact: free some room"
    " and run again",
    sqlite3.SQLITE_IOERR: "{path} could not be read or written ({error}); check the disk's free"
    " space and health",
    sqlite3.SQLITE_NOMEM: "not enough memory to read {path}",
    sqlite3.SQLITE_NOTADB: "{path} is not a database of this harness; move it aside or name"
    " another folder",
}
_MESSAGES |= dict.fromkeys(
    (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    "{path} cannot be opened for this ({error}); check the folder's permissions",
)
_MESSAGES |= dict.fromkeys(
    (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG),
    "{path} does not accept a row and stored nothing of it: {error}",
)


def _from_sqlite(error: sqlite3.Error, path: Path) -> StoreError:
    primary = code(error)
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return BusyError(f"another program holds {path}; close it there and run again")
    if primary in _MESSAGES:
        return StoreError(_MESSAGES[primary].format(path=path, error=one_line(error)))
    return damaged(path, one_line(error))
