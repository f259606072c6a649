"""Write objects of the model into the tables, inside the caller's transaction."""
# ruff: noqa: S608 -- the pieces of SQL are this file's constants; values are always bound

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from harness.core.errors import StoreError
from harness.core.model import JSON, DuelOutcome, Outcome, Status, Trial, to_json
from harness.store import rows
from harness.store.artifacts import Stored
from harness.store.connect import Database

Noun = Literal["trial", "duel", "parity"]
_OUTCOMES: dict[Noun, str] = {
    "trial": "outcome",
    "duel": "duel_outcome",
    "parity": "parity_outcome",
}

_TRIAL = (
    "INSERT INTO trial (id, cell, algorithm, dataset, body, ingredients) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)
_END = "status, failure_kind, failure_message, failure_detail, facts, started, ended"
_SAMPLE = "phase, wall, cpu, peak, cold"


def begin_run(database: Database, run_id: str, fields: Mapping[str, str]) -> bool:
    """Add a running run unless its id is taken; return whether it was added."""
    if database.value("SELECT 1 FROM run WHERE id = ?", run_id) is not None:
        return False
    columns = ", ".join(fields)
    marks = ", ".join("?" * len(fields))
    database.execute(
        f"INSERT INTO run (id, status, ended, {columns}) VALUES (?, 'running', '', {marks})",
        *(run_id, *fields.values()),
    )
    return True


def plan(database: Database, run: int, trials: Iterable[Trial]) -> None:
    """Add trials to a run, in order, without outcomes."""
    planned = [rows.trial_row(trial) for trial in trials]
    database.many(_TRIAL, planned)
    first = database.value(
        "SELECT coalesce(max(position), -1) + 1 FROM run_trial WHERE run = ?", run
    )
    database.many(
        "INSERT INTO run_trial (run, position, trial, outcome, reused)"
        " SELECT ?, ?, key, NULL, 0 FROM trial WHERE id = ? ON CONFLICT (run, trial) DO NOTHING",
        ((run, position, row[0]) for position, row in enumerate(planned, first)),
    )


def trial_outcome(
    database: Database, run: int, outcome: Outcome, arrays: Mapping[str, Stored]
) -> None:
    """Add an outcome of a trial and assign it to the run."""
    database.execute(_TRIAL, *rows.trial_row(outcome.trial))
    trial = database.value("SELECT key FROM trial WHERE id = ?", rows.storable(outcome.trial.id))
    key = database.execute(
        f"INSERT INTO outcome (trial, run, reason, {_END}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(trial, run, rows.storable(outcome.reason), *rows.end_row(outcome)),
    )
    database.many(
        f"INSERT INTO sample (outcome, position, {_SAMPLE}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key, i, *rows.sample_row(sample)) for i, sample in enumerate(outcome.samples)),
    )
    for name, stored in arrays.items():
        database.execute(
            "INSERT INTO artifact (sha256, bytes) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING",
            *stored,
        )
        database.execute(
            "INSERT INTO outcome_artifact (outcome, name, artifact)"
            " SELECT ?, ?, key FROM artifact WHERE sha256 = ?",
            *(key, rows.storable(name), stored.sha256),
        )
    _assign(database, "trial", run, trial, key, reused=False)


def duel_outcome(database: Database, run: int, outcome: DuelOutcome) -> None:
    """Add an outcome of a duel and assign it to the run."""
    duel_id = rows.storable(outcome.duel.id)
    body = rows.dumps(to_json(outcome.duel))
    database.execute(
        "INSERT INTO duel (id, body) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", duel_id, body
    )
    duel = database.value("SELECT key FROM duel WHERE id = ?", duel_id)
    key = database.execute(
        f"INSERT INTO duel_outcome (duel, run, {_END}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(duel, run, *rows.end_row(outcome)),
    )
    database.many(
        "INSERT INTO block (outcome, position, launch, number, phase, pattern)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            (key, i, block.launch, block.index, rows.storable(block.phase), block.order)
            for i, block in enumerate(outcome.blocks)
        ),
    )
    database.many(
        f"INSERT INTO block_sample (outcome, block, side, call, {_SAMPLE})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (key, i, side, call, *rows.sample_row(sample))
            for i, block in enumerate(outcome.blocks)
            for side, pair in (("a", block.a), ("b", block.b))
            for call, sample in enumerate(pair)
        ),
    )
    _assign(database, "duel", run, duel, key, reused=False)


def parity_outcome(database: Database, run: int, what: JSON, status: Status, found: JSON) -> None:
    """Add a result of a tree comparison and assign it to the run."""
    name, body = rows.storable(what["id"]), rows.dumps(what)
    database.execute(
        "INSERT INTO parity (id, body) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", name, body
    )
    parity = database.value("SELECT key FROM parity WHERE id = ?", name)
    key = database.execute(
        "INSERT INTO parity_outcome (parity, run, status, body) VALUES (?, ?, ?, ?)",
        *(parity, run, status.value, rows.dumps(found)),
    )
    _assign(database, "parity", run, parity, key, reused=False)


def reuse(database: Database, noun: Noun, run: int, name: str) -> None:
    """Assign the newest outcome of a trial, duel or comparison to a run, marked as reused.

    Raises
    ------
    StoreError
        If it has no outcome.
    """
    sql = (
        f"SELECT t.key, max(o.key) FROM {noun} AS t JOIN {_OUTCOMES[noun]} AS o"
        f" ON o.{noun} = t.key WHERE t.id = ? GROUP BY t.key"
    )
    newest = database.query(sql, rows.storable(name))
    if not newest:
        raise StoreError(f"the {noun} {name} has no outcome in {database.path} to reuse")
    _assign(database, noun, run, *newest[0], reused=True)


def _assign(
    database: Database, noun: Noun, run: int, key: int, outcome: int, *, reused: bool
) -> None:
    """Set the outcome of a trial, duel or comparison in a run; add it if it is missing there."""
    database.execute(
        f"INSERT INTO run_{noun} (run, position, {noun}, outcome, reused) VALUES"
        f" (?, (SELECT coalesce(max(position), -1) + 1 FROM run_{noun} WHERE run = ?), ?, ?, ?)"
        f" ON CONFLICT (run, {noun}) DO UPDATE"
        " SET outcome = excluded.outcome, reused = excluded.reused",
        *(run, run, key, outcome, int(reused)),
    )
