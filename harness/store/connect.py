"""Open and check the database file, and run statements that wait while the file is busy.

The rollback journal is used (``journal_mode=DELETE``): one file, safe with every SQLite, whereas
write-ahead logging could corrupt a store before SQLite 3.51.3. A reader copies all rows of a
statement before it goes on, so it never holds a lock while Python works.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from harness.core.errors import StoreError
from harness.store import schema
from harness.store.faults import code, damaged, faults

BUSY_SLICE = 1.0  # seconds in SQLite's own busy handler; short, so that Ctrl-C takes effect
BUSY_TIMEOUT = 600.0  # seconds to wait for another program that holds a cursor on the file
MAX_CELL = 64 * 2**20  # bytes of one value; those of the harness are far smaller
_PRAGMAS = ("synchronous = FULL", "cell_size_check = ON", "trusted_schema = OFF")

T = TypeVar("T")


class Database:
    """A connection whose statements wait while the file is busy and raise ``StoreError``."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        patience: float = BUSY_TIMEOUT,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.connection = connection
        self.patience = patience
        self._on_wait = on_wait

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        return self.retry_while_busy(lambda: self.connection.execute(sql, values).fetchall())

    def value(self, sql: str, *values: Any) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.query(sql, *values)
        return rows[0][0] if rows else None

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement that changes something; return the key of the added row."""
        return self.connection.execute(sql, values).lastrowid or 0

    def many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement once for each row."""
        self.connection.executemany(sql, rows)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one consistent state of the store in all statements of the block."""
        with self._transaction("BEGIN", "ROLLBACK"):
            yield

    @contextmanager
    def writing(self, *, keep: bool = True) -> Iterator[None]:
        """Make the statements of the block one transaction; roll it back unless ``keep``."""
        with self._transaction("BEGIN IMMEDIATE", "COMMIT" if keep else "ROLLBACK"):
            yield

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[None]:
        with faults(self.path):
            try:
                self.retry_while_busy(lambda: self.connection.execute(begin))
                yield
                self.retry_while_busy(lambda: self.connection.execute(end))
            finally:
                if self.connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first error is the one to report
                        self.connection.execute("ROLLBACK")

    def retry_while_busy(self, action: Callable[[], T]) -> T:
        """Run ``action``; while another program locks the file, report it once and retry."""
        deadline = time.monotonic() + self.patience
        reported = rolled_back = False
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                error_code = getattr(
                    error, "sqlite_errorcode", 0
                )  # 0: Python's own error, for bad UTF-8
                if error_code == sqlite3.SQLITE_READONLY_ROLLBACK and not rolled_back:
                    _roll_back(self.path)
                    rolled_back = True
                    continue
                if code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                if not reported and self._on_wait is not None:
                    self._on_wait(f"another program reads {self.path}; waiting until it is done")
                reported = True

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def connect(
    path: Path,
    *,
    write: bool,
    patience: float = BUSY_TIMEOUT,
    on_wait: Callable[[str], None] | None = None,
) -> Database:
    """Open a store of this harness, whole and of the newest schema.

    A writer creates a missing file, migrates an older one after a backup, and checks the file's
    structure; it must hold the :class:`harness.store.lock.WriterLock`.

    Raises
    ------
    StoreError
        If the file is missing, foreign, damaged, of another version, or cannot be opened.
    """
    mode = "rwc" if write else "ro"
    if not write and not path.is_file():
        raise StoreError(f"there are no results in {path.parent} yet; `harness run` makes some")
    with faults(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SLICE,
            isolation_level=None,
        )
        database = Database(path, connection, patience, on_wait)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
            _prepare(database, write=write)
        except BaseException:
            connection.close()
            raise
    return database


def _prepare(database: Database, *, write: bool) -> None:
    """Check the file, and migrate it if it may be written."""
    path, connection, newest = database.path, database.connection, len(schema.MIGRATIONS)
    for pragma in _PRAGMAS:
        database.query(f"PRAGMA {pragma}")
    ours = database.value("PRAGMA application_id") == schema.APPLICATION_ID
    empty = not database.value("SELECT count(*) FROM sqlite_schema")
    if not ours and not empty:
        raise StoreError(
            f"{path} is a database of another program; move it aside or name another folder"
        )
    version = int(database.value("PRAGMA user_version"))
    if version > newest:
        raise StoreError(
            f"{path} was written by a newer harness (schema {version}, this one supports {newest});"
            " upgrade the harness or name another folder"
        )
    if write:
        _migrate(database, version)
    elif version < newest:
        raise OlderSchemaError(
            f"{path} has the older schema {version}; `harness run` brings it to {newest}"
        )
    if not database.retry_while_busy(lambda: schema.is_ours(connection, schema.MIGRATIONS)):
        raise damaged(path, "its tables are not those of its version")
    if write:
        database.query("PRAGMA foreign_keys = ON")  # after a migration, which may need it off
        database.query("PRAGMA journal_mode = DELETE")
        _quick_check(database)


class OlderSchemaError(StoreError):
    """Error for a store of an older schema, which a reader cannot migrate."""


def _migrate(database: Database, version: int) -> None:
    """Migrate a store from version ``version`` to the newest, all or nothing, after a backup."""
    connection = database.connection
    if version == len(schema.MIGRATIONS):
        return
    if version:
        _quick_check(database)
        _back_up(database, version)
    with database.writing():
        try:
            schema.apply(connection, version, schema.MIGRATIONS)
            broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_ERROR:
                raise
            raise damaged(database.path, f"schema {version} cannot be migrated: {error}") from error
        if broken:
            raise damaged(
                database.path, f"{len(broken)} rows of schema {version} name missing rows"
            )


def _back_up(database: Database, version: int) -> None:
    """Copy the whole store beside itself; an unfinished copy never has the final name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = database.path.with_name(f"{database.path.name}.schema{version}-{stamp}.backup")
    for left in target.parent.glob(f"{database.path.name}.*.backup.part"):
        left.unlink()  # of a killed writer: the caller holds the writer's lock
    part = target.with_name(target.name + ".part")
    with closing(sqlite3.connect(part)) as copy:
        copy.execute("PRAGMA synchronous = FULL")
        database.connection.backup(copy)
    part.replace(target)


def _quick_check(database: Database) -> None:
    """Raise StoreError if the file's structure is damaged, before anything is written to it."""
    rows = database.query("PRAGMA quick_check(1)")
    if rows != [("ok",)]:
        raise damaged(database.path, str(rows[0][0])[:200] if rows else "quick_check has no result")


def _roll_back(path: Path) -> None:
    """Undo the partial write of a killed writer; SQLite does so on the first read."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SLICE)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
