"""Tests that a time budget reduces splits, then rows, and never a parameter."""

from __future__ import annotations

import math
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from harness.config.experiment import parse_experiment
from harness.core.libraries import Surroundings
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.runs import execute
from harness.runs.budget import (
    Clock,
    Cost,
    Sizes,
    budget_sentence,
    fit_experiment,
    needs_samples,
    rounds_of,
    with_rows,
)

SIZES = {"mine": Sizes(rows=100_000, columns=10, classes=2)}
ROWS = (4_000, 16_000)


def experiment(**run):
    requested = {"name": "own", "datasets": ["mine"], "tracks": ["default"], "run": run}
    return parse_experiment(requested, "own")


def costs(**seconds):
    return {(name, "mine"): Cost(ROWS, pair) for name, pair in seconds.items()}


def test_cost_is_a_line_through_two_samples():
    cost = Cost((1000, 4000), (1.0, 2.0))
    assert (cost.at(500), cost.at(2500)) == (1.0, 1.5)
    assert cost.at(7000) == pytest.approx(1.0 + 1.15 * 2.0), "a little more than in proportion"
    slow = Cost((1000, 4000), (1.0, math.inf))
    assert slow.at(4000) == pytest.approx(1.15 * 4), "the larger sample took too long"


def test_rows_are_kept_if_the_fewest_splits_fit():
    fitted, left_out = fit_experiment(
        experiment(budget="10m"), costs(a=(0.1, 0.4), b=(0.1, 0.4)), SIZES, 0.0, 2
    )
    assert fitted.splits.most_train_rows is None
    assert left_out == {}


def test_rows_are_reduced_if_they_do_not():
    requested = experiment(budget="60s")
    fitted, left_out = fit_experiment(requested, costs(a=(1.0, 4.0), b=(1.0, 4.0)), SIZES, 0.0, 2)
    rows = fitted.splits.most_train_rows
    assert rows is not None
    assert ROWS[1] < rows < 90_000
    assert (
        3 * Cost(ROWS, (1.0, 4.0)).at(rows) <= 0.85 * 60 < 3 * Cost(ROWS, (1.0, 4.0)).at(2 * rows)
    )
    assert left_out == {}
    assert fitted.model_copy(update={"splits": requested.splits}) == requested, (
        "nothing else changes"
    )


def test_slowest_is_left_out_if_all_would_train_on_few_rows():
    message = costs(slow=(30.0, 120.0), a=(0.1, 0.4), b=(0.1, 0.4))
    fitted, left_out = fit_experiment(experiment(budget="60s"), message, SIZES, 0.0, 2)
    assert list(left_out) == ["slow"]
    assert "would take about" in left_out["slow"]
    assert fitted.algorithms == ["a", "b"]
    kept, none = fit_experiment(
        experiment(budget="60s"), message, SIZES, 0.0, 2, may_leave_out=False
    )
    assert none == {}
    assert kept.splits.most_train_rows is not None


def test_rows_are_reduced_before_an_algorithm_is_left_out():
    message = costs(slow=(5.0, 20.0), a=(0.1, 0.4), b=(0.1, 0.4))
    fitted, left_out = fit_experiment(experiment(budget="60s"), message, SIZES, 0.0, 2)
    assert left_out == {}
    assert fitted.splits.most_train_rows is not None


def test_library_is_left_out_where_ours_is_much_faster_and_rows_would_be_reduced():
    times = costs(library=(5.0, 20.0), ours=(0.5, 2.0), other=(1.0, 4.0))
    pairs = {"library": "ours", "absent": "other"}
    requested = experiment(budget="60s")
    fitted, left_out = fit_experiment(requested, times, SIZES, 0.0, 2, counterparts=pairs)
    assert left_out == {"library": "ours trains the same kind of model about 10 times as fast"}
    assert fitted.algorithms == ["ours", "other"]
    alone, _ = fit_experiment(requested, times, SIZES, 0.0, 2)
    assert fitted.splits.most_train_rows > 2 * alone.splits.most_train_rows


@pytest.mark.parametrize(
    ("budget", "pairs", "may_leave_out"),
    [
        ("1h", {"library": "ours"}, True),  # all rows fit
        ("60s", {"library": "other"}, True),  # less than three times as fast
        ("60s", {"other": "ours"}, True),  # other takes too little of the time
        ("60s", {"library": "ours"}, False),  # the user named the algorithms
    ],
)
def test_library_is_kept(budget, pairs, may_leave_out):
    times = costs(library=(5.0, 20.0), ours=(0.5, 2.0), other=(1.7, 7.0))
    if "other" in pairs:
        times = costs(library=(5.0, 20.0), ours=(0.02, 0.1), other=(0.5, 2.0))
    _, left_out = fit_experiment(
        experiment(budget=budget),
        times,
        SIZES,
        0.0,
        2,
        may_leave_out=may_leave_out,
        counterparts=pairs,
    )
    assert left_out == {}


def test_algorithm_too_slow_for_a_sample_is_left_out():
    message = costs(slow=(math.inf, math.inf), a=(0.1, 0.4), b=(0.1, 0.4))
    _, left_out = fit_experiment(experiment(budget="10m"), message, SIZES, 0.0, 2)
    assert left_out == {"slow": "one fit on 4,000 rows took longer than 1 min 40 s"}


def test_tuned_run_tries_as_many_configurations_as_time_allows():
    requested = experiment(budget="10m").model_copy(update={"tracks": ["tuned"]})
    many, _ = fit_experiment(requested, costs(a=(0.01, 0.04)), SIZES, 0.0, 2)
    few, _ = fit_experiment(requested, costs(a=(0.2, 0.8)), SIZES, 0.0, 2)
    assert many.tuning.configurations > few.tuning.configurations >= 5


def test_small_tables_need_no_samples():
    assert not needs_samples(Sizes(891, 14, 2))
    assert needs_samples(Sizes(45_000, 16, 2))


def test_rounds_have_every_algorithm_on_one_split():
    modules = ["harness.data.providers.generators", "algorithms.reference.sklearn"]
    requested = {
        "name": "own",
        "algorithms": ["sklearn.decision_tree", "sklearn.bagging"],
        "datasets": ["friedman1:rows=200"],
        "splits": {"folds": 4},
    }
    plan = make_plan(
        parse_experiment(requested, "own"), load_registry(modules=modules), Surroundings()
    )
    rounds = rounds_of(plan)
    assert [[len(job.trials) for job in jobs] for jobs in rounds] == [[1, 1]] * 4
    labels = [{t.split.label for job in jobs for t in job.trials} for jobs in rounds]
    assert all(len(result) == 1 for result in labels)
    assert len(set.union(*labels)) == 4


def test_limit_of_rows_is_part_of_the_splits():
    assert with_rows(experiment(), 500).splits.most_train_rows == 500


def test_compiling_does_not_count():
    clock = Clock(100.0)
    before = clock.deadline
    with clock.paused():
        began = clock.began
    assert clock.began > began
    assert clock.deadline > before


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({}, "Everything fitted into the time budget of 10 min 0 s."),
        ({"splits": 4}, "To fit into the time budget of 10 min 0 s, 4 of 10 splits were run."),
        (
            {"splits": 3, "most_train_rows": 20000},
            (
                "To fit into the time budget of 10 min 0 s, 3 of 10 splits were run and each split "
                "trained on a sample of 20,000 rows."
            ),
        ),
        ({"left_out": {"x": "it is slow"}}, "x was left out: it is slow."),
    ],
)
def test_reductions_are_reported(message, words):
    usual = {"splits": 10, "planned": 10, "most_train_rows": 0, "left_out": {}, "seconds": 600.0}
    assert budget_sentence({**usual, **message}) == words


@pytest.mark.parametrize(("slowest", "splits"), [(0.0, 3), (20.0, 2)])
def test_time_remains_to_train_the_recommended_algorithm_again(
    slowest, splits, monkeypatch, tmp_path
):
    now = [0.0]

    def run_split(self, jobs, supervisor, stage):
        now[0] += 30.0
        self.slowest = slowest

    monkeypatch.setattr(execute.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(execute.Execution, "_run", run_split)
    monkeypatch.setattr(execute.Execution, "_unknown_jobs", lambda self, jobs: jobs)
    store = Mock(workdir=lambda run_id: tmp_path)
    execution = execute.Execution(store, "run", None, Mock(), execute.Options())
    clock, plan = SimpleNamespace(deadline=100.0), SimpleNamespace(skipped=(), threads=1)
    assert execution.carry_out_rounds([[]] * 10, plan, clock, compiled=[]) == splits
