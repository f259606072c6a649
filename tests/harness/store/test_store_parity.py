"""Tests of tree comparisons in the store: kept, reused, migrated and cleaned."""

import sqlite3
from contextlib import closing

import pytest

from harness.core.errors import StoreError
from harness.core.model import Status
from harness.store import DATABASE, Store, schema
from harness.store.clean import clean

NAN = float("nan")
FOUND = {"splits": {"kfold5-s0-r0-f0": "bits"}, "comparison": {"worst": float("inf")}}


def what(number=0):
    return {"id": f"p{number:015x}", "dataset": "wine", "sides": [{"algorithm": "x\x00\udc80"}, {}]}


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results", write=True) as opened:
        yield opened


def test_comparisons_are_read_back_in_order(store, kit):
    run = kit.begin(store)
    store.record_parity(run, what(1), Status.DONE, FOUND)
    store.record_parity(run, what(0), Status.FAILED, {"reason": "not exportable"})
    (first, status, result), (second, failed, reason) = store.parities(run)
    assert (first["id"], second["id"]) == (what(1)["id"], what(0)["id"])
    assert (status, failed) == (Status.DONE, Status.FAILED)
    assert result == FOUND
    assert reason == {"reason": "not exportable"}
    assert first["dataset"] == "wine"


def test_stored_comparison_is_reused_by_a_later_run(store, kit):
    store.record_parity(kit.begin(store), what(0), Status.DONE, FOUND)
    store.record_parity("latest", what(1), Status.FAILED, {})
    ids = [what(i)["id"] for i in range(3)]
    assert store.known_parities(ids) == {ids[0]: Status.DONE, ids[1]: Status.FAILED}
    later = kit.begin(store)
    store.attach_parities(later, ids[0])
    assert [result for _, _, result in store.parities(later)] == [FOUND]
    with pytest.raises(StoreError, match="the parity p000000000000002 has no outcome"):
        store.attach_parities(later, ids[2])


def test_run_keeps_its_comparison_when_trees_are_compared_again(store, kit):
    first = kit.begin(store)
    store.record_parity(first, what(), Status.DONE, FOUND)
    second = kit.begin(store)
    store.record_parity(second, what(), Status.DONE, {"splits": {}})
    assert store.parities(first)[0][2] == FOUND
    assert store.parities(second)[0][2] == {"splits": {}}
    assert store.findings_of([what()["id"], what(1)["id"]]) == {what()["id"]: {"splits": {}}}


def test_cleaning_removes_comparisons_of_the_removed_run_only(store, kit):
    first = kit.begin(store)
    store.record_parity(first, what(0), Status.DONE, FOUND)
    store.record_parity(first, what(1), Status.DONE, FOUND)
    second = kit.begin(store)
    store.attach_parities(second, what(0)["id"])
    store.finish_run(second, "done")
    clean(store, runs=[first], dry_run=False)
    assert store.known_parities([what(0)["id"], what(1)["id"]]) == {what(0)["id"]: Status.DONE}
    clean(store, runs=[second], dry_run=False)
    with closing(sqlite3.connect(store.folder / DATABASE)) as connection:
        for table in ("parity", "parity_outcome", "run_parity"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_older_store_accepts_comparisons_after_migration(tmp_path, kit):
    folder = tmp_path / "results"
    folder.mkdir()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.executescript(schema.MIGRATIONS[0])
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with Store.open(folder, write=True) as store:
        run = kit.begin(store)
        assert store.parities(run) == []
        store.record_parity(run, what(), Status.DONE, FOUND)
        assert len(store.parities(run)) == 1
    (backup,) = folder.glob("*.schema1-*.backup")
    assert backup.stat().st_size > 0


def test_damaged_row_is_reported_as_a_damaged_store(store, kit):
    run = kit.begin(store)
    store.record_parity(run, what(), Status.DONE, FOUND)
    with store.writing() as database:
        database.execute("UPDATE parity_outcome SET body = '[1]'")
    with pytest.raises(StoreError, match="damaged"):
        store.parities(run)
