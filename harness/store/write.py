"""The store: all queries of a reader, and the writes of a run, one transaction per outcome."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from harness.core.errors import StoreError
from harness.core.model import JSON, DuelOutcome, Outcome, Status, Trial
from harness.core.units import utc_now
from harness.store import insert, leftovers, rows
from harness.store.connect import BUSY_TIMEOUT, Database, OlderSchemaError, connect
from harness.store.faults import faults
from harness.store.lock import WriterLock
from harness.store.read import Reader

DATABASE = "harness.db"

RunStatus = Literal["done", "failed", "interrupted"]


class Store(Reader):
    """Store of a results folder: ``harness.db`` and ``artifacts/``.

    Open it with :meth:`open`, and use it as a context manager from one thread. Every method raises
    ``StoreError`` if the store cannot be read or written; stored data stays intact.
    """

    def __init__(self, folder: Path, database: Database, lock: WriterLock | None = None) -> None:
        super().__init__(folder, database)
        self._lock = lock

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        write: bool = False,
        wait: bool = True,
        on_wait: Callable[[str], None] | None = None,
    ) -> Self:
        """Open the store of a results folder.

        Parameters
        ----------
        folder
            The results folder; a writer creates it if it is missing.
        write
            Whether this process writes to it. There is one writer at a time.
        wait
            Whether to wait for another writer, or up to ten minutes for another program's reader.
        on_wait
            Called with a sentence before waiting.

        Raises
        ------
        BusyError
            If another process writes and ``wait`` is false.
        StoreError
            If there is no store to read, or the file is damaged, foreign or of a newer schema.
        """
        place = Path(folder)
        if write:
            return cls._open_writer(place, wait=wait, on_wait=on_wait)
        try:
            return cls(place, connect(place / DATABASE, write=False, on_wait=on_wait))
        except OlderSchemaError:  # a writer migrates it
            cls._open_writer(place, wait=False, on_wait=None).close()
        return cls(place, connect(place / DATABASE, write=False, on_wait=on_wait))

    @staticmethod
    def exists(folder: str | Path) -> bool:
        """Return whether a results folder has a store."""
        return (Path(folder) / DATABASE).is_file()

    @classmethod
    def _open_writer(
        cls, folder: Path, *, wait: bool, on_wait: Callable[[str], None] | None
    ) -> Self:
        path = folder / DATABASE
        with faults(folder):
            folder.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(path)
        with ExitStack() as undo:
            undo.callback(lock.release)
            lock.acquire(utc_now(), wait=wait, on_wait=on_wait)
            patience = BUSY_TIMEOUT if wait else 0.0
            store = cls(folder, connect(path, write=True, patience=patience, on_wait=on_wait), lock)
            undo.callback(store.close)
            leftovers.recover(store)
            undo.pop_all()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release the writer's lock."""
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def writing(self, *, keep: bool = True) -> Iterator[Database]:
        """Make the block one transaction on the database; roll it back unless ``keep``."""
        if self._lock is None:
            raise StoreError(f"the store in {self.folder} was opened for reading only")
        with self._database.writing(keep=keep):
            yield self._database

    def vacuum(self) -> None:
        """Return the space of removed rows to the file system."""
        with faults(self._database.path):
            self._database.query("VACUUM")

    # -------------------------------------------------------------- runs

    def begin_run(
        self, name: str, config: Any, config_hash: str, machine: Any, environments: Any = ()
    ) -> str:
        """Store a new run as ``running`` and return its id, such as ``20261121-0942-3f2a``.

        ``config``, ``machine`` and ``environments`` are JSON values or objects of the model.
        """
        fields = {
            "name": rows.storable(name),
            "config": rows.dumps(config),
            "config_hash": rows.storable(config_hash),
            "machine": rows.dumps(machine),
            "environments": rows.dumps(environments),
            "started": utc_now(),
        }
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M")
        with self.writing() as database:
            while not insert.begin_run(
                database, run_id := f"{stamp}-{secrets.token_hex(2)}", fields
            ):
                pass
        return run_id

    def finish_run(self, run_id: str, status: RunStatus) -> None:
        """Store the status and the time of a run's end."""
        with self.writing() as database:
            sql = "UPDATE run SET status = ?, ended = ? WHERE key = ?"
            database.execute(sql, status, utc_now(), self._key(run_id))

    @contextmanager
    def recorded(self, name: str, config: Any, config_hash: str, machine: Any) -> Iterator[str]:
        """Begin a run, yield its id, and finish it: as interrupted if the body raises."""
        run_id = self.begin_run(name, config, config_hash, machine)
        status: RunStatus = "interrupted"
        try:
            yield run_id
            status = "done"
        finally:
            self.finish_run(run_id, status)

    def event(self, run_id: str, kind: str, data: Any) -> None:
        """Store an event of a run; ``data`` is JSON."""
        with self.writing() as database:
            database.execute(
                "INSERT INTO event (run, at, kind, data) VALUES (?, ?, ?, ?)",
                *(self._key(run_id), utc_now(), rows.storable(kind), rows.dumps(data)),
            )

    # -------------------------------------------------------------- trials and duels

    def plan_trials(self, run_id: str, trials: Iterable[Trial]) -> None:
        """Store a run's planned trials, in order, before any of them runs."""
        with self.writing() as database:
            insert.plan(database, self._key(run_id), trials)

    def attach(self, run_id: str, *trial_ids: str) -> None:
        """Reuse the newest outcomes of trials in a run; they count as measured."""
        self._reuse(run_id, "trial", trial_ids)

    def attach_duels(self, run_id: str, *duel_ids: str) -> None:
        """Reuse the newest outcomes of duels in a run."""
        self._reuse(run_id, "duel", duel_ids)

    def attach_parities(self, run_id: str, *ids: str) -> None:
        """Reuse the newest results of tree comparisons in a run."""
        self._reuse(run_id, "parity", ids)

    def _reuse(self, run_id: str, noun: insert.Noun, ids: Iterable[str]) -> None:
        with self.writing() as database:
            run = self._key(run_id)
            for id_ in ids:
                insert.reuse(database, noun, run, id_)

    def record(self, run_id: str, outcome: Outcome, source: Path | None = None) -> Outcome:
        """Store an outcome in one transaction and take over its array files.

        Parameters
        ----------
        run_id
            The run that measured it.
        outcome
            Its ``arrays`` name files; a relative path is relative to the folder of ``source``.
        source
            The outcome's own file, if it has one.

        Returns
        -------
        Outcome
            The same outcome with the SHA-256 of each artifact in ``arrays``.

        Notes
        -----
        The arrays are safe on disk before the row is committed. After that, the files are removed
        if they lie in a work folder of this store (:meth:`workdir`); other files stay.
        """
        files = {name: _absolute(path, source) for name, path in outcome.arrays.items()}
        stored = self.artifacts.add_files(files) if files else {}
        with self.writing() as database:
            insert.trial_outcome(database, self._key(run_id), outcome, stored)
        leftovers.discard(self.folder, [*files.values(), *([source] if source else [])])
        return replace(outcome, arrays={name: array.sha256 for name, array in stored.items()})

    def record_duel(self, run_id: str, outcome: DuelOutcome) -> None:
        """Store the outcome of a duel in one transaction."""
        with self.writing() as database:
            insert.duel_outcome(database, self._key(run_id), outcome)

    def record_parity(self, run_id: str, what: JSON, status: Status, found: JSON) -> None:
        """Store ``found``, the result of the tree comparison ``what``, which has an ``id``."""
        with self.writing() as database:
            insert.parity_outcome(database, self._key(run_id), what, status, found)

    def workdir(self, run_id: str) -> Path:
        """Return the folder for a run's unstored outcome files.

        The next writer stores what a killed run left there.
        """
        with faults(self.folder):
            return leftovers.workdir(self.folder, self.run(run_id)["id"])


def _absolute(path: str, source: Path | None) -> Path:
    if not Path(path).is_absolute() and source is None:
        raise StoreError(f"the array file {path[:200]!r} must be named by its whole path")
    return (source.parent / path) if source else Path(path)
