"""The course of stored runs: what a point holds, and that nothing is scored twice."""

import math

import pytest
from worlds import FOLDS, World, trial

from harness.analysis import trends
from harness.analysis.scores import Scorer
from harness.core.model import Status
from harness.plugins.registry import load_registry


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.plugins.metrics"])


class Runs:
    """One world that answers for several runs."""

    def __init__(self, world):
        self.world = world

    def run(self, name):
        return {**self.world.run(name), "id": name, "machine": {"revision": f"of {name}"}}

    def outcomes(self, name):
        return self.world.outcomes(name)

    def duels(self, name):
        return []

    def parities(self, name):
        return []

    def artifact(self, sha256):
        return self.world.arrays[sha256]


@pytest.fixture
def store():
    world = World()
    world.classify("ours")
    return Runs(world)


def test_a_point_tells_the_mean_score_of_each_cell(store, registry):
    (point,) = trends.course(store, registry, ["a"])
    (level,) = point.levels
    assert (level.algorithm, level.metric, level.lower_is_better) == ("ours", "log_loss", True)
    scores = [Scorer(store, registry).score(o)["log_loss"] for o, _ in store.outcomes("a")]
    assert level.score == pytest.approx(sum(scores) / FOLDS)
    assert (point.id, point.revision) == ("a", "of a")
    assert (point.done, point.failed, point.skipped) == (FOLDS, 0, 0)
    assert point.speeds == ()


def test_predictions_that_runs_share_are_scored_once(store, registry, monkeypatch):
    read = []
    monkeypatch.setattr(
        Runs, "artifact", lambda self, sha: read.append(sha) or self.world.arrays[sha]
    )
    points = trends.course(store, registry, ["a", "b", "c"])
    assert [p.id for p in points] == ["a", "b", "c"]
    assert len(read) == len(set(read)) == FOLDS
    assert len({p.levels[0].score for p in points}) == 1


def test_a_run_without_results_has_no_score(registry):
    world = World()
    for fold in range(FOLDS):
        world.add(trial("ours", "blobs", fold), status=Status.FAILED)
    (point,) = trends.course(Runs(world), registry, ["a"])
    assert math.isnan(point.levels[0].score)
    assert point.failed == FOLDS
