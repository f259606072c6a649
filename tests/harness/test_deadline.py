"""Tests that a run past its deadline starts nothing more and keeps its results."""

import math
import threading
import time
from unittest import mock

import pytest

from harness.config.experiment import parse_experiment
from harness.core.libraries import Surroundings
from harness.core.model import Outcome, Status
from harness.core.progress import Progress
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.runs.execute import Execution, Options
from harness.store import Store

MODULES = ["harness.data.providers.generators", "harness.executors.local"]
MODULES += ["algorithms.reference.sklearn"]
ASKED = {
    "algorithms": ["sklearn.decision_tree"],
    "datasets": ["friedman1:rows=200", "friedman1:rows=300"],
    "splits": {"folds": 3},
    "duels": {"datasets": ["friedman1:rows=200"], "pairs": [["sklearn.decision_tree"] * 2]},
    "name": "late",
}


@pytest.fixture
def execution(tmp_path, monkeypatch):
    """Return an execution of two jobs of three trials, and a duel, in this process."""
    registry = load_registry(modules=MODULES)
    plan = make_plan(parse_experiment(ASKED, "late"), registry, Surroundings())
    with Store.open(tmp_path, write=True) as store:
        run = store.begin_run("late", {}, "d", machine={})
        store.plan_trials(run, plan.trials())

        def carry_out(deadline, jobs=1):
            options = Options(executor_options={"jobs": jobs}, fresh=True, deadline=deadline)
            return Execution(store, run, registry, Progress(), options).carry_out(plan)

        yield carry_out


def supervised(monkeypatch, seconds):
    """Make every trial end at once and advance the clock."""
    clock = [0.0]

    def supervise(_, job):
        for trial in job.trials:
            clock[0] += seconds
            yield Outcome(trial, Status.DONE)

    def run(duel, _, *, deadline):
        pytest.fail("there was no time for a duel")

    monkeypatch.setattr("harness.execution.supervisor.Supervisor.supervise", supervise)
    monkeypatch.setattr("harness.runs.execute.run_duel", run)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])


@pytest.mark.parametrize(("deadline", "done"), [(0.0, 0), (0.5, 1), (1.5, 2)])
def test_nothing_starts_after_the_deadline(execution, monkeypatch, deadline, done):
    supervised(monkeypatch, 1.0)
    assert execution(deadline).ends.get("trial", {}).get(Status.DONE, 0) == done


def test_without_a_deadline_everything_runs(execution, monkeypatch):
    supervised(monkeypatch, 1.0)
    deadlines = []

    def run(duel, _, *, deadline):
        deadlines.append(deadline)
        raise RuntimeError("seen")

    monkeypatch.setattr("harness.runs.execute.run_duel", run)
    with pytest.raises(RuntimeError, match="seen"):
        execution(math.inf)
    assert deadlines == [math.inf]


def test_duels_get_the_memory_of_idle_trial_workers(execution, monkeypatch):
    kept = mock.Mock(alive=True, **{"resident_bytes.return_value": 0})

    def supervise(supervisor, job):
        supervisor.pool.give_back(job, kept)
        yield from (Outcome(trial, Status.DONE) for trial in job.trials)

    def run(duel, open_session, **_):
        assert kept.stop.called
        raise RuntimeError("seen")

    monkeypatch.setattr("harness.execution.supervisor.Supervisor.supervise", supervise)
    monkeypatch.setattr("harness.runs.execute.run_duel", run)
    with pytest.raises(RuntimeError, match="seen"):
        execution(math.inf)


def test_trials_running_at_the_deadline_are_stored_and_no_other_starts(execution, monkeypatch):
    begun, clock = [], [0.0]
    both = threading.Barrier(2)

    def supervise(_, job):
        for trial in job.trials:
            begun.append(trial.id)
            both.wait(20)
            clock[0] = 1.0
            yield Outcome(trial, Status.DONE)

    monkeypatch.setattr("harness.execution.supervisor.Supervisor.supervise", supervise)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    assert execution(0.5, jobs=2).ends == {"trial": {Status.DONE: 2}}
    assert len(set(begun)) == len(begun) == 2
