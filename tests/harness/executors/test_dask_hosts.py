"""Tests of host locks, and of folders and workers left by dead processes and clients."""

import os
import subprocess
import sys
import threading
import time

import pytest
from jobs import job, wait_until

from harness.execution.supervisor import Supervisor
from harness.executors.dask_cluster import hosts, jobs
from harness.executors.dask_cluster.hosts import Folder, WaitCancelledError, on_this_host


@pytest.fixture(autouse=True)
def own_locks(monkeypatch, tmp_path):
    monkeypatch.setattr(hosts, "LOCKS", tmp_path)
    monkeypatch.setattr(hosts.tempfile, "tempdir", str(tmp_path))


class HostUser(threading.Thread):
    """A thread that locks the host and keeps it until released."""

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
        except WaitCancelledError:
            self.end = "given up"

    def go(self):
        self.leave.set()
        self.join()


def test_untimed_jobs_share_a_host_and_timed_jobs_have_it_alone():
    one, two = HostUser(alone=False), HostUser(alone=False)
    assert one.there.wait(5.0)
    assert two.there.wait(5.0)
    waits = threading.Event()
    timing = HostUser(alone=True, wanted=lambda: waits.set() or True)
    assert waits.wait(5.0)
    late = HostUser(alone=False)  # comes later, and may not overtake
    one.go()
    assert not timing.there.wait(0.2)
    assert not late.there.is_set()
    two.go()
    assert timing.there.wait(5.0)
    assert not late.there.wait(0.2)
    second = HostUser(alone=True)
    timing.go()
    assert late.there.wait(5.0)
    assert not second.there.wait(0.2)
    late.go()
    assert second.there.wait(5.0)
    second.go()


def test_canceled_waiter_stops_waiting():
    timing = HostUser(alone=True)
    assert timing.there.wait(5.0)
    waiting = HostUser(alone=False, wanted=lambda: False)
    waiting.join(5.0)
    assert waiting.end == "given up"
    timing.go()


def test_lock_is_released_with_its_process(tmp_path):
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
        waiting = HostUser(alone=False)
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


def test_folder_being_created_is_not_removed(tmp_path, monkeypatch):
    made = tmp_path / f"{hosts.PREFIX}x"
    made.mkdir()
    hosts.sweep()
    assert made.is_dir()
    os.utime(made, (0, time.time() - 100.0))
    hosts.sweep()
    assert not made.exists()


def test_leftovers_of_a_client_are_closed_after_a_while(monkeypatch):
    monkeypatch.setattr(jobs, "IDLE", 0.3)
    assert len(jobs.run_here("left", job({}))) == 1
    resources = jobs._resources["left"]
    assert resources.folder.path.is_dir()
    wait_until(lambda: resources.closed and not resources.folder.path.exists())
    assert "left" not in jobs._resources


def test_nothing_is_compiled_beside_timed_work(monkeypatch):
    warmed = threading.Event()
    monkeypatch.setattr(Supervisor, "warm", lambda *_: warmed.set())
    timing = HostUser(alone=True)
    assert timing.there.wait(5.0)
    results = []
    work = threading.Thread(target=lambda: results.extend(jobs.run_here("late", job({}))))
    work.start()
    assert not warmed.wait(0.3)
    timing.go()
    work.join(30.0)
    assert warmed.is_set()
    assert len(results) == 1
    jobs.close_here("late")
