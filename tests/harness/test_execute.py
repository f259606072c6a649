"""Tests of the counts and messages of a run."""

from types import SimpleNamespace

import pytest

from harness.core.model import Status
from harness.planning.plan import Plan
from harness.runs.execute import Execution, Options, Tally


def tally(*ends):
    made = Tally()
    for noun, status, *reused in ends:
        made.add(noun, status, reused=bool(reused))
    return made


def test_trials_duels_and_comparisons_are_distinguished():
    result = tally(
        ("trial", Status.DONE),
        ("trial", Status.DONE, "reused"),
        ("trial", Status.OUT_OF_MEMORY, "reused"),
        ("duel", Status.DONE),
        ("comparison", Status.SKIPPED),
    )
    assert result.sentence() == (
        "2 trials done, 1 out of memory; 1 duel done; 1 comparison skipped; 2 of them known from "
        "earlier runs (1 failed then; --retry-failed runs them again)"
    )


@pytest.mark.parametrize(("executor", "lines"), [("local", 1), ("dask", 0)])
def test_more_threads_than_can_run_are_reported_for_local_trials(executor, lines):
    plan = Plan(jobs=(SimpleNamespace(threads=2), SimpleNamespace(threads=4096)))
    messages = []
    progress = SimpleNamespace(message=messages.append)
    Execution(None, "r", None, progress, Options(executor))._warn_threads(plan)
    assert len(messages) == lines
    assert all("4,096 threads are requested" in line for line in messages)
    Execution(None, "r", None, progress, Options())._warn_threads(Plan())
    assert len(messages) == lines


def test_empty_plan_is_reported_too():
    assert tally().sentence() == "nothing was measured"


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([], 4),
        ([("trial", Status.SKIPPED)], 4),
        ([("trial", Status.SKIPPED), ("duel", Status.DONE)], 0),
        ([("trial", Status.DONE), ("comparison", Status.CRASHED)], 3),
    ],
)
def test_exit_code_covers_all_of_them(ends, code):
    assert tally(*ends).exit_code == code
