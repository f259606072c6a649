"""Tables of the store, their version, and the migrations from older versions.

``trial``, ``duel`` and ``parity`` hold what was planned; ``outcome``, ``duel_outcome`` and
``parity_outcome`` hold every attempt (the newest counts); ``run_trial``, ``run_duel`` and
``run_parity`` hold which attempt belongs to which run, and whether it was measured there or reused.
Integer keys are internal and never leave the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache

APPLICATION_ID = 0x54524545  # "TREE", in the header of the file

_FAILURE = "failure_kind TEXT, failure_message TEXT, failure_detail TEXT"
_SAMPLE = "phase TEXT NOT NULL, wall REAL, cpu REAL, peak INTEGER NOT NULL, cold INTEGER NOT NULL"

_VERSION_1 = f"""
CREATE TABLE run (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, status TEXT NOT NULL,
    config TEXT NOT NULL, config_hash TEXT NOT NULL, machine TEXT NOT NULL,
    environments TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL) STRICT;
CREATE TABLE event (
    key INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    at TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL) STRICT;
CREATE INDEX event_run ON event (run);

CREATE TABLE trial (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cell TEXT NOT NULL,
    algorithm TEXT NOT NULL, dataset TEXT NOT NULL,
    body TEXT NOT NULL, ingredients TEXT NOT NULL) STRICT;
CREATE INDEX trial_cell ON trial (cell);
CREATE TABLE outcome (
    key INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial,
    run INTEGER REFERENCES run ON DELETE SET NULL,
    status TEXT NOT NULL, reason TEXT NOT NULL, {_FAILURE},
    facts TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL) STRICT;
CREATE INDEX outcome_trial ON outcome (trial);
CREATE INDEX outcome_run ON outcome (run);
CREATE TABLE run_trial (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, position INTEGER NOT NULL,
    trial INTEGER NOT NULL REFERENCES trial, outcome INTEGER REFERENCES outcome,
    reused INTEGER NOT NULL, PRIMARY KEY (run, position), UNIQUE (run, trial)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_trial_trial ON run_trial (trial);
CREATE INDEX run_trial_outcome ON run_trial (outcome);
CREATE TABLE sample (
    outcome INTEGER NOT NULL REFERENCES outcome ON DELETE CASCADE, position INTEGER NOT NULL,
    {_SAMPLE}, PRIMARY KEY (outcome, position)) STRICT, WITHOUT ROWID;
CREATE TABLE artifact (
    key INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL) STRICT;
CREATE TABLE outcome_artifact (
    outcome INTEGER NOT NULL REFERENCES outcome ON DELETE CASCADE, name TEXT NOT NULL,
    artifact INTEGER NOT NULL REFERENCES artifact, PRIMARY KEY (outcome, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcome_artifact_artifact ON outcome_artifact (artifact);

CREATE TABLE duel (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT;
CREATE TABLE duel_outcome (
    key INTEGER PRIMARY KEY, duel INTEGER NOT NULL REFERENCES duel,
    run INTEGER REFERENCES run ON DELETE SET NULL,
    status TEXT NOT NULL, {_FAILURE},
    facts TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL) STRICT;
CREATE INDEX duel_outcome_duel ON duel_outcome (duel);
CREATE INDEX duel_outcome_run ON duel_outcome (run);
CREATE TABLE run_duel (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, position INTEGER NOT NULL,
    duel INTEGER NOT NULL REFERENCES duel, outcome INTEGER REFERENCES duel_outcome,
    reused INTEGER NOT NULL, PRIMARY KEY (run, position), UNIQUE (run, duel)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_duel_duel ON run_duel (duel);
CREATE INDEX run_duel_outcome ON run_duel (outcome);
CREATE TABLE block (
    outcome INTEGER NOT NULL REFERENCES duel_outcome ON DELETE CASCADE, position INTEGER NOT NULL,
    launch INTEGER NOT NULL, number INTEGER NOT NULL, phase TEXT NOT NULL, pattern TEXT NOT NULL,
    PRIMARY KEY (outcome, position)) STRICT, WITHOUT ROWID;
CREATE TABLE block_sample (
    outcome INTEGER NOT NULL, block INTEGER NOT NULL, side TEXT NOT NULL, call INTEGER NOT NULL,
    {_SAMPLE}, PRIMARY KEY (outcome, block, side, call),
    FOREIGN KEY (outcome, block) REFERENCES block ON DELETE CASCADE) STRICT, WITHOUT ROWID;
"""

# Tree comparisons and their results.
_VERSION_2 = """
CREATE TABLE parity (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT;
CREATE TABLE parity_outcome (
    key INTEGER PRIMARY KEY, parity INTEGER NOT NULL REFERENCES parity,
    run INTEGER REFERENCES run ON DELETE SET NULL,
    status TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX parity_outcome_parity ON parity_outcome (parity);
CREATE INDEX parity_outcome_run ON parity_outcome (run);
CREATE TABLE run_parity (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, position INTEGER NOT NULL,
    parity INTEGER NOT NULL REFERENCES parity, outcome INTEGER REFERENCES parity_outcome,
    reused INTEGER NOT NULL, PRIMARY KEY (run, position), UNIQUE (run, parity)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_parity_parity ON run_parity (parity);
CREATE INDEX run_parity_outcome ON run_parity (outcome);
"""

# A block may have three calls: no table changes, but an older reader knows only four.
_VERSION_3 = "-- patterns ABA and BAB"

# Parity levels were called rungs. Stored JSON has no spaces, and quotes inside its texts are
# escaped, so these fragments are keys and values.
_VERSION_4 = """
UPDATE run SET config = replace(config, '"rungs":', '"parity_levels":');
UPDATE run SET config = replace(config, '"kind":"rung"', '"kind":"parity_level"');
UPDATE event SET data = replace(data, '"kind":"rung"', '"kind":"parity_level"') WHERE kind = 'gate'
"""

# The script at index i migrates a store from version i to i + 1; version 0 is an empty file.
MIGRATIONS: tuple[str, ...] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)


def apply(connection: sqlite3.Connection, since: int, migrations: Sequence[str]) -> None:
    """Migrate the schema from one version to the newest, in the caller's transaction."""
    for script in migrations[since:]:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(migrations)}")


def shape(connection: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    """Return every table's columns and every trigger as one comparable value.

    A store may come from an untrusted source. Views, generated columns or triggers in place of the
    harness's tables would run code as soon as a table is read, so the shape is compared first.
    """
    tables = connection.execute(
        "SELECT l.name, l.strict, x.name, x.type, x.hidden FROM pragma_table_list AS l"
        " JOIN pragma_table_xinfo(l.name) AS x"
        " WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    triggers = connection.execute(
        "SELECT 'trigger', name FROM sqlite_schema WHERE type = 'trigger'"
    )
    return frozenset(tables.fetchall()) | frozenset(triggers.fetchall())


@lru_cache
def expected_shape(migrations: Sequence[str]) -> frozenset[tuple[object, ...]]:
    """Return the shape of a store of the newest version."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        apply(connection, 0, migrations)
        return shape(connection)
    finally:
        connection.close()


def is_ours(connection: sqlite3.Connection, migrations: Sequence[str]) -> bool:
    """Return whether a file of the newest version has the harness's tables, and no trigger.

    A user's own tables and views beside them are harmless, because nothing reads them.
    """
    expected = expected_shape(tuple(migrations))
    names = {row[0] for row in expected} | {"trigger"}
    return {row for row in shape(connection) if row[0] in names} == expected
