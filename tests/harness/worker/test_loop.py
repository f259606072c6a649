"""Tests of the worker's side of the protocol, in this process."""

import io
import json
import sys

import pytest
from jobs import PLUGIN

from harness.core.errors import DataError
from harness.worker import PROTOCOL
from harness.worker.loop import answer, failure_of, serve
from harness.worker.state import WorkerState


def ask(state, do, **fields):
    commands = {name: getattr(state, name) for name in dir(state) if not name.startswith("_")}
    return json.loads(json.dumps(answer({"v": PROTOCOL, "n": 1, "do": do, **fields}, commands)))


def test_every_request_gets_a_reply():
    for request in ({}, {"do": "nonsense"}, {"do": "hello"}, {"do": "fit", "x": 1}, {"v": 99}):
        reply = answer(
            {"n": 4, **request}, {"hello": WorkerState().hello, "fit": WorkerState().fit}
        )
        assert (reply["ok"], reply["n"], reply["v"]) == (False, 4, PROTOCOL)


def test_another_protocol_version_is_refused():
    reply = answer({"v": 99, "do": "fit"}, {"fit": dict})
    assert "worker and parent run different source trees" in reply["failure"]["message"]


@pytest.mark.parametrize(
    ("do", "fields", "first"),
    [
        ("load", {"dataset": {}}, "hello"),
        ("prepare", {"trial": {}}, "load"),
        ("native", {}, "prepare"),
        ("fit", {}, "prepare"),
        ("predict", {}, "prepare"),
        ("predict_one", {"rows": 1}, "prepare"),
        ("finish", {"outcome": "x", "arrays": "y"}, "prepare"),
        ("warm", {}, "hello"),
    ],
)
def test_request_out_of_order_names_the_required_step(do, fields, first):
    reply = ask(WorkerState(), do, **fields)
    assert reply["failure"]["kind"] == "HarnessError"
    assert f"`{first}`" in reply["failure"]["message"]


def test_algorithm_missing_in_the_plugin_is_refused():
    reply = ask(
        WorkerState(), "hello", plugin=str(PLUGIN), plugins=[], algorithm="misbehav", threads=1
    )
    assert "did you mean 'misbehave'?" in reply["failure"]["message"]


def test_serve_replies_line_by_line_until_the_end():
    requests = [{"v": PROTOCOL, "n": n, "do": "fit"} for n in range(3)]
    replies = io.BytesIO()
    serve(io.BytesIO(b"".join(json.dumps(r).encode() + b"\n" for r in requests)), replies)
    lines = replies.getvalue().splitlines()
    assert [json.loads(line)["n"] for line in lines] == [0, 1, 2]


def test_exceptions_are_reported_briefly_in_plain_characters():
    ours = failure_of(DataError("the file is empty"))
    assert (ours.kind, ours.message, ours.detail) == ("DataError", "the file is empty", "")
    theirs = failure_of(ValueError("\ud800" + "x" * 100_000))
    theirs.message.encode()
    left_out = "\n[... 92,001 characters left out ...]\n"
    assert theirs.message == "?" + "x" * 3999 + left_out + "x" * 4000
    assert failure_of(AssertionError()).message
    assert failure_of(MemoryError()).kind == "MemoryError"


def test_worker_imports_no_library_before_it_knows_the_plugin(tmp_path):
    import subprocess

    code = "import harness.worker.loop, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    heavy = {"numpy", "pandas", "scipy", "sklearn", "numba", "xgboost", "lightgbm", "catboost"}
    assert heavy & set(done.stdout.split()) == set()
