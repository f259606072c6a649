"""Tests of comparing two runs: matched by cell, never by raw seconds."""

from dataclasses import replace

import numpy as np
import pytest
from fake_runs import FOLDS, FakeRun, trial

from harness.analysis.compare import compare_runs
from harness.core.errors import ConfigError
from harness.core.ids import cell_id
from harness.core.model import Block, DatasetRef, Duel, DuelOutcome, Job, Sample, Status, Task
from harness.plugins.registry import load_registry


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.plugins.metrics"])


class Runs:
    """Two fake runs with the interface of one store."""

    def __init__(self, **by_name):
        self.by_name = by_name

    def run(self, name):
        return {**self.by_name[name].run(name), "id": name}

    def outcomes(self, name):
        return self.by_name[name].outcomes(name)

    def duels(self, name):
        return self.by_name[name].duels(name)

    def parities(self, name):
        return self.by_name[name].parities(name)

    def artifact(self, sha256):
        for fake in self.by_name.values():
            if sha256 in fake.arrays:
                return fake.arrays[sha256]
        raise KeyError(sha256)


@pytest.fixture
def runs():
    return Runs(old=FakeRun(), new=FakeRun())


def compare(runs, registry, **more):
    return compare_runs(runs, "old", "new", registry, **more)


def only(comparison, metric="log_loss"):
    (result,) = [c for c in comparison.changes if c.metric == metric]
    return result


def test_equal_predictions_are_equivalent_and_called_identical(runs, registry):
    for fake in runs.by_name.values():
        fake.classify("ours")
    comparison = compare(runs, registry)
    assert (comparison.matched, comparison.only_old, comparison.only_new) == (FOLDS, 0, 0)
    change = only(comparison)
    assert (change.verdict, change.reference) == ("equivalent", "old")
    assert "identical" in change.notes[0]


def test_worse_score_is_worse_for_either_metric_direction(runs, registry):
    runs.by_name["old"].classify("ours", sharpness=2.0)
    runs.by_name["new"].classify("ours", sharpness=0.3)
    comparison = compare(runs, registry, metrics=["auc"], tolerances={"brier": 0.001})
    assert {c.metric for c in comparison.changes} == {"log_loss", "auc", "brier"}
    assert only(comparison).verdict == "worse"
    assert only(comparison, "brier").verdict == "worse"
    assert only(comparison, "brier").margin == 0.001
    turned = compare_runs(runs, "new", "old", registry, ["auc"])
    assert only(turned).verdict == "better"
    assert only(turned).difference.value == pytest.approx(-only(comparison).difference.value)
    # The same order of rows by a higher-is-better metric: the sign follows the direction.
    assert only(turned, "auc").difference.value == -only(comparison, "auc").difference.value


def test_falling_higher_is_better_metric_is_worse(runs, registry):
    runs.by_name["old"].classify("ours")
    runs.by_name["new"].classify("ours", jitter=3.0)
    result = only(compare(runs, registry, metrics=["auc"]), "auc")
    assert result.difference.high < 0
    assert result.verdict == "worse"


def test_wide_tolerance_ignores_a_small_change(runs, registry):
    runs.by_name["old"].classify("ours")
    runs.by_name["new"].classify("ours", jitter=0.6)
    strict = only(compare(runs, registry, tolerances={"log_loss": 1e-9}))
    assert strict.verdict in ("worse", "inconclusive")
    assert only(compare(runs, registry, tolerances={"log_loss": 1.0})).verdict == "equivalent"


def test_only_common_cells_are_compared(runs, registry):
    runs.by_name["old"].classify("ours")
    runs.by_name["old"].classify("gone")
    runs.by_name["new"].classify("ours")
    runs.by_name["new"].classify("ours", seed=1)
    comparison = compare(runs, registry)
    assert (comparison.matched, comparison.only_old, comparison.only_new) == (FOLDS, FOLDS, FOLDS)
    assert {c.algorithm for c in comparison.changes} == {"ours"}


def test_cells_on_changed_data_are_not_paired(runs, registry):
    for name, fake in runs.by_name.items():
        fake.classify("ours")
        fake.trial_outcomes = [
            replace(o, trial=replace(o.trial, ingredients={"dataset": name}))
            for o in fake.trial_outcomes
        ]
    comparison = compare(runs, registry)
    assert (comparison.matched, comparison.other_data) == (0, FOLDS)
    assert comparison.changes == ()


def test_newly_failing_cell_is_reported_and_counted(runs, registry):
    runs.by_name["old"].classify("ours")
    runs.by_name["new"].classify("ours")
    last = runs.by_name["new"].trial_outcomes[-1]
    runs.by_name["new"].trial_outcomes[-1] = replace(last, status=Status.CRASHED, arrays={})
    comparison = compare(runs, registry)
    (turn,) = comparison.turns
    assert (turn.algorithm, turn.old, turn.new) == ("ours", "done", "crashed")
    assert only(comparison).failed == (1, 0)
    assert only(comparison).splits == FOLDS - 1


def test_cell_that_failed_in_both_has_no_score_to_compare(runs, registry):
    for fake in runs.by_name.values():
        fake.add(trial("ours", "blobs", 0), status=Status.SKIPPED)
    comparison = compare(runs, registry)
    assert comparison.changes == comparison.turns == ()


def test_raw_seconds_are_shown_side_by_side(runs, registry):
    for fake in runs.by_name.values():
        fake.classify("ours")
    reused = compare(runs, registry).seconds
    assert [(s.phase, s.old, s.new, s.remeasured) for s in reused] == [("fit", 0.5, 0.5, False)]
    made = runs.by_name["new"].trial_outcomes
    made[:] = [
        replace(o, samples=tuple(replace(s, wall=2 * s.wall) for s in o.samples)) for o in made
    ]
    (seconds,) = compare(runs, registry).seconds
    assert (seconds.old, seconds.new, seconds.remeasured) == (0.5, 1.0, True)


def duel_outcome(params=None, threads=1, digest="d"):
    """Return a duel whose sides have the cell ids of planning."""
    jobs = []
    for name in ("ours", "theirs"):
        one = trial(name, "blobs", 0, params=params or {})
        cell = cell_id(name, one.params, one.preparation, "blobs", one.split, 0, threads)
        messages = (replace(one, threads=threads, cell=cell),)
        jobs.append(Job(name, "m", DatasetRef("blobs", digest), messages, threads=threads))
    calls = (Sample("fit", 1.0, 1.0),) * 2
    return DuelOutcome(
        Duel(*jobs, id="d"), Status.DONE, (Block(0, 0, "fit", "ABBA", calls, calls),)
    )


@pytest.mark.parametrize(
    ("now", "compared"),
    [({}, 1), ({"params": {"depth": 2}}, 0), ({"threads": 2}, 0), ({"digest": "other"}, 0)],
)
def test_ratios_of_the_same_duel_only_are_compared(runs, registry, now, compared):
    runs.by_name["old"].duel_outcomes.append(duel_outcome())
    runs.by_name["new"].duel_outcomes.append(duel_outcome(**now))
    assert len(compare(runs, registry).ratios) == compared


def test_unknown_metric_suggests_the_right_name(runs, registry):
    with pytest.raises(ConfigError, match="did you mean 'brier'"):
        compare(runs, registry, tolerances={"briar": 0.1})


def test_false_alarms_between_two_equally_good_runs_are_rare(registry):
    """Two runs that differ only by noise, 120 times: "worse" is rare."""
    worse = 0
    for repeat in range(120):
        runs = Runs(old=FakeRun(), new=FakeRun())
        for side, fake in enumerate(runs.by_name.values()):
            rng = np.random.default_rng([repeat, side])
            for fold in range(FOLDS):
                y = np.random.default_rng([repeat, fold, 9]).normal(0, 1, 40)
                arrays = {
                    "output": 0.5 * y + rng.normal(0, 0.5, 40),
                    "y": y,
                    "scale": np.float64(1),
                }
                facts = {"train_rows": 160, "test_rows": 40, "train_mean": 0.0}
                fake.add(trial("ours", "line", fold, task=Task.REGRESSION), arrays, facts)
        worse += only(compare(runs, registry), "rmse_sd").verdict == "worse"
    assert worse <= 8
