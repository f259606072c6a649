"""Tests of the history of stored runs: the content of a point, and scoring only once."""

import math

import pytest
from fake_runs import FOLDS, FakeRun, trial

from harness.analysis import trends
from harness.analysis.scores import Scorer
from harness.core.model import Status
from harness.plugins.registry import load_registry


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.plugins.metrics"])


class Runs:
    """One fake run that is returned for several run ids."""

    def __init__(self, fake):
        self.fake = fake

    def run(self, name):
        return {**self.fake.run(name), "id": name, "machine": {"revision": f"of {name}"}}

    def outcomes(self, name):
        return self.fake.outcomes(name)

    def duels(self, name):
        return []

    def parities(self, name):
        return []

    def artifact(self, sha256):
        return self.fake.arrays[sha256]


@pytest.fixture
def store():
    fake = FakeRun()
    fake.classify("ours")
    return Runs(fake)


def test_point_has_the_mean_score_of_each_cell(store, registry):
    (point,) = trends.course(store, registry, ["a"])
    (level,) = point.levels
    assert (level.algorithm, level.metric, level.lower_is_better) == ("ours", "log_loss", True)
    scores = [Scorer(store, registry).score(o)["log_loss"] for o, _ in store.outcomes("a")]
    assert level.score == pytest.approx(sum(scores) / FOLDS)
    assert (point.id, point.revision) == ("a", "of a")
    assert (point.done, point.failed, point.skipped) == (FOLDS, 0, 0)
    assert point.speeds == ()


def test_predictions_shared_by_runs_are_scored_once(store, registry, monkeypatch):
    read = []
    monkeypatch.setattr(
        Runs, "artifact", lambda self, sha: read.append(sha) or self.fake.arrays[sha]
    )
    points = trends.course(store, registry, ["a", "b", "c"])
    assert [p.id for p in points] == ["a", "b", "c"]
    assert len(read) == len(set(read)) == FOLDS
    assert len({p.levels[0].score for p in points}) == 1


def test_run_without_results_has_no_score(registry):
    fake = FakeRun()
    for fold in range(FOLDS):
        fake.add(trial("ours", "blobs", fold), status=Status.FAILED)
    (point,) = trends.course(Runs(fake), registry, ["a"])
    assert math.isnan(point.levels[0].score)
    assert point.failed == FOLDS
