"""Locks of a host, folders of processes that have died, and what a dead client leaves behind."""

import os
import subprocess
import sys
import threading
import time

import pytest
from jobs import job, wait_until

from harness.execution.supervisor import Supervisor
from harness.executors.dask_cluster import hosts, jobs
from harness.executors.dask_cluster.hosts import Folder, GivenUpError, on_this_host


@pytest.fixture(autouse=True)
def own_locks(monkeypatch, tmp_path):
    monkeypatch.setattr(hosts, "LOCKS", tmp_path)
    monkeypatch.setattr(hosts.tempfile, "tempdir", str(tmp_path))


class Guest(threading.Thread):
    """Someone who wants the host, and keeps it until told."""

    def __init__(self, *, alone, wanted=lambda: True):
        super().__init__(daemon=True)
        self.alone, self.wanted, self.end = alone, wanted, None
        self.there, self.leave = threading.Event(), threading.Event()
        self.start()

    def run(self):
        try:
            with on_this_host(alone=self.alone, keep_waiting=self.wanted):
                self.there.set()
                self.leave.wait(10.0)
        except GivenUpError:
            self.end = "given up"

    def go(self):
        self.leave.set()
        self.join()


def test_those_who_do_not_time_share_a_host_and_who_times_has_it_alone():
    one, two = Guest(alone=False), Guest(alone=False)
    assert one.there.wait(5.0)
    assert two.there.wait(5.0)
    waits = threading.Event()
    timing = Guest(alone=True, wanted=lambda: waits.set() or True)
    assert waits.wait(5.0)
    late = Guest(alone=False)  # comes later, and may not overtake
    one.go()
    assert not timing.there.wait(0.2)
    assert not late.there.is_set()
    two.go()
    assert timing.there.wait(5.0)
    assert not late.there.wait(0.2)
    second = Guest(alone=True)
    timing.go()
    assert late.there.wait(5.0)
    assert not second.there.wait(0.2)
    late.go()
    assert second.there.wait(5.0)
    second.go()


def test_who_is_no_longer_wanted_stops_waiting():
    timing = Guest(alone=True)
    assert timing.there.wait(5.0)
    waiting = Guest(alone=False, wanted=lambda: False)
    waiting.join(5.0)
    assert waiting.end == "given up"
    timing.go()


def test_a_lock_goes_with_its_process(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from harness.executors.dask_cluster import hosts as h\n"
        "h.LOCKS = Path(sys.argv[1]); h.tempfile.tempdir = sys.argv[1]\n"
        "folder = h.Folder()\n"
        "with h.on_this_host(alone=True): print(folder.path, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        left = hosts.Path(other.stdout.readline().strip())
        waiting = Guest(alone=False)
        assert not waiting.there.wait(0.2)
        own = Folder()
        assert left.is_dir()
        assert own.path.is_dir()
        other.kill()
    assert waiting.there.wait(5.0)
    waiting.go()
    hosts.sweep()
    assert not left.exists()
    assert own.path.is_dir()
    own.close()
    assert not own.path.exists()


def test_a_folder_that_is_being_made_is_left_alone(tmp_path, monkeypatch):
    made = tmp_path / f"{hosts.PREFIX}x"
    made.mkdir()
    hosts.sweep()
    assert made.is_dir()
    os.utime(made, (0, time.time() - 100.0))
    hosts.sweep()
    assert not made.exists()


def test_what_a_client_leaves_behind_is_closed_after_a_while(monkeypatch):
    monkeypatch.setattr(jobs, "IDLE", 0.3)
    assert len(jobs.run_here("left", job({}))) == 1
    place = jobs._places["left"]
    assert place.folder.path.is_dir()
    wait_until(lambda: place.closed and not place.folder.path.exists())
    assert "left" not in jobs._places


def test_nothing_is_compiled_beside_what_is_timed(monkeypatch):
    warmed = threading.Event()
    monkeypatch.setattr(Supervisor, "warm", lambda *_: warmed.set())
    timing = Guest(alone=True)
    assert timing.there.wait(5.0)
    found = []
    work = threading.Thread(target=lambda: found.extend(jobs.run_here("late", job({}))))
    work.start()
    assert not warmed.wait(0.3)
    timing.go()
    work.join(30.0)
    assert warmed.is_set()
    assert len(found) == 1
    jobs.close_here("late")
