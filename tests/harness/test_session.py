import os
import resource
import signal
import sys
import textwrap
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import job, running, wait_until

from harness.core import processes
from harness.core.model import Environment, Status
from harness.execution.session import DiedError, RefusedError, Session, TooLateError
from harness.worker import PROTOCOL
from harness.worker.environment import worker_environment


@pytest.fixture
def impostor(tmp_path):
    """Return a function that opens a session with an interpreter that runs other code."""
    opened = []

    def open_session(code):
        script = tmp_path / "impostor"
        body = textwrap.dedent(code)
        script.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}")
        script.chmod(0o755)
        given = replace(job({}), environment=Environment("other", python=str(script)))
        opened.append(Session(given, tmp_path / "work"))
        return opened[-1]

    yield open_session
    for session in opened:
        session.kill()


REPLY = "fd = int(os.environ['HARNESS_REPLY_FD'])\nrequest = json.loads(sys.stdin.readline())\n"


def test_missing_interpreter_is_named(tmp_path):
    given = replace(job({}), environment=Environment("x", python="/no/such/python"))
    with pytest.raises(DiedError, match="cannot start /no/such/python: No such file"):
        Session(given, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_worker_that_ends_before_replying_is_reported_with_its_output(impostor):
    session = impostor("print('no module named harness', file=sys.stderr); sys.exit(3)")
    with pytest.raises(DiedError, match="exit code 3") as caught:
        session.ask("hello", 10.0)
    assert "no module named harness" in caught.value.failure.detail
    assert not session.alive


@pytest.mark.parametrize(
    "answer",
    [
        "b'garbage\\n'",
        "b'{}\\n'",
        "b'[1]\\n'",
        "b'\\xff\\xfe\\n'",
        "json.dumps({'v': 99, 'n': 1, 'ok': True}).encode() + b'\\n'",
        "json.dumps({'v': 1, 'n': 7, 'ok': True}).encode() + b'\\n'",
        "json.dumps({'v': 1, 'n': 1, 'ok': 'yes'}).encode() + b'\\n'",
        "json.dumps({'v': 1, 'n': 1, 'ok': False, 'failure': 'no'}).encode() + b'\\n'",
        "json.dumps({'v': 1, 'n': 1, 'ok': True}).encode() + b'\\nmore'",
    ],
)
def test_anything_but_one_valid_reply_ends_the_session(impostor, answer):
    session = impostor(f"{REPLY}os.write(fd, {answer})\ntime.sleep(60)")
    with pytest.raises(DiedError) as caught:
        session.ask("hello", 10.0)
    assert caught.value.failure.kind == "protocol"
    assert not running(session.process.pid)


def test_endless_reply_is_cut_off(impostor):
    session = impostor(f"{REPLY}\nwhile True: os.write(fd, b'x' * 65536)")
    with pytest.raises(DiedError, match="reply channel"):
        session.ask("hello", 20.0)


def test_reply_in_pieces_is_one_reply_and_a_last_reply_counts(impostor):
    session = impostor(
        f"{REPLY}whole = json.dumps(dict(v={PROTOCOL}, n=request['n'], ok=True, x=5)).encode()\n"
        "os.write(fd, whole[:9]); time.sleep(0.1); os.write(fd, whole[9:] + b'\\n')"
    )
    assert session.ask("hello", 10.0)["x"] == 5
    with pytest.raises(DiedError):
        session.ask("fit", 10.0)


def test_refusal_leaves_the_session_usable_and_has_the_output(impostor):
    session = impostor(
        "fd = int(os.environ['HARNESS_REPLY_FD'])\n"
        "for line in sys.stdin:\n"
        "    n = json.loads(line)['n']\n"
        "    print('printed', n, flush=True)\n"
        "    failure = dict(kind='ValueError', message='no', detail='traceback')\n"
        f"    reply = dict(v={PROTOCOL}, n=n, ok=n > 1, failure=failure)\n"
        "    os.write(fd, json.dumps(reply).encode() + b'\\n')\n"
    )
    with pytest.raises(RefusedError, match="ValueError: no") as caught:
        session.ask("fit", 10.0)
    assert caught.value.status is Status.FAILED
    assert caught.value.failure.detail == "traceback\n\nprinted:\nprinted 1"
    session.clear_log()
    assert session.ask("fit", 10.0)["ok"]
    assert processes.tail(session.files.log) == "printed 2"


def test_late_reply_and_a_request_after_the_end(impostor):
    session = impostor("time.sleep(60)")
    with pytest.raises(TooLateError, match=r"request 'fit' not done within 0.3 s"):
        session.ask("fit", 0.3)
    assert not running(session.process.pid)
    with pytest.raises(DiedError, match="has ended"):
        session.ask("fit", 0.3)


def test_long_request_to_a_stopped_worker_is_late(tmp_path):
    session = Session(job({}), tmp_path)
    session.hello(job({}), 60.0)
    os.kill(session.process.pid, signal.SIGSTOP)
    with pytest.raises(TooLateError, match=r"request 'warm' not done within 0.3 s"):
        session.ask("warm", 0.3, params=[{"text": "x" * (1 << 20)}])  # no pipe holds as much
    assert not running(session.process.pid)


def test_long_request_arrives_complete(impostor):
    session = impostor(
        f"{REPLY}time.sleep(0.3)\n"
        f"whole = dict(v={PROTOCOL}, n=request['n'], ok=True, x=len(request['text']))\n"
        "os.write(fd, json.dumps(whole).encode() + b'\\n')"
    )
    assert session.ask("fit", 20.0, text="x" * (3 << 20))["x"] == 3 << 20


def test_worker_quits_on_request_and_leaves_nothing(tmp_path):
    with Session(job({}), tmp_path) as session:
        session.hello(job({}), 30.0)
        session.memory = 1 << 34
        assert session.facts["versions"]["python"]
        assert session.facts["threads"] == 1
    assert session.process.returncode == 0
    assert list(tmp_path.iterdir()) == []
    session.close()  # again: nothing to do


def test_worker_ends_when_its_parent_closes_the_channel(tmp_path):
    session = Session(job({}), tmp_path)
    session.hello(job({}), 30.0)
    session.process.stdin.close()
    wait_until(lambda: session.process.poll() is not None)
    session.kill()


def test_session_leaks_no_descriptor(tmp_path):
    def descriptors():
        return len(list(Path("/dev/fd").iterdir()))

    Session(job({}), tmp_path).kill()
    before = descriptors()
    for _ in range(3):
        Session(job({}), tmp_path).kill()
    assert descriptors() == before


@pytest.mark.parametrize("forked", [False, True])
def test_worker_replies_with_many_open_files(tmp_path, forked):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 2048:
        pytest.skip("no more files may be opened here")
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        while stack.enter_context(Path(os.devnull).open()).fileno() < 1024:
            pass  # `select` takes none beyond
        session = stack.enter_context(Session(job({}), tmp_path, forked=forked))
        session.hello(job({}), 60.0)
        assert session.process.poll() is None


def test_only_listed_variables_reach_a_worker():
    parent = {
        "PATH": "/bin",
        "HOME": "/home/x",
        "LC_ALL": "C",
        "HARNESS_MIRROR": "/data",
        "NUMBA_NUM_THREADS": "64",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PYTHONSTARTUP": "x.py",
        "PYTHONPATH": "/mine",
    }
    here = worker_environment(parent, Environment(), 3)
    assert here["OMP_NUM_THREADS"] == here["NUMBA_NUM_THREADS"] == "3"
    assert here["PYTHONHASHSEED"] == "0"
    assert here["PYTHONSAFEPATH"] == "1"
    assert here["HARNESS_MIRROR"] == "/data"
    assert here["PYTHONPATH"].endswith(f"{os.pathsep}/mine")
    assert not {"AWS_SECRET_ACCESS_KEY", "PYTHONSTARTUP"} & set(here)


def test_other_source_tree_precedes_and_other_interpreter_has_its_own_path():
    parent = {"PYTHONPATH": "/mine"}
    tree = worker_environment(parent, Environment("old", root="/old"), 1)
    assert tree["PYTHONPATH"] == f"/old{os.pathsep}/mine"
    assert worker_environment(parent, Environment("v", python="/v/python"), 1)["PYTHONPATH"] == ""
    both = Environment("both", python="/v/python", root="/old")
    assert worker_environment(parent, both, 1)["PYTHONPATH"] == "/old"
