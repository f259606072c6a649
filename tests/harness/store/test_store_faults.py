"""Tests of two writers, long readers, full disks and read-only folders: nothing is lost."""

import json
import sqlite3
import threading
from contextlib import closing

import pytest

from harness.core.errors import BusyError, StoreError
from harness.core.model import Status
from harness.store import DATABASE, Store, connect


def statuses(folder):
    with Store.open(folder) as store:
        return [o.status for o, _ in store.outcomes()]


# ------------------------------------------------------------------ writers


def test_second_writer_waits_and_then_sees_what_the_first_stored(tmp_path, child):
    first = child("hold", tmp_path)
    assert first.stdout.readline() == "held\n"
    messages = []

    def let_go(message):
        messages.append(message)
        first.stdin.close()

    with Store.open(tmp_path, write=True, on_wait=let_go) as store:
        assert [run["status"] for run in store.runs()] == ["interrupted"]
    (message,) = messages
    assert message.startswith(f"another run (pid {first.pid}, started 20")
    assert message.endswith("UTC) writes to this store; waiting")


def test_second_writer_without_waiting_reports_the_writer(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    with pytest.raises(BusyError, match=rf"pid {first.pid}, .*run again when it has ended"):
        Store.open(tmp_path, write=True, wait=False)
    with Store.open(tmp_path) as reader:  # readers never wait for it
        assert len(reader.runs()) == 1


def test_message_about_a_lock_holder_needs_no_readable_file(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    for content in (b"", b"\xff", b"[]", b'{"pid": "\x1b", "started": 3}'):
        (tmp_path / f"{DATABASE}.owner").write_bytes(content)
        with pytest.raises(BusyError, match=r"^another run writes"):
            Store.open(tmp_path, write=True, wait=False)


def test_lock_of_a_killed_writer_is_free(tmp_path, child):
    first = child("hold", tmp_path)
    first.stdout.readline()
    first.kill()
    first.wait()
    with Store.open(tmp_path, write=True, on_wait=pytest.fail) as store:
        assert store.run()["status"] == "interrupted"


def test_process_does_not_wait_for_itself(tmp_path):
    with Store.open(tmp_path, write=True):
        with pytest.raises(StoreError, match="this process already writes"):
            Store.open(tmp_path, write=True)
        with pytest.raises(BusyError):
            Store.open(tmp_path, write=True, wait=False)
    Store.open(tmp_path, write=True, on_wait=pytest.fail).close()


def test_store_that_cannot_be_opened_leaves_no_lock(tmp_path):
    (tmp_path / DATABASE).write_text("no database\n" * 100)
    for _ in range(2):
        with pytest.raises(StoreError, match="not a database"):
            Store.open(tmp_path, write=True, wait=False)


# ------------------------------------------------------------------ readers


def test_writer_waits_for_a_foreign_reader_with_an_open_cursor(full, kit, monkeypatch):
    monkeypatch.setattr(connect, "BUSY_SLICE", 0.01)
    with closing(sqlite3.connect(full / DATABASE)) as stranger:
        cursor = stranger.execute("SELECT phase FROM sample")
        cursor.fetchone()
        messages = []

        def let_go(message):
            messages.append(message)
            cursor.close()

        with Store.open(full, write=True, on_wait=let_go) as store:
            store.record(kit.begin(store), kit.outcome(50))
            assert store.counts("latest")["done"] == 1
    assert messages == [f"another program reads {full / DATABASE}; waiting until it is done"]


def test_writer_without_waiting_names_the_holder_and_loses_nothing(full, kit, monkeypatch):
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


def test_reader_sees_complete_outcomes_during_writes(full, kit):
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


def test_idle_reader_holds_no_lock(full, kit, monkeypatch):
    monkeypatch.setattr(connect, "BUSY_SLICE", 0.01)
    with Store.open(full) as reader, Store.open(full, write=True, wait=False) as store:
        before = reader.outcomes()
        store.record(kit.begin(store), kit.outcome(50))
        assert len(reader.outcomes()) == 1 != len(before)


# ------------------------------------------------------------------ disks


def check_full(message):
    assert message["whole"] == "ok"
    assert len(message["stored"]) > 3
    assert message["found"][: len(message["stored"])] == message["stored"]
    assert len(message["found"]) <= len(message["stored"]) + 1


def test_file_that_may_not_grow_keeps_stored_results(tmp_path, child):
    data = json.loads(child("overflow", tmp_path, 200_000).stdout.readline())
    check_full(data)
    assert "harness.db" in data["message"]


def test_full_disk_keeps_stored_results(tmp_path, child, mounted):
    prefix = mounted(f"mount -t tmpfs -o size=600k tmpfs '{tmp_path}'")
    data = json.loads(child("overflow", tmp_path, 0, prefix=prefix).stdout.readline())
    check_full(data)
    assert any(word in data["message"] for word in ("no room", "full", "No space"))


def test_read_only_folder_can_be_read_and_gives_the_write_error(full, child, mounted):
    line = f"mount --bind '{full}' '{full}' && mount -o remount,ro,bind '{full}'"
    data = json.loads(child("look", full, prefix=mounted(line)).stdout.readline())
    assert data["found"] == 5
    assert "check the folder's permissions" in data["message"]


def test_half_written_store_in_a_read_only_folder_is_reported(full, child, mounted):
    child("die_writing", full).wait()
    line = f"mount --bind '{full}' '{full}' && mount -o remount,ro,bind '{full}'"
    data = json.loads(child("look", full, prefix=mounted(line)).stdout.readline())
    assert data["found"] is None
    assert "check the folder's permissions" in data["message"]
    with Store.open(full) as store:  # where it may be undone, it is
        assert [o.reason for o, _ in store.outcomes()] == ["", "why", "why", "", "why"]
