"""Tests of workers forked from a template: shared and separate state, and how all end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from jobs import job, pids_in, running, wait_until

from harness.core.model import Environment, Status, to_json
from harness.execution import fork_server
from harness.execution.session import DiedError, Session
from harness.execution.supervisor import Supervisor

pytestmark = pytest.mark.skipif(
    not fork_server.can_fork(), reason="this system's workers do not fork"
)


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens forked sessions and closes them at the end."""
    sessions = []

    def open_session(**more):
        sessions.append(Session(job({}, **more), tmp_path / "work", forked=True))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.kill()


def template_of(session):
    return psutil.Process(session.process.pid).parent()


@pytest.mark.slow
def test_forks_of_one_kind_share_a_template_and_other_kinds_do_not(opened):
    one, two, other = opened(), opened(), opened(threads=2)
    assert template_of(one) == template_of(two) != template_of(other)
    assert template_of(one).ppid() == os.getpid()
    other.hello(job({}, threads=2), 60.0)
    assert all(pool["num_threads"] == 2 for pool in other.facts["pools"])


def test_timed_jobs_duels_and_other_source_trees_start_new_processes(tmp_path, monkeypatch):
    def is_fork(session):
        with session:
            return isinstance(session.process, fork_server.Forked)

    with Supervisor(tmp_path / "work") as supervisor:
        pool = supervisor.pool
        assert is_fork(pool.take(job({})))
        assert not is_fork(pool.take(job({}, timed=True)))
        assert not is_fork(supervisor.open_session(job({})))
        root = str(Path(__file__).resolve().parents[2])
        assert not is_fork(pool.take(job({}, environment=Environment("base", root=root))))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not is_fork(Session(job({}), tmp_path, forked=True))


def test_fork_equals_a_new_process(opened, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    session = opened()
    session.hello(job({}), 60.0)
    process = psutil.Process(session.process.pid)
    assert os.getpgid(process.pid) == os.getsid(process.pid) == process.pid
    assert process.cwd() == str(tmp_path)
    assert process.num_fds() == 7  # nothing, output twice, faults, state, requests and replies
    score = Path(f"/proc/{process.pid}/oom_score_adj").read_text()
    assert (score.strip(), session.facts["hash_seed"]) == ("1000", "0")
    [imported] = session.facts["samples"]
    assert imported["wall"] > 0.1  # what the template imported counts
    assert process.children(recursive=True) == []  # nothing of the template is its memory


def test_forks_have_different_global_random_states(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        with Supervisor(tmp_path / "work") as supervisor:
            draws = job({"prepare": "draw", "draws": path})
            assert [o.status for o in supervisor.supervise(draws)] == [Status.DONE]
    one, other = (Path(path).read_text().split() for path in paths)
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_each_end_of_a_fork_is_reported(opened):
    for deed, code in (("exit", 7), ("segfault", -signal.SIGSEGV), ("kill_self", -signal.SIGKILL)):
        session = opened()
        given = job({"fit": deed})
        session.hello(given, 60.0)
        session.load(given.dataset, 60.0)
        session.ask("prepare", 60.0, trial=to_json(given.trials[0]))
        assert session.process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            session.process.wait(0.01)
        with pytest.raises(DiedError):
            session.ask("fit", 60.0)
        assert session.process.poll() == session.process.wait() == code


def test_process_id_of_a_fork_is_reserved_until_its_end_is_read(opened):
    session = opened()
    pid = session.process.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    session.kill()
    wait_until(lambda: not psutil.pid_exists(pid))


def test_fork_ends_with_its_channel_while_its_siblings_continue(opened):
    first, second, third = opened(), opened(), opened()
    for session in (first, third):
        session.process.stdin.close()
        wait_until(lambda s=session: s.process.poll() is not None)
    second.hello(job({}), 60.0)


def test_forks_and_templates_leak_no_descriptors(opened):
    first = opened()
    here, template = psutil.Process(), template_of(first)
    before = here.num_fds(), template.num_fds()
    for _ in range(3):
        opened().kill()
    wait_until(lambda: (here.num_fds(), template.num_fds()) == before)


def test_killed_template_costs_no_worker_and_no_trial(tmp_path):
    mark = tmp_path / "pids"
    nap = {"fit": "note_pid+sleep", "pids": str(mark), "seconds": 1.0}
    with Supervisor(tmp_path / "work") as supervisor:
        result = supervisor.supervise(job({}, nap, {}))
        assert next(result).status is Status.DONE
        [session] = supervisor.pool._busy
        template = template_of(session)
        template.kill()
        template.wait()
        assert [o.status for o in result] == [Status.DONE, Status.DONE]
        assert pids_in(mark) == [session.process.pid]
        os.kill(session.process.pid, signal.SIGKILL)
        with pytest.raises(DiedError, match="the template process that records its exit code"):
            session.ask("fit", 20.0)
        with supervisor.pool.take(job({})) as another:
            assert isinstance(another.process, fork_server.Forked)  # of a new template


@pytest.mark.slow
def test_template_killed_during_a_request_is_replaced_by_a_new_interpreter(opened, monkeypatch):
    opened()
    sent = fork_server.socket.send_fds

    def killed_first(socket_used, *arguments):
        [template] = [t for t in fork_server._templates.values() if t and t._socket is socket_used]
        template.process.kill()
        template.process.wait()
        return sent(socket_used, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(fork_server.socket, "send_fds", killed_first)
        session = opened()
    assert isinstance(session.process, subprocess.Popen)
    session.hello(job({}), 60.0)
    assert isinstance(opened().process, fork_server.Forked)


def test_template_that_cannot_import_is_tried_once(opened, monkeypatch, tmp_path):
    broken = tmp_path / "scipy"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise RuntimeError('no such luck')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    started = []
    popen = fork_server.subprocess.Popen

    def counted(command, **more):
        started.append(command)
        return popen(command, **more)

    monkeypatch.setattr(fork_server.subprocess, "Popen", counted)
    for _ in range(2):
        assert not isinstance(opened().process, fork_server.Forked)
    assert sum("--template" in command for command in started) == 1


def test_idle_template_ends_by_itself():
    code = (
        "import socket, sys\n"
        "from harness.worker import template\n"
        "template.IDLE = 0.2\n"
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "template.become_worker(b.detach())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == 0


def test_templates_end_with_this_process():
    code = (
        "from pathlib import Path\n"
        "import tempfile, psutil, os\n"
        "from jobs import job\n"
        "from harness.execution.session import Session\n"
        "with Session(job({}), Path(tempfile.mkdtemp()), forked=True) as session:\n"
        "    print(psutil.Process(session.process.pid).ppid(), flush=True)\n"
    )
    helpers = str(Path(__file__).resolve().parents[1] / "helpers")
    path = os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    assert not running(int(done.stdout))
