"""Open the database file, check that it is ours and whole, and run statements on it patiently.

The rollback journal is kept (``journal_mode=DELETE``): one file, safe with every SQLite, while
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

BUSY_SLICE = 1.0  # seconds in SQLite's own busy handler; short, so that Ctrl-C is heard
PATIENCE = 600.0  # seconds to wait for a stranger that holds a cursor on the file
MAX_CELL = 64 * 2**20  # bytes of one value; ours are far smaller
_PRAGMAS = ("synchronous = FULL", "cell_size_check = ON", "trusted_schema = OFF")

T = TypeVar("T")


class Database:
    """A connection whose statements wait where the file is busy and raise ``StoreError``."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        patience: float = PATIENCE,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.connection = connection
        self.patience = patience
        self._on_wait = on_wait

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        return self.patiently(lambda: self.connection.execute(sql, values).fetchall())

    def value(self, sql: str, *values: Any) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.query(sql, *values)
        return rows[0][0] if rows else None

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement that changes something; return the key of the row it added."""
        return self.connection.execute(sql, values).lastrowid or 0

    def many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement once a row."""
        self.connection.executemany(sql, rows)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the store in every statement of the block."""
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
                self.patiently(lambda: self.connection.execute(begin))
                yield
                self.patiently(lambda: self.connection.execute(end))
            finally:
                if self.connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first error is the one to tell
                        self.connection.execute("ROLLBACK")

    def patiently(self, act: Callable[[], T]) -> T:
        """Do something; while a stranger's reader holds the file, say so once and try again."""
        deadline = time.monotonic() + self.patience
        told = rolled_back = False
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                found = getattr(error, "sqlite_errorcode", 0)  # 0: Python's own, of bad UTF-8
                if found == sqlite3.SQLITE_READONLY_ROLLBACK and not rolled_back:
                    _roll_back(self.path)
                    rolled_back = True
                    continue
                if code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                if not told and self._on_wait is not None:
                    self._on_wait(f"another program reads {self.path}; waiting until it is done")
                told = True

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def connect(
    path: Path,
    *,
    write: bool,
    patience: float = PATIENCE,
    on_wait: Callable[[str], None] | None = None,
) -> Database:
    """Open a store that is ours, whole and of the newest schema.

    A writer makes the file where there is none, brings an older one up to date after a backup,
    and checks the file's structure; it must hold the :class:`harness.store.lock.WriterLock`.

    Raises
    ------
    StoreError
        Where the file is missing, foreign, damaged, of another version, or cannot be opened.
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
    """Check the file, and bring it up to date where it may be written."""
    path, connection, newest = database.path, database.connection, len(schema.MIGRATIONS)
    for pragma in _PRAGMAS:
        database.query(f"PRAGMA {pragma}")
    ours = database.value("PRAGMA application_id") == schema.APPLICATION_ID
    empty = not database.value("SELECT count(*) FROM sqlite_schema")
    if not ours and not empty:
        raise StoreError(
            f"{path} is a database of another program; move it aside or name another folder"
        )
    found = int(database.value("PRAGMA user_version"))
    if found > newest:
        raise StoreError(
            f"{path} was written by a newer harness (schema {found}, this one knows {newest});"
            " upgrade the harness or name another folder"
        )
    if write:
        _migrate(database, found)
    elif found < newest:
        raise OlderSchemaError(
            f"{path} has the older schema {found}; `harness run` brings it to {newest}"
        )
    if not database.patiently(lambda: schema.is_ours(connection, schema.MIGRATIONS)):
        raise damaged(path, "its tables are not those of its version")
    if write:
        database.query("PRAGMA foreign_keys = ON")  # after a migration, which may need it off
        database.query("PRAGMA journal_mode = DELETE")
        _quick_check(database)


class OlderSchemaError(StoreError):
    """A store that a reader cannot bring up to date."""


def _migrate(database: Database, found: int) -> None:
    """Take a store from version ``found`` to the newest, all or nothing, after a backup."""
    connection = database.connection
    if found == len(schema.MIGRATIONS):
        return
    if found:
        _quick_check(database)
        _back_up(database, found)
    with database.writing():
        try:
            schema.apply(connection, found, schema.MIGRATIONS)
            broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_ERROR:
                raise
            raise damaged(database.path, f"schema {found} cannot be migrated: {error}") from error
        if broken:
            raise damaged(database.path, f"{len(broken)} rows of schema {found} name missing rows")


def _back_up(database: Database, found: int) -> None:
    """Copy the whole store beside itself; an unfinished copy never carries the final name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = database.path.with_name(f"{database.path.name}.schema{found}-{stamp}.backup")
    for left in target.parent.glob(f"{database.path.name}.*.backup.part"):
        left.unlink()  # of a writer that was killed: the caller holds the writer's lock
    part = target.with_name(target.name + ".part")
    with closing(sqlite3.connect(part)) as copy:
        copy.execute("PRAGMA synchronous = FULL")
        database.connection.backup(copy)
    part.replace(target)


def _quick_check(database: Database) -> None:
    """Refuse a file whose structure is damaged, before anything is added to it."""
    rows = database.query("PRAGMA quick_check(1)")
    if rows != [("ok",)]:
        raise damaged(database.path, str(rows[0][0])[:200] if rows else "quick_check says nothing")


def _roll_back(path: Path) -> None:
    """Undo what a writer left half-written when it was killed; SQLite does it on a first read."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SLICE)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
