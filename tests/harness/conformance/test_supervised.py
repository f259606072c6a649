"""Tests of the process of the checks: it may die between checks, never start, or never end."""

import sys

import pytest

from harness.conformance.findings import Finding
from harness.conformance.supervised import check_supervised
from harness.core.errors import ConfigError

ONE = """{"begins": 0, "check": "one", "task": ""}
{"found": {"check": "one", "task": "", "state": "ok"}}"""
TWO = ONE.replace("one", "two").replace('"begins": 0', '"begins": 1')
DONE = '{"done": true}'


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Return a function that replaces the check process by a script with $first and $out."""

    def put(script):
        file = tmp_path / "child"
        file.write_text(f"#!/bin/sh\nfirst=$6 out=$7\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(file))

    return put


def checks_of():
    return list(check_supervised("some", timeout=5.0))


def test_process_dying_between_checks_is_reported_and_checks_continue(child):
    child(f"""
if [ "$first" = 0 ]; then
  echo '{ONE}' >> "$out"; echo 'out of luck' >&2; exit 7
fi
echo '{TWO}' >> "$out"; echo '{DONE}' >> "$out"
""")
    first, death, second = checks_of()
    assert (first, second) == (Finding("one", "", "ok"), Finding("two", "", "ok"))
    assert (death.check, death.state) == ("one", "failed")
    assert death.message.startswith("then the worker ended with exit code 7")
    assert "out of luck" in death.message


@pytest.mark.parametrize("code", [0, 7])
def test_process_that_never_starts_is_an_error_for_any_exit_code(child, code):
    child(f"echo 'no such thing' >&2; exit {code}")
    with pytest.raises(ConfigError, match=r"could not start: (?s:.*)no such thing"):
        checks_of()


def test_process_that_cannot_restart_is_an_error(child):
    child(f"""[ "$first" = 0 ] && echo '{ONE}' >> "$out"; exit 7""")
    with pytest.raises(ConfigError, match="could not start"):
        checks_of()


def test_process_that_never_ends_does_not_block(child):
    child(f"""echo '{ONE}' >> "$out"; echo '{DONE}' >> "$out"; sleep 600""")
    assert checks_of() == [Finding("one", "", "ok")]


def test_process_silent_after_a_check_is_stopped(child):
    child(f"""[ "$first" = 0 ] && echo '{ONE}' >> "$out" && sleep 600; echo '{DONE}' >> "$out" """)
    _, death = list(check_supervised("some", timeout=0.3))
    assert death.message == "then it took longer than 0.3 s and was stopped"
