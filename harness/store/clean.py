"""Remove named or old runs, and array files that no row of the database names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.core.errors import StoreError
from harness.store.connect import Database
from harness.store.faults import faults
from harness.store.write import Store

# Each statement finds what the one before it released. An outcome that another run reused is kept
# when the run that measured it is removed.
_REMOVE_UNUSED = """
DELETE FROM outcome WHERE run IS NULL
    AND NOT EXISTS (SELECT 1 FROM run_trial AS r WHERE r.outcome = outcome.key);
DELETE FROM duel_outcome WHERE run IS NULL
    AND NOT EXISTS (SELECT 1 FROM run_duel AS r WHERE r.outcome = duel_outcome.key);
DELETE FROM parity_outcome WHERE run IS NULL
    AND NOT EXISTS (SELECT 1 FROM run_parity AS r WHERE r.outcome = parity_outcome.key);
DELETE FROM trial WHERE NOT EXISTS (SELECT 1 FROM outcome AS o WHERE o.trial = trial.key)
    AND NOT EXISTS (SELECT 1 FROM run_trial AS r WHERE r.trial = trial.key);
DELETE FROM duel WHERE NOT EXISTS (SELECT 1 FROM duel_outcome AS o WHERE o.duel = duel.key)
    AND NOT EXISTS (SELECT 1 FROM run_duel AS r WHERE r.duel = duel.key);
DELETE FROM parity WHERE NOT EXISTS (SELECT 1 FROM parity_outcome AS o WHERE o.parity = parity.key)
    AND NOT EXISTS (SELECT 1 FROM run_parity AS r WHERE r.parity = parity.key);
DELETE FROM artifact
    WHERE NOT EXISTS (SELECT 1 FROM outcome_artifact AS n WHERE n.artifact = artifact.key)
"""


@dataclass(frozen=True)
class Removal:
    """Runs and files that were removed, or would be removed in a dry run."""

    runs: tuple[str, ...]
    outcomes: int
    files: tuple[Path, ...]  # in the artifacts folder
    bytes: int  # of those files


def clean(
    store: Store, *, runs: Iterable[str] = (), before: datetime | None = None, dry_run: bool = True
) -> Removal:
    """Remove runs with the outcomes that only they have, and unused array files.

    Parameters
    ----------
    store
        Open for writing, so that no run is active.
    runs
        Ids, ``latest``, or starts or ends of ids.
    before
        Remove every run that began before this time, too; with its time zone.

    Raises
    ------
    StoreError
        If the artifacts folder is a link that leads out of the results folder.
    """
    folder = store.artifacts.folder
    if not folder.resolve().is_relative_to(store.folder.resolve()):
        raise StoreError(f"{folder} leads out of the results folder; clean removes nothing there")
    limit = before.astimezone(UTC).isoformat(timespec="milliseconds") if before else ""
    named_runs = [store.run(name)["id"] for name in runs]
    with store.writing(keep=not dry_run) as database:
        removed = _runs(database, named_runs, limit)
        total = "SELECT count(*) FROM outcome"
        held = database.value(total)
        database.execute(
            "DELETE FROM run WHERE id IN (SELECT value FROM json_each(?))", json.dumps(removed)
        )
        for statement in _REMOVE_UNUSED.split(";"):
            database.execute(statement)
        outcomes = held - database.value(total)
        named = {row[0] for row in database.query("SELECT sha256 FROM artifact")}
    with faults(folder):
        files = [f for f in store.artifacts.files() if store.artifacts.hash_of(f) not in named]
        size = sum(file.lstat().st_size for file in files)
        if not dry_run:
            for file in files:
                file.unlink()
            store.vacuum()
    return Removal(tuple(removed), outcomes, tuple(sorted(files)), size)


def _runs(database: Database, named_runs: list[str], limit: str) -> list[str]:
    """Return the ids of the runs to remove, the oldest first."""
    selected = database.query(
        "SELECT id FROM run WHERE id IN (SELECT value FROM json_each(?)) OR started < ?"
        " ORDER BY key",
        *(json.dumps(named_runs), limit),
    )
    return [row[0] for row in selected]
