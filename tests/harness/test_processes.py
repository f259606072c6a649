import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import running, wait_until

from harness.core import processes

CHILD = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
)


@pytest.fixture
def family():
    """Return a process that waits for its own child, both in a separate process group."""
    parent = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True)
    wait_until(lambda: processes.descendants(parent.pid))
    yield parent
    os.killpg(parent.pid, signal.SIGKILL)
    parent.wait()


def test_descendants_are_the_same_by_proc_and_by_psutil(family):
    result = processes.descendants(family.pid)
    assert len(result) == 1
    assert processes._descendants_by_psutil(family.pid) == result


def test_resident_memory_covers_living_processes_of_the_family(family):
    [child] = processes.descendants(family.pid)
    wait_until(lambda: processes.resident_bytes(child) > 2**20)  # it has just been started
    assert processes.resident_bytes(family.pid) > processes.resident_bytes(child)
    assert processes.resident_bytes(2**22 - 1) == 0
    assert processes._descendants_by_psutil(2**22 - 1) == []


def test_pages_shared_by_processes_count_once(family):
    resident, fair = processes.resident_bytes(family.pid), processes.proportional_bytes(family.pid)
    assert 2**20 < fair <= resident
    if Path("/proc/self/smaps_rollup").exists():
        assert fair < resident  # both map the same interpreter
    assert processes.proportional_bytes(2**22 - 1) == 0


def test_group_is_killed_completely_and_a_dead_one_is_no_error():
    parent = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True)
    pids = [parent.pid, *wait_until(lambda: processes.descendants(parent.pid))]
    processes.kill_group(parent.pid)
    parent.wait()
    wait_until(lambda: not any(map(running, pids)))
    processes.kill_group(parent.pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
def test_process_of_the_group_kills_marked_processes_before_itself(tmp_path):
    mark = processes.Mark.now(str(tmp_path / "mark"))
    code = (
        "import os, sys; from harness.core.processes import Mark, kill_group\n"
        "os.wait() if os.fork() else kill_group(os.getppid(), Mark(sys.argv[1], 0))"
    )
    one = subprocess.Popen(["sleep", "60"], env=os.environ | {processes.MARK: mark.path})
    try:
        group = [sys.executable, "-c", code, mark.path]
        assert subprocess.run(group, start_new_session=True, check=False).returncode == -9
        assert one.wait(10.0) == -9
    finally:
        one.kill()
        one.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
def test_marked_process_is_found_while_it_executes_new_programs(tmp_path):
    program = tmp_path / "restarts_itself"
    program.write_text('#!/bin/sh\nexec "$0"\n')
    program.chmod(0o700)
    mark = processes.Mark.now(str(tmp_path / "mark"))
    one = subprocess.Popen([program], env=os.environ | {processes.MARK: mark.path})
    try:
        assert [mark.processes() for _ in range(300)] == [[one.pid]] * 300
    finally:
        one.kill()
        one.wait()


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (3, "exit code 3", "ended with exit code 3"),
        (-11, "SIGSEGV", "ended by SIGSEGV"),
        (-6, "SIGABRT", "ended by SIGABRT"),
        (-99, "signal 99", "ended by signal 99"),
    ],
)
def test_end_of_a_process_is_named(code, kind, words):
    assert processes.ending(code)[0] == kind
    assert words in processes.ending(code)[1]


def test_tail_of_any_file_is_text(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x" * 9000 + b"\xff\xfe the end \n")
    assert len(processes.tail(path, 100)) <= 100
    assert processes.tail(path).endswith("the end")
    assert processes.tail(tmp_path / "absent") == ""


def test_text_of_a_fault_omits_the_list_of_modules(tmp_path):
    path = tmp_path / "faults"
    path.write_text("Fatal Python error: x\n\nCurrent thread\n\nExtension modules: a, b, c\n")
    assert processes.fault_text(path) == "Fatal Python error: x\n\nCurrent thread"
    assert processes.fault_text(tmp_path / "absent") == ""


def test_kernel_count_of_kills_is_read_if_available():
    assert processes.kernel_oom_kills() >= 0
