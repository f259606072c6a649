"""Tests of every way in which the parent ends: no worker stays, finished results are on disk."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from jobs import pids_in, running, wait_until

from harness.core.model import Status
from harness.core.outcome_files import read_outcome

PARENT = """
import sys
from pathlib import Path
from jobs import job
from harness.executors.local import run_local
from harness.execution.supervisor import Supervisor

folder, width = Path(sys.argv[1]), int(sys.argv[2])
jobs = [job({}, {"fit": "hang", "pids": str(folder / f"pids{n}")}) for n in range(width)]
with Supervisor(folder / "work") as supervisor:
    for outcome in run_local(jobs, supervisor.supervise, {"jobs": width}):
        print(outcome.status, flush=True)
"""


def start(folder, width=1):
    """Start a parent, wait until its workers hang in a second trial, return it and their ids."""
    helpers = str(Path(__file__).resolve().parents[1] / "helpers")
    path = os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), str(width)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pids = [pid for n in range(width) for pid in pids_in(folder / f"pids{n}")]
    assert len(pids) == 2 * width
    assert all(map(running, pids))
    return parent, pids


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "width"),
    [(signal.SIGKILL, 1), (signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGINT, 2)],
)
def test_no_process_outlives_the_parent_and_finished_trials_stay(tmp_path, sent, width):
    parent, pids = start(tmp_path, width)
    pids = {*pids, *(child.pid for child in psutil.Process(parent.pid).children(recursive=True))}
    parent.send_signal(sent)
    _, errors = parent.communicate(timeout=30)
    assert parent.returncode == -sent
    wait_until(lambda: not any(map(running, pids)))
    assert (b"KeyboardInterrupt" in errors) == (sent == signal.SIGINT)
    left = [read_outcome(path) for path in (tmp_path / "work").glob("*.outcome.json")]
    assert [o.status for o in left] == [Status.DONE] * width
    if sent == signal.SIGINT:
        assert list((tmp_path / "work").glob("worker-*")) == []


DAEMON = """
import sys
from pathlib import Path
from jobs import job
from harness.execution.supervisor import Supervisor

deeds = {"fit": "daemonize+sleep", "daemon": sys.argv[1], "seconds": 600.0}
with Supervisor(Path(sys.argv[2])) as supervisor:
    list(supervisor.supervise(job(deeds, timed=sys.argv[3] == "timed", timeout=600.0)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's subreapers")
@pytest.mark.parametrize("kind", ["timed", "untimed"])
def test_daemon_does_not_outlive_a_killed_harness(tmp_path, kind):
    helpers = str(Path(__file__).resolve().parents[1] / "helpers")
    path = os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")])
    place = tmp_path / "daemon"
    parent = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(place), str(tmp_path / "work"), kind],
        env=os.environ | {"PYTHONPATH": path},
    )
    wait_until(place.exists, 60.0)
    pid = int(place.read_text())
    assert running(pid)
    parent.kill()
    parent.wait()
    wait_until(lambda: not running(pid))
