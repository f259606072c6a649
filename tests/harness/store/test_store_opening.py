"""Tests of old, new, foreign, damaged and missing stores, and of migrations."""

import sqlite3
from contextlib import closing

import pytest

from harness.analysis.gates import gates_of
from harness.core.errors import HarnessError, StoreError
from harness.store import DATABASE, Store, schema
from harness.store.rows import dumps

# A hypothetical version after 1: a new column, computed from the old rows.
SECOND = """
ALTER TABLE run ADD COLUMN title TEXT NOT NULL DEFAULT '';
UPDATE run SET title = upper(name);
"""
THIRD = "CREATE TABLE note (key INTEGER PRIMARY KEY, run INTEGER REFERENCES run) STRICT"


def ask(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def change(path, script):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.fixture
def first(tmp_path):
    """A store of version 1, made by hand."""
    folder = tmp_path / "results"
    folder.mkdir()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.executescript(schema.MIGRATIONS[0])
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
        row = (
            "20260101-0000-abcd",
            "old",
            "done",
            "{}",
            "h",
            "{}",
            "[]",
            "2026-01-01",
            "2026-01-02",
        )
        connection.execute(f"INSERT INTO run VALUES (1, {', '.join('?' * 9)})", row)
        connection.commit()
    return folder


def later(monkeypatch, *steps):
    monkeypatch.setattr(schema, "MIGRATIONS", (schema.MIGRATIONS[0], *steps))


def test_new_store_has_its_mark_and_version(tmp_path):
    Store.open(tmp_path / "deep" / "results", write=True).close()
    path = tmp_path / "deep" / "results" / DATABASE
    assert ask(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]
    assert ask(path, "PRAGMA user_version") == [(len(schema.MIGRATIONS),)]
    assert ask(path, "PRAGMA journal_mode") == [("delete",)]
    tables = ask(path, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0")
    assert all(name.startswith("sqlite_") for (name,) in tables)


@pytest.mark.parametrize("write", [True, False])
def test_older_store_is_migrated_after_a_backup(first, monkeypatch, write):
    later(monkeypatch, SECOND, THIRD)
    with Store.open(first, write=write) as store:
        assert store.run()["name"] == "old"
    assert ask(first / DATABASE, "SELECT name, title FROM run") == [("old", "OLD")]
    assert ask(first / DATABASE, "PRAGMA user_version") == [(3,)]
    (backup,) = first.glob("*.backup")
    assert ask(backup, "PRAGMA user_version") == [(1,)]
    assert ask(backup, "SELECT name FROM run") == [("old",)]
    assert list(first.glob("*.part")) == []


def test_runs_stored_before_parity_levels_were_renamed_are_read(first):
    gate = {"kind": "rung", "algorithm": "ridge", "limit": "L2"}
    config = {
        "experiment": {"gate": [gate], "name": 'say "kind":"rung"'},
        "declared": {"algorithms": {"ridge": {"rungs": {"default": "L2"}, "tasks": []}}},
    }
    with closing(sqlite3.connect(first / DATABASE)) as connection:
        for script in schema.MIGRATIONS[1:3]:
            connection.executescript(script)
        connection.execute("PRAGMA user_version = 3")
        connection.execute("UPDATE run SET config = ?", (dumps(config),))
        sql = "INSERT INTO event VALUES (?, 1, 'now', ?, ?)"
        decisions = dumps([{"gate": gate, "state": "pass"}])
        connection.executemany(sql, [(1, "gate", decisions), (2, "note", decisions)])
        connection.commit()
    with Store.open(first) as store:
        stored, (decided, note) = store.run()["config"], store.events()
    assert stored["experiment"]["gate"] == [{**gate, "kind": "parity_level"}]
    assert stored["experiment"]["name"] == 'say "kind":"rung"'
    assert stored["declared"]["algorithms"]["ridge"]["parity_levels"] == {"default": "L2"}
    assert [g.kind for g in gates_of(stored)] == ["parity_level"]
    assert decided["data"][0]["gate"]["kind"] == "parity_level"
    assert note["data"][0]["gate"]["kind"] == "rung"


def test_backup_begun_by_a_killed_process_is_removed(first, monkeypatch):
    later(monkeypatch, SECOND)
    (first / f"{DATABASE}.schema1-20200101T000000Z.backup.part").write_bytes(b"half")
    Store.open(first, write=True).close()
    assert list(first.glob("*.part")) == []
    assert len(list(first.glob("*.backup"))) == 1


def test_current_store_is_not_backed_up(first, monkeypatch):
    later(monkeypatch)
    Store.open(first, write=True).close()
    assert list(first.glob("*.backup")) == []


def test_failed_migration_keeps_the_old_store(first, monkeypatch):
    later(monkeypatch, SECOND, "ALTER TABLE nowhere ADD COLUMN x TEXT")
    with pytest.raises(StoreError, match="cannot be migrated"):
        Store.open(first, write=True)
    assert ask(first / DATABASE, "PRAGMA user_version") == [(1,)]
    assert "title" not in {row[1] for row in ask(first / DATABASE, "PRAGMA table_info(run)")}


def test_migration_that_orphans_rows_is_rolled_back(first, monkeypatch):
    change(first / DATABASE, "INSERT INTO event VALUES (1, 1, 'now', 'note', '{}')")
    later(monkeypatch, "DELETE FROM run")
    with pytest.raises(StoreError, match="name missing rows"):
        Store.open(first, write=True)
    assert ask(first / DATABASE, "SELECT name FROM run") == [("old",)]


def test_no_room_for_the_backup_stops_the_migration(first, monkeypatch, kit):
    later(monkeypatch, SECOND)
    monkeypatch.setattr("harness.store.connect.sqlite3.connect", Refusing)
    with pytest.raises(StoreError, match="full"):
        Store.open(first, write=True)
    monkeypatch.undo()
    assert ask(first / DATABASE, "PRAGMA user_version") == [(1,)]


class Refusing(sqlite3.Connection):
    """A connection whose disk is full when a backup is made."""

    def backup(self, *_):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


def test_newer_store_is_refused_and_unchanged(full):
    change(full / DATABASE, "PRAGMA user_version = 99")
    before = (full / DATABASE).read_bytes()
    for write in (True, False):
        with pytest.raises(StoreError, match=r"newer harness \(schema 99"):
            Store.open(full, write=write)
    assert (full / DATABASE).read_bytes() == before


@pytest.mark.parametrize("write", [True, False])
def test_foreign_database_is_refused_and_unchanged(tmp_path, write):
    change(tmp_path / DATABASE, "CREATE TABLE bookmark (url TEXT)")
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store.open(tmp_path, write=write)
    assert (tmp_path / DATABASE).read_bytes() == before


@pytest.mark.parametrize("write", [True, False])
def test_file_that_is_no_database_is_refused(tmp_path, write):
    (tmp_path / DATABASE).write_text("name,score\n" * 1000)
    with pytest.raises(StoreError, match="not a database of this harness; move it aside"):
        Store.open(tmp_path, write=write)


@pytest.mark.parametrize("write", [True, False])
def test_folder_in_place_of_the_file_is_refused(tmp_path, write):
    (tmp_path / DATABASE).mkdir()
    with pytest.raises(StoreError):
        Store.open(tmp_path, write=write)


def test_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(StoreError, match="results"):
        Store.open(tmp_path / "results", write=True)


def test_empty_file_becomes_an_empty_store(tmp_path):
    (tmp_path / DATABASE).touch()
    with Store.open(tmp_path) as store:
        assert store.runs() == []


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_truncated_store_is_reported_as_damaged(full, keep):
    content = (full / DATABASE).read_bytes()
    (full / DATABASE).write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(StoreError, match=r"is damaged .* move it aside \(mv .*harness.db"):
        Store.open(full, write=True)


def test_store_with_a_damaged_page_is_not_written_to(full):
    content = bytearray((full / DATABASE).read_bytes())
    content[8192:12288] = b"\xff" * 4096
    (full / DATABASE).write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(full, write=True)
    assert (full / DATABASE).read_bytes() == bytes(content)


@pytest.mark.parametrize(
    "script",
    [
        "DROP TABLE event; CREATE VIEW event AS SELECT 1 AS key",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
        "ALTER TABLE run ADD COLUMN x TEXT AS (hex(zeroblob(1000000000)))",
        "DROP TABLE sample; CREATE TABLE sample (outcome, position, phase, wall, cpu, peak, cold)",
    ],
)
def test_foreign_tables_are_never_read(full, script):
    change(full / DATABASE, script)
    for write in (True, False):
        with pytest.raises(StoreError, match="tables are not those"):
            Store.open(full, write=write)


def test_additional_user_tables_and_views_do_no_harm(full):
    change(full / DATABASE, "CREATE TABLE my_notes (x); CREATE VIEW mine AS SELECT * FROM run")
    with Store.open(full, write=True) as store:
        assert len(store.runs()) == 1


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE outcome SET status = 'splendid'",
        "UPDATE outcome SET facts = '{'",
        "UPDATE outcome SET facts = '[]'",
        "UPDATE trial SET body = '{\"split\": 1}'",
        "UPDATE trial SET body = json_set(body, '$.surprise', 1)",
        f"UPDATE outcome SET facts = '{'[' * 100_000}'",
        "UPDATE run SET config = '{\"$float\": 1}'",
        "UPDATE outcome SET failure_message = NULL",
        "UPDATE duel SET body = '0'",
        "UPDATE block SET pattern = 'BABA'",
        "DELETE FROM block_sample WHERE call = 1",
        "UPDATE trial SET algorithm = CAST(x'ff' AS TEXT)",
    ],
)
def test_foreign_row_is_reported_as_damage(full, script):
    change(full / DATABASE, script)
    with Store.open(full) as store:
        refused = []
        for question in (store.runs, store.outcomes, store.duels):
            try:
                question()
            except HarnessError as error:
                refused.append(error)
    assert [type(error) for error in refused] == [StoreError]
    assert "is damaged" in str(refused[0])
    assert "\n" not in str(refused[0])


def test_path_with_special_characters_works(tmp_path):
    folder = tmp_path / "a?mode=memory&b#c%20 ü'\";"
    with Store.open(folder, write=True) as store:
        store.begin_run("x", {}, "", {}, [])
    assert (folder / DATABASE).is_file()
    with Store.open(folder) as store:
        assert len(store.runs()) == 1
