"""From a real store to the view of a run: scores, pairs, constants, verdicts, speeds."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from worlds import DECLARED, FOLDS, World, stored, trial

from harness.analysis.build_view import view_run
from harness.analysis.scores import Scorer, constant_model
from harness.core.model import (
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Metric,
    Outcome,
    Predicted,
    Sample,
    Split,
    Status,
    Task,
)
from harness.plugins.registry import load_registry
from harness.store import Store


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.plugins.metrics"])


@pytest.fixture
def world():
    return World()


def of(view, algorithm, reference, dataset):
    (found,) = [
        a
        for a in view.accuracy
        if (a.algorithm, a.reference, a.dataset) == (algorithm, reference, dataset)
    ]
    return found


def test_cells_carry_scores_seconds_and_peaks(world, registry):
    world.classify("ours")
    view = world.view(registry)
    (cell,) = view.cells
    assert (cell.algorithm, cell.dataset, cell.task, cell.preparation) == (
        "ours",
        "blobs",
        "binary",
        "native",
    )
    assert set(cell.scores) == {"log_loss", "error", "brier", "auc"}
    assert [len(scores) for scores in cell.scores.values()] == [FOLDS] * 4
    arrays = view.predictions(cell.outcomes[2])
    p = arrays["output"][np.arange(200), arrays["y"]]
    assert cell.scores["log_loss"][2] == pytest.approx(-np.log(p).mean())
    assert cell.seconds == {"fit": 0.5}  # the warm calls
    assert cell.peak == 2000
    assert cell.reused == (False,) * FOLDS


def test_the_view_needs_no_algorithm_and_outlives_the_store(world, registry, tmp_path):
    world.classify("ours")
    world.classify("theirs", jitter=0.02)
    run = stored(world, tmp_path)
    with Store.open(tmp_path / "results") as store:
        view = view_run(store, run, registry)
    assert view.accuracy == world.view(registry).accuracy
    assert registry.names("algorithm") == []
    assert view.algorithms == DECLARED["algorithms"]
    assert view.datasets == DECLARED["datasets"]
    assert view.run["name"] == "test"
    assert view.metrics["log_loss"]["primary"]
    assert not view.metrics["auc"]["lower_is_better"]
    assert view.predictions(view.cells[0].outcomes[0])["y"].shape == (200,)


def test_pairs_are_scratch_against_reference_and_what_is_declared(world, registry):
    world.classify("ours")
    world.classify("theirs", jitter=0.02)
    world.classify("weak", sharpness=0.3)
    view = world.view(registry)
    found = [(a.algorithm, a.reference, a.dataset) for a in view.accuracy]
    assert found == [
        ("ours", "theirs", "blobs"),
        ("ours", "theirs", ""),
        ("weak", "theirs", "blobs"),
        ("weak", "theirs", ""),
    ]
    assert [a.verdict for a in view.accuracy] == ["equivalent", "equivalent", "worse", "worse"]
    assert {a.splits for a in view.accuracy if a.dataset} == {FOLDS}
    assert {a.metric for a in view.accuracy if a.dataset} == {"log_loss"}


def test_the_margin_is_a_share_of_constant_minus_best(world, registry):
    world.classify("ours")
    world.classify("theirs", jitter=0.5)
    world.classify("weak", sharpness=0.3)
    view = world.view(registry)
    losses = {c.algorithm: np.mean(c.scores["log_loss"]) for c in view.cells}
    ys = [view.predictions(o)["y"] for o in view.cells[0].outcomes]
    constant = np.mean([-np.log(np.where(y == 1, 0.4, 0.6)).mean() for y in ys])
    found = of(view, "ours", "theirs", "blobs")
    assert found.gap == pytest.approx(constant - min(losses.values()))
    assert found.margin == pytest.approx(0.02 * found.gap)
    assert found.difference.value == pytest.approx(losses["theirs"] - losses["ours"])


def test_regression_falls_back_on_the_test_mean(world, registry):
    world.regress("ours", 0.5)
    world.regress("theirs", 0.9)
    view = world.view(registry)
    found = of(view, "ours", "theirs", "line")
    assert found.metric == "rmse_sd"
    assert found.verdict == "better"
    # Without the worker's training mean the constant is that of the test rows: sd(test)/scale.
    constant = np.mean([np.random.default_rng(f).normal(3, 2, 100).std() / 2 for f in range(FOLDS)])
    assert found.gap == pytest.approx(constant - np.mean(view.cells[0].scores["rmse_sd"]))


def test_the_constant_model_comes_from_the_training_rows():
    y = np.array([0, 0, 1])
    predicted = Predicted(y, np.full((3, 2), 0.5), None, 1.0)
    trained = constant_model(predicted, Task.BINARY, {"train_prior": [0.9, 0.1]})
    np.testing.assert_allclose(trained.output, [[0.9, 0.1]] * 3)
    tested = constant_model(
        dataclasses.replace(predicted, weight=np.array([1.0, 1.0, 6.0])), Task.BINARY, {}
    )
    np.testing.assert_allclose(tested.output, [[0.25, 0.75]] * 3)
    values = Predicted(np.array([1.0, 5.0]), np.zeros(2), None, 1.0)
    mean = constant_model(values, Task.REGRESSION, {"train_mean": 7.5})
    np.testing.assert_allclose(mean.output, [7.5, 7.5])
    np.testing.assert_allclose(constant_model(values, Task.REGRESSION, {}).output, [3.0, 3.0])


@pytest.mark.parametrize("shift", [0.0, 1e-12])
def test_identical_predictions_are_found_up_to_rounding(world, registry, shift):
    world.classify("ours")
    world.classify("theirs", sharpness=2.0 * (1 + shift))
    found = of(world.view(registry), "ours", "theirs", "blobs")
    assert found.verdict == "equivalent"
    assert "identical predictions on every split" in found.notes


def test_nearly_identical_is_not_identical(world, registry):
    world.classify("ours")
    world.classify("theirs", sharpness=2.0 * (1 + 1e-6))
    found = of(world.view(registry), "ours", "theirs", "blobs")
    assert found.verdict == "equivalent"
    assert found.notes == ()


def test_seeds_are_averaged_within_a_split(world, registry):
    for seed in (0, 1, 2):
        world.classify("ours", seed=seed, jitter=0.5)
        world.classify("theirs", seed=seed, jitter=0.5)
    view = world.view(registry)
    found = of(view, "ours", "theirs", "blobs")
    assert found.splits == FOLDS
    ours, theirs = (np.reshape(c.scores["log_loss"], (3, FOLDS)) for c in view.cells)
    assert found.difference.value == pytest.approx((theirs - ours).mean())
    assert found.difference.n == FOLDS


def test_failures_leave_their_splits_out_and_are_counted(world, registry):
    world.classify("ours")
    world.classify("theirs", jitter=0.02)
    lost = world.made[1]
    world.made[1] = dataclasses.replace(
        lost, status=Status.TIMEOUT, arrays={}, failure=Failure("timeout", "too late")
    )
    view = world.view(registry)
    assert math.isnan(view.cells[0].scores["log_loss"][1])
    found = of(view, "ours", "theirs", "blobs")
    assert (found.splits, found.failed) == (FOLDS - 1, (1, 0))
    assert "without a score: 1 of ours, 0 of theirs" in found.notes


def test_a_pair_that_failed_throughout_has_a_verdict_that_says_so(world, registry):
    world.classify("theirs")
    for fold in range(FOLDS):
        failure = Failure("ValueError", "no")
        world.add(trial("ours", "blobs", fold), status=Status.FAILED, failure=failure)
    found = of(world.view(registry), "ours", "theirs", "blobs")
    assert (found.verdict, found.splits, found.failed) == ("inconclusive", 0, (FOLDS, 0))


def test_skipped_cells_make_no_pair(world, registry):
    world.classify("theirs")
    world.add(trial("ours", "blobs", 0), status=Status.SKIPPED, reason="takes no weights")
    assert world.view(registry).accuracy == ()


def test_pairs_have_the_same_preparation_the_most_native_in_common(world, registry):
    for algorithm, jitter in (("ours", 0.0), ("theirs", 0.02)):
        for preparation in ("onehot", "native", "ordinal"):
            world.classify(algorithm, jitter=jitter, trial={"preparation": preparation})
    world.classify("weak", trial={"preparation": "ordinal+impute"})
    view = world.view(registry)
    assert of(view, "ours", "theirs", "blobs").preparation == "native"
    assert [a for a in view.accuracy if a.algorithm == "weak"] == []


def test_every_variant_meets_the_reference(world, registry):
    world.classify("ours", trial={"params": {"depth": 2}})
    world.classify("ours", sharpness=0.2, trial={"params": {"depth": 1}})
    world.classify("theirs")
    view = world.view(registry)
    found = [(a.params[0], a.verdict) for a in view.accuracy if a.dataset]
    assert found == [({"depth": 2}, "equivalent"), ({"depth": 1}, "worse")]
    assert sum(a.dataset == "" for a in view.accuracy) == 2


def test_labels_without_probabilities_are_pointed_at(world, registry):
    world.classify("theirs")
    for outcome in list(world.made):
        arrays = dict(world.arrays[outcome.arrays["predictions"]])
        arrays["output"] = np.round(arrays["output"])
        fold = outcome.trial.split.fold
        world.add(trial("ours", "blobs", fold), arrays, dict(outcome.facts))
    found = of(world.view(registry), "ours", "theirs", "blobs")
    assert found.verdict == "worse"
    assert any(note.startswith("ours returns only the probabilities") for note in found.notes)
    assert not any("theirs gives" in note for note in found.notes)


def test_given_and_holdout_splits(world, registry):
    for split in (Split("given"), Split("holdout", repeat=0), Split("holdout", repeat=1)):
        for algorithm in ("ours", "theirs"):
            y = np.array([0, 1] * 20)
            p = np.clip(y + np.random.default_rng(split.repeat).normal(0, 0.3, 40), 0.1, 0.9)
            arrays = {"output": np.stack([1 - p, p], axis=1), "y": y, "scale": np.float64(1)}
            made = trial(algorithm, split.scheme, 0, split=split)
            world.add(made, arrays)
    view = world.view(registry)
    given = of(view, "ours", "theirs", "given")
    assert "has fixed test rows" in given.advice
    assert of(view, "ours", "theirs", "holdout").splits == 2


def test_missing_arrays_cost_their_scores_only(world, registry):
    world.classify("ours")
    world.classify("theirs", jitter=0.02)
    del world.arrays[world.made[0].arrays["predictions"]]
    view = world.view(registry)
    assert math.isnan(view.cells[0].scores["log_loss"][0])
    assert of(view, "ours", "theirs", "blobs").splits == FOLDS - 1
    (broken,) = view.broken
    assert broken["plugin"] == "predictions of ours on blobs"
    assert "missing" in broken["reason"]


def test_a_strangers_metrics_break_nothing_and_take_no_verdict_over(world):
    def raises(_predicted):
        raise ZeroDivisionError("oh")

    registry = load_registry(modules=["harness.plugins.metrics"])
    for name, score, primary in [("a_broken_one", raises, False), ("a_rival", lambda p: 1.0, True)]:
        metric = Metric(name, frozenset({Task.BINARY}), score, primary=primary)
        registry.add("metric", Metric, metric, "strange", "strange.py")
    world.classify("ours")
    world.classify("theirs", jitter=0.02)
    view = world.view(registry)
    assert all(math.isnan(x) for x in view.cells[0].scores["a_broken_one"])
    assert view.cells[0].scores["a_rival"] == (1.0,) * FOLDS
    assert {a.metric for a in view.accuracy if a.dataset} == {"log_loss"}
    assert view.broken == ({"plugin": "metric a_broken_one", "reason": "ZeroDivisionError: oh"},)


def test_without_any_metric_there_are_cells_and_no_claims(world):
    world.classify("ours")
    world.classify("theirs")
    view = world.view(load_registry(modules=[]))
    assert view.cells[0].scores == {}
    assert {a.verdict for a in view.accuracy} == {"inconclusive"}


def test_duels_become_speeds_with_a_floor_and_a_pool(world, registry):
    def duel(a, b, dataset, ratio):
        jobs = [
            Job(name, "m", DatasetRef(dataset, "d"), (trial(name, dataset, 0),)) for name in (a, b)
        ]
        rng = np.random.default_rng(len(a + b + dataset))
        blocks = [
            Block(
                0,
                index,
                "fit",
                "ABBA",
                a=tuple(Sample("fit", w, w) for w in rng.uniform(1.0, 1.02, 2)),
                b=tuple(Sample("fit", w, w) for w in ratio * rng.uniform(1.0, 1.02, 2)),
            )
            for index in range(8)
        ]
        return DuelOutcome(Duel(*jobs, id=a + b + dataset), Status.DONE, tuple(blocks))

    duels = [
        duel("ours", "theirs", "blobs", 2.0),
        duel("ours", "theirs", "line", 8.0),
        duel("ours", "ours", "blobs", 1.0),
    ]
    world.fought += duels
    view = world.view(registry)
    assert len(view.duels) == 3
    speeds = {(s.algorithm, s.reference, s.dataset): s for s in view.speed}
    assert set(speeds) == {
        ("ours", "theirs", "blobs"),
        ("ours", "theirs", "line"),
        ("ours", "ours", "blobs"),
        ("ours", "theirs", ""),
    }
    assert 0 < speeds["ours", "theirs", "blobs"].floor < 0.03
    assert speeds["ours", "theirs", "line"].floor is None
    pooled = speeds["ours", "theirs", ""]
    assert pooled.ratio.value == pytest.approx(4.0, rel=0.02)
    assert (pooled.unit, pooled.ratio.n) == ("dataset", 2)


def test_a_run_that_declares_nothing_has_a_view(registry):
    view = World(declared={}).view(registry)
    assert (view.cells, view.accuracy, view.speed) == ((), (), ())


def test_seconds_of_unlike_machines_are_never_pooled(registry):
    """Of a cluster with two kinds of hardware, one kind's times stand beside each other."""
    world = World()
    for algorithm in ("ours", "theirs"):
        world.classify(algorithm)
    for place, outcome in enumerate(world.made):
        fast = place % 5 < 2  # of each algorithm two of five trials
        wall = 0.1 if fast else 10.0
        facts = {"machine": "fast" if fast else "slow"}
        samples = (Sample("fit", wall, wall),)
        world.made[place] = dataclasses.replace(outcome, facts=facts, samples=samples)
    view = world.view(registry)
    assert view.machines == {"slow": 6, "fast": 4}
    assert [cell.seconds for cell in view.cells] == [{"fit": 10.0}] * 2
    world.made = [*world.made[2:5], *world.made[5:7]]  # ours on the slow ones, theirs on the fast
    ours, theirs = world.view(registry).cells
    assert (ours.seconds, theirs.seconds) == ({"fit": 10.0}, {}), "one class for the whole run"


def test_scoring_warns_about_nothing(world, registry):
    world.arrays["sha"] = {"output": np.full((4, 2), 0.5), "y": np.zeros(4, dtype=np.int64)}

    outcome = Outcome(trial("ours", "blobs", 0), Status.DONE, arrays={"predictions": "sha"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = Scorer(world, registry).score(outcome)
    assert math.isnan(scores["auc"])
    assert scores["log_loss"] == pytest.approx(math.log(2))


def test_each_version_of_the_data_has_a_constant_model_of_its_own(world, registry):
    arrays = {"output": np.full((4, 2), 0.5), "y": np.array([0, 1, 1, 1])}
    scorer = Scorer(world, registry)
    for digest, prior in (("older", [0.5, 0.5]), ("newer", [0.25, 0.75])):
        made = dataclasses.replace(trial("ours", "blobs", 0), ingredients={"dataset": digest})
        world.add(made, arrays, {"train_prior": prior})
        scorer.score(world.made[-1])
    losses = {digest: found["log_loss"] for (*_, digest), found in scorer.constants.items()}
    newer = -(math.log(0.25) + 3 * math.log(0.75)) / 4
    assert losses == {"older": pytest.approx(math.log(2)), "newer": pytest.approx(newer)}


def test_pairs_compare_on_the_same_track_only(registry):
    tuned = {"tune": {"configurations": [{}], "inner_folds": 3}}
    listed = [
        {"algorithm": name, "params": params, "tracks": tracks}
        for name in ("ours", "theirs")
        for params, tracks in (({}, ["equal", "default"]), (tuned, ["tuned"]))
    ]
    world = World({**DECLARED, "tracks": listed})
    for name, jitter in (("ours", 0.0), ("theirs", 0.1)):
        world.classify(name, jitter=jitter)
        world.classify(name, jitter=jitter, sharpness=1.5, trial={"params": tuned})
    view = world.view(registry)
    assert [c.tracks for c in view.cells] == [("equal", "default"), ("tuned",)] * 2
    single = [(a.track, a.params) for a in view.accuracy if a.dataset]
    assert single == [("equal", ({}, {})), ("default", ({}, {})), ("tuned", (tuned, tuned))]
    assert {a.track for a in view.accuracy if not a.dataset} == {"equal", "default", "tuned"}


def test_one_track_alone_is_not_named(registry):
    listed = [{"algorithm": "ours", "params": {}, "tracks": ["default"]}]
    world = World({**DECLARED, "tracks": listed})
    world.classify("ours")
    world.classify("theirs", jitter=0.1)
    view = world.view(registry)
    assert {c.tracks for c in view.cells} == {()}
    assert {a.track for a in view.accuracy} == {""}
