"""Tests of time excluded from a time limit, and of the measured load of a machine."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from jobs import wait_until

from harness.core import machine_load, time_limits
from harness.core.machine_load import LoadMeter
from harness.core.time_limits import TimeLimit
from harness.worker.compile_clock import CompileClock, CompileTime, read_compile_time

PARENT = """
import sys
from pathlib import Path
from jobs import job
from harness.execution.supervisor import Supervisor

folder = Path(sys.argv[1])
with Supervisor(folder / "work") as supervisor:
    slow = {"prepare": "note_pid", "fit": "sleep", "seconds": 2.0, "pids": str(folder / "pids")}
    for outcome in supervisor.supervise(job(slow, timeout=30.0)):
        print(outcome.status, flush=True)
"""


@pytest.fixture
def clock(monkeypatch):
    """Return a list whose only number is the time."""
    now = [100.0]
    monkeypatch.setattr(time_limits.time, "monotonic", lambda: now[0])
    return now


def test_limit_counts_seconds_without_gaps(clock):
    limit = TimeLimit(5.0)
    for _ in range(8):
        clock[0] += 0.5
        limit.left()
    assert limit.left() == pytest.approx(1.0)
    clock[0] += 3600.0  # suspended
    assert limit.left() == pytest.approx(1.0)
    clock[0] += 0.9
    assert limit.left() == pytest.approx(0.1)


def test_limit_does_not_count_compilation(clock):
    compiled = [7.0]
    limit = TimeLimit(1.0, lambda: compiled[0])
    for _ in range(6):
        clock[0] += 0.5
        compiled[0] += 0.4
        limit.left()
    assert limit.compiled == pytest.approx(2.4)
    assert limit.left() == pytest.approx(0.4)
    compiled[0] = 1e9
    assert limit.compiled == time_limits.MAX_COMPILING


@pytest.mark.slow
def test_suspended_supervisor_stores_no_false_timeout(tmp_path):
    """It is suspended for longer than the limit of a trial that takes 2 s."""
    helpers = str(Path(__file__).resolve().parents[1] / "helpers")
    path = os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")])
    code = PARENT.replace("timeout=30.0", "timeout=6.0")
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until((tmp_path / "pids").exists, 180.0)
        parent.send_signal(signal.SIGSTOP)
        time.sleep(8.0)
        parent.send_signal(signal.SIGCONT)
        out, _ = parent.communicate(timeout=120)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    assert out.split() == ["done"]


def test_compilation_clock_is_read_by_another_process(tmp_path):
    path = tmp_path / "state"
    assert read_compile_time(path).total(0.0) == 0.0
    path.touch()
    clock = CompileClock(str(path))
    clock.start()
    clock.start()
    clock.end()
    assert read_compile_time(path).began > 0.0
    assert read_compile_time(path).total(time.monotonic() + 1.0) >= 1.0
    clock.end()
    result = read_compile_time(path)
    assert (result.began, result.functions) == (0.0, 2)
    assert 0.0 < result.seconds < 60.0
    assert CompileTime(0.0, 5.0, 1).total(1e6) == 600.0  # a single one that takes longer hangs


def burn():
    while True:
        pass


def test_machine_is_loaded_if_others_leave_a_worker_no_processor():
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    burners = [multiprocessing.get_context("spawn").Process(target=burn) for _ in cpus]
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for burner in burners:
            burner.start()
        wait_until(lambda: all(psutil.Process(b.pid).cpu_times().user > 0.2 for b in burners), 60.0)
        meter = LoadMeter(sleeper.pid)
        assert meter.facts(1) == {}  # too short to be measured
        time.sleep(2.0)
        facts = meter.facts(1)
        assert facts["loaded"]
        assert facts["others"] > 0.5 * len(cpus)
        assert facts["own"] < 0.2
    finally:
        for burner in burners:
            burner.kill()
            burner.join()
            burner.close()
        sleeper.kill()
        sleeper.wait()


def test_worker_with_its_processor_is_on_no_loaded_machine(monkeypatch):
    readings = iter([(0.0, 0.0, 0.0), (10.0, 10.5, 9.9), (0.0, 0.0, 0.0), (10.0, 19.0, 2.0)])
    monkeypatch.setattr(LoadMeter, "_read", lambda _: machine_load._Reading(*next(readings)))
    assert not LoadMeter(1, [0, 1]).facts(1)["loaded"]
    assert LoadMeter(1, [0, 1]).facts(1)["loaded"]
