"""Tests of the instruction counts of a fit, with tools on PATH that count calls of fit."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import job, pids_in, running

from harness.core.model import Duel
from harness.core.progress import Progress
from harness.gate.instruction_change import NO_TIME, count_changes
from harness.measurement.instructions import (
    NO_COUNTER,
    Counter,
    NotCountedError,
    count_fit,
    find_counter,
)

# Each writes 5000, and 250 more for each word that the command appended to the file HARNESS_FITS.
PERF = """#!/bin/sh
while [ "$1" != "--" ]; do [ "$1" = "-o" ] && output=$2; shift; done
shift
rm -f "$HARNESS_FITS"
"$@"
fits=$(cat "$HARNESS_FITS" 2>/dev/null | wc -w)
echo "$((5000 + 250 * fits)),,instructions:u,1000,100.00,," > "$output"
"""
VALGRIND = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    case $1 in --cachegrind-out-file=*) output=${1#*=} ;; esac
    shift
done
rm -f "$HARNESS_FITS"
"$@"
fits=$(cat "$HARNESS_FITS" 2>/dev/null | wc -w)
printf 'events: Ir\\nfn=x\\n1 2\\nsummary: %s\\n' $((5000 + 250 * fits)) > "$output"
"""
NO_HARDWARE = """#!/bin/sh
while [ "$1" != "--" ]; do [ "$1" = "-o" ] && output=$2; shift; done
echo "<not supported>,,instructions:u,0,100.00,," > "$output"
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return a function that makes tools the only ones of PATH beside those of the system."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "env", "cat", "rm", "wc"):
        found = next(p for p in map(Path, ("/bin", "/usr/bin")) if (p / name).exists())
        (folder / name).symlink_to(found / name)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HARNESS_FITS", str(tmp_path / "fits"))

    def write(**scripts):
        for name, text in scripts.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    return write


def recorded(tmp_path, calls=1):
    """Return a job whose fit appends ``calls`` words to the file HARNESS_FITS."""
    return job({"fit": "+".join(["note_pid"] * calls), "pids": str(tmp_path / "fits")})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not on PATH")
def test_cachegrind_counts_a_fit_that_does_more_work(tmp_path):
    counter = Counter("cachegrind", shutil.which("valgrind"))
    counts = [
        count_fit(job({"fit": "work", "loops": loops}), counter, tmp_path)
        for loops in (100_000, 200_000)
    ]
    assert counts[1] / counts[0] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize(
    ("scripts", "name"),
    [
        ({"perf": PERF, "valgrind": VALGRIND}, "perf"),
        ({"perf": NO_HARDWARE, "valgrind": VALGRIND}, "cachegrind"),
        ({"valgrind": VALGRIND}, "cachegrind"),
    ],
)
def test_count_is_that_of_one_further_fit(tools, tmp_path, scripts, name):
    tools(**scripts)
    counter = find_counter()
    assert counter is not None
    assert counter.name == name
    assert count_fit(recorded(tmp_path), counter, tmp_path / "work") == 250


def test_without_a_tool_one_sentence_says_what_is_missing(tools, tmp_path):
    tools(perf=NO_HARDWARE)
    assert find_counter() is None
    duel = Duel(job({}), job({}), id="d", launches=1, blocks=1)
    assert count_changes([duel], tmp_path, sys.maxsize, Progress()) == ((), NO_COUNTER)
    assert count_changes([], tmp_path, sys.maxsize, Progress()) == ((), "")


def test_tool_that_writes_no_count_is_an_error(tools, tmp_path):
    tools(valgrind='#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n')
    counter = find_counter()
    with pytest.raises(NotCountedError, match="cachegrind wrote no count of instructions"):
        count_fit(job({}), counter, tmp_path / "work")


def test_change_of_the_head_is_given_in_percent_and_a_failed_side_with_its_reason(tools, tmp_path):
    tools(perf=PERF)
    sides = [recorded(tmp_path), recorded(tmp_path, calls=2)]
    duels = [
        Duel(sides[1], sides[0], id="d", launches=1, blocks=1),
        Duel(sides[0], job({"fit": "raise"}), id="e", launches=1, blocks=1),
        Duel(job({}), sides[0], id="f", launches=1, blocks=1),
    ]
    (worse, failed, nothing), note = count_changes(duels, tmp_path, sys.maxsize, Progress())
    assert (worse.head, worse.base, note) == (500, 250, "")
    where = "instructions of a fit of misbehave on tiny"
    assert worse.sentence == (
        f"{where}: +100.0% (500, base 250), by perf; advisory, not part of the result"
    )
    assert failed.sentence.startswith(f"{where} were not counted: ")
    assert "no more instructions in three fits than in one" in nothing.reason


def test_no_count_is_started_after_the_deadline(tools, tmp_path):
    tools(perf=PERF)
    duel = Duel(job({}), job({}), id="d", launches=1, blocks=1)
    (change,), _ = count_changes([duel], tmp_path, 0.0, Progress())
    assert change.reason == NO_TIME


def test_running_count_ends_at_the_deadline(tools, tmp_path):
    tools(perf=PERF)
    slow = job({"fit": "note_pid+sleep", "seconds": 60, "pids": str(tmp_path / "pids")})
    duel = Duel(slow, slow, id="d", launches=1, blocks=1)
    begun = time.monotonic()
    (change,), _ = count_changes([duel], tmp_path, begun + 5, Progress())
    assert change.reason == NO_TIME
    assert time.monotonic() - begun < 40
    if (tmp_path / "pids").exists():
        assert not any(running(pid) for pid in pids_in(tmp_path / "pids"))


def test_worker_of_another_tree_keeps_its_interpreter_and_sources(tools, tmp_path):
    tools(perf=PERF)
    there = recorded(tmp_path)
    root = str(Path(__file__).resolve().parents[2])
    there = replace(there, environment=replace(there.environment, name="base", root=root))
    assert count_fit(there, find_counter(), tmp_path / "work") == 250
