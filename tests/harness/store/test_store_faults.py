"""Two writers, readers that hold on, kills, full disks, read-only folders: nothing is lost."""

import json
import os
import random
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from harness.errors import BusyError, StoreError
from harness.model import Status
from harness.outcomes import SUFFIX
from harness.store import DATABASE, Store, connect
from harness.store.artifacts import Stored


def statuses(folder):
    with Store.open(folder) as store:
        return [o.status for o, _ in store.outcomes()]


# ------------------------------------------------------------------ writers


def test_a_second_writer_waits_and_then_sees_what_the_first_stored(tmp_path, child):
    first = child("hold", tmp_path)
    assert first.stdout.readline() == "held\n"
    said = []

    def let_go(message):
        said.append(message)
        first.stdin.close()

    with Store.open(tmp_path, write=True, on_wait=let_go) as store:
        assert [run["status"] for run in store.runs()] == ["interrupted"]
    (message,) = said
    assert message.startswith(f"another run (pid {first.pid}, started 20")
    assert message.endswith("UTC) writes to this store; waiting")


def test_a_second_writer_that_will_not_wait_is_told_who_writes(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    with pytest.raises(BusyError, match=rf"pid {first.pid}, .*run again when it has ended"):
        Store.open(tmp_path, write=True, wait=False)
    with Store.open(tmp_path) as reader:  # readers never wait for it
        assert len(reader.runs()) == 1


def test_a_message_about_a_holder_needs_no_readable_file(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    for content in (b"", b"\xff", b"[]", b'{"pid": "\x1b", "started": 3}'):
        (tmp_path / f"{DATABASE}.owner").write_bytes(content)
        with pytest.raises(BusyError, match=r"^another run writes"):
            Store.open(tmp_path, write=True, wait=False)


def test_the_lock_of_a_killed_writer_is_free(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    first.kill()
    first.wait()
    with Store.open(tmp_path, write=True, on_wait=pytest.fail) as store:
        assert store.run()["status"] == "interrupted"


def test_a_process_does_not_wait_for_itself(tmp_path):
    with Store.open(tmp_path, write=True):
        with pytest.raises(StoreError, match="this process already writes"):
            Store.open(tmp_path, write=True)
        with pytest.raises(BusyError):
            Store.open(tmp_path, write=True, wait=False)
    Store.open(tmp_path, write=True, on_wait=pytest.fail).close()


def test_a_store_that_cannot_be_opened_leaves_no_lock(tmp_path):
    (tmp_path / DATABASE).write_text("no database\n" * 100)
    for _ in range(2):
        with pytest.raises(StoreError, match="not a database"):
            Store.open(tmp_path, write=True, wait=False)


# ------------------------------------------------------------------ readers


def test_a_writer_outwaits_a_stranger_that_holds_a_cursor(full, kit, monkeypatch):
    monkeypatch.setattr(connect, "BUSY_SLICE", 0.01)
    with closing(sqlite3.connect(full / DATABASE)) as stranger:
        cursor = stranger.execute("SELECT phase FROM sample")
        cursor.fetchone()
        said = []

        def let_go(message):
            said.append(message)
            cursor.close()

        with Store.open(full, write=True, on_wait=let_go) as store:
            store.record(kit.begin(store), kit.outcome(50))
            assert store.counts("latest")["done"] == 1
    assert said == [f"another program reads {full / DATABASE}; waiting until it is done"]


def test_a_writer_that_will_not_wait_says_who_is_in_the_way_and_loses_nothing(
    full, kit, monkeypatch
):
    monkeypatch.setattr(connect, "BUSY_SLICE", 0.01)
    with Store.open(full, write=True, wait=False) as store:
        run = kit.begin(store)
        outcome, path = kit.finish_in(store.workdir(run), 50)
        with closing(sqlite3.connect(full / DATABASE)) as stranger:
            cursor = stranger.execute("SELECT phase FROM sample")
            cursor.fetchone()
            with pytest.raises(BusyError, match="another program holds"):
                store.record(run, outcome, source=path)
            assert path.is_file()
            cursor.close()
        store.record(run, outcome, source=path)
        assert [o.trial for o, _ in store.outcomes(run)] == [outcome.trial]


def test_a_reader_sees_whole_outcomes_while_a_writer_writes(full, kit):
    done, seen = threading.Event(), []

    def read():
        with Store.open(full) as reader:
            while not done.is_set():
                outcomes = reader.outcomes()
                seen.append(len(outcomes))
                assert all(len(o.samples) == len(kit.SAMPLES) for o, _ in outcomes)

    with Store.open(full, write=True) as store:
        run = kit.begin(store)
        thread = threading.Thread(target=read)
        thread.start()
        for number in range(60):
            store.record(run, kit.outcome(number))
        done.set()
        thread.join()
    assert seen == sorted(seen)
    assert statuses(full) == [Status.DONE] * 60


def test_an_idle_reader_holds_no_lock(full, kit, monkeypatch):
    monkeypatch.setattr(connect, "BUSY_SLICE", 0.01)
    with Store.open(full) as reader, Store.open(full, write=True, wait=False) as store:
        before = reader.outcomes()
        store.record(kit.begin(store), kit.outcome(50))
        assert len(reader.outcomes()) == 1 != len(before)


# ------------------------------------------------------------------ kills


def test_a_reader_undoes_what_a_killed_writer_left_half_written(full, child):
    with Store.open(full) as early:
        before = early.outcomes()
        child("die_writing", full).wait()
        assert (full / f"{DATABASE}-journal").stat().st_size > 0
        assert early.outcomes() == before
    child("die_writing", full).wait()
    with Store.open(full) as late:
        assert late.outcomes() == before


def test_what_a_killed_run_had_finished_is_stored_by_the_next(tmp_path, kit):
    with Store.open(tmp_path, write=True) as store:
        run = kit.begin(store)
        store.plan_trials(run, [kit.trial(i) for i in range(6)])
        work = store.workdir(run)
        (work / "job").mkdir()
        for number in (0, 1):
            kit.finish_in(work / "job", number)
        kit.finish_in(work, 2)
        (work / "2-0.npz").unlink()  # its arrays are not all there
        (work / f"half{SUFFIX}").write_text('{"trial": {')
        (work / f"deep{SUFFIX}").write_text("[" * 100_000)
        outcome, path = kit.finish_in(work, 3)
        store.record(run, outcome, source=path)
        kit.finish_in(work, 3)  # as if killed between the commit and the removal of its files
        store.finish_run(run, "done")
        (tmp_path / ".work-of-nobody").mkdir()
        kit.finish_in(tmp_path / ".work-of-nobody", 4)
    with Store.open(tmp_path, write=True) as store:
        assert [o.trial.seed for o, _ in store.outcomes(run)] == [0, 1, 3]
        assert len(store.history(kit.trial(3).cell)) == 1
        assert store.pending(run) == [kit.trial(i) for i in (2, 4, 5)]
    assert list(tmp_path.glob(".work*")) == []


def test_a_work_folder_that_is_a_link_is_left_alone(tmp_path, kit):
    with Store.open(tmp_path / "results", write=True) as store:
        run = kit.begin(store)
    (tmp_path / "mine").mkdir()
    kit.finish_in(tmp_path / "mine", 0)
    (tmp_path / "results" / f".work-{run}").symlink_to(tmp_path / "mine")
    with Store.open(tmp_path / "results", write=True) as store:
        assert store.outcomes() == []
    assert len(list((tmp_path / "mine").iterdir())) == 3


def kill_and_check(folder, child, kit, planned, chance):
    """Start a run, kill it after a few outcomes and a moment, and check all that is stored.

    Return the ids of the trials that the run had been told were stored.
    """
    process = child("fill", folder, planned)
    told = [process.stdout.readline().strip() for _ in range(chance.randint(1, 6))]
    time.sleep(chance.uniform(0, 0.01))
    process.kill()
    told += process.stdout.read().split()
    with Store.open(folder, write=True) as store:
        found = [outcome for outcome, _ in store.outcomes()]
        assert {run["status"] for run in store.runs()} == {"interrupted"}
        for outcome in found:
            assert outcome.samples == kit.SAMPLES
            assert len(outcome.arrays) == 2
            assert all(store.artifacts.holds(Stored(a, 3000)) for a in outcome.arrays.values())
        assert store.counts()["outcomes"] == len(found)  # nothing was run twice
        assert len(found) + len(store.pending()) == planned
    assert list(folder.glob(".work*")) == []
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    return told


def kill_campaign(folder, child, kit, rounds, seed):
    chance, told = random.Random(seed), []
    for _ in range(rounds):
        told += kill_and_check(folder, child, kit, 30 * rounds, chance)
        with Store.open(folder) as store:
            assert set(store.known(told)) == set(told)  # nothing was lost
    return told


def test_a_run_killed_again_and_again_loses_nothing(tmp_path, child, kit):
    assert len(kill_campaign(tmp_path, child, kit, 20, 20261121)) >= 20


@pytest.mark.slow
def test_a_long_campaign_of_kills_loses_nothing(tmp_path, child, kit):
    """``KILL_ROUNDS`` kills at moments drawn from ``KILL_SEED``."""
    rounds = int(os.environ.get("KILL_ROUNDS", "200"))
    told = kill_campaign(tmp_path, child, kit, rounds, int(os.environ.get("KILL_SEED", "1")))
    print(f"\n{rounds} kills, {len(told)} outcomes told as stored before them, none lost")  # noqa: T201


# ------------------------------------------------------------------ disks


def check_full(told):
    assert told["whole"] == "ok"
    assert len(told["stored"]) > 3
    assert told["found"][: len(told["stored"])] == told["stored"]
    assert len(told["found"]) <= len(told["stored"]) + 1


def test_a_file_that_may_not_grow_keeps_what_was_stored(tmp_path, child):
    told = json.loads(child("overflow", tmp_path, 300_000).stdout.readline())
    check_full(told)
    assert "harness.db" in told["message"]


def test_a_full_disk_keeps_what_was_stored(tmp_path, child, mounted):
    prefix = mounted(f"mount -t tmpfs -o size=600k tmpfs '{tmp_path}'")
    told = json.loads(child("overflow", tmp_path, 0, prefix=prefix).stdout.readline())
    check_full(told)
    assert any(word in told["message"] for word in ("no room", "full", "No space"))


def test_a_read_only_folder_is_read_and_says_why_it_is_not_written(full, child, mounted):
    line = f"mount --bind '{full}' '{full}' && mount -o remount,ro,bind '{full}'"
    told = json.loads(child("look", full, prefix=mounted(line)).stdout.readline())
    assert told["found"] == 5
    assert "check the folder's permissions" in told["message"]


def test_a_half_written_store_in_a_read_only_folder_is_told(full, child, mounted):
    child("die_writing", full).wait()
    line = f"mount --bind '{full}' '{full}' && mount -o remount,ro,bind '{full}'"
    told = json.loads(child("look", full, prefix=mounted(line)).stdout.readline())
    assert told["found"] is None
    assert "check the folder's permissions" in told["message"]
    with Store.open(full) as store:  # where it may be undone, it is
        assert [o.reason for o, _ in store.outcomes()] == ["", "why", "why", "", "why"]
