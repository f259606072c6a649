"""Tests of building the view of a run: scores, pairs, constants, verdicts, speeds."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from fake_runs import DECLARED, FOLDS, FakeRun, store_fake_run, trial

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
def fake():
    return FakeRun()


def of(view, algorithm, reference, dataset):
    (result,) = [
        a
        for a in view.accuracy
        if (a.algorithm, a.reference, a.dataset) == (algorithm, reference, dataset)
    ]
    return result


def test_cells_have_scores_seconds_and_peaks(fake, registry):
    fake.classify("ours")
    view = fake.view(registry)
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


def test_view_needs_no_algorithm_and_no_open_store(fake, registry, tmp_path):
    fake.classify("ours")
    fake.classify("theirs", jitter=0.02)
    run = store_fake_run(fake, tmp_path)
    with Store.open(tmp_path / "results") as store:
        view = view_run(store, run, registry)
    assert view.accuracy == fake.view(registry).accuracy
    assert registry.names("algorithm") == []
    assert view.algorithms == DECLARED["algorithms"]
    assert view.datasets == DECLARED["datasets"]
    assert view.run["name"] == "test"
    assert view.metrics["log_loss"]["primary"]
    assert not view.metrics["auc"]["lower_is_better"]
    assert view.predictions(view.cells[0].outcomes[0])["y"].shape == (200,)


def test_pairs_are_scratch_against_reference_and_the_declared_ones(fake, registry):
    fake.classify("ours")
    fake.classify("theirs", jitter=0.02)
    fake.classify("weak", sharpness=0.3)
    view = fake.view(registry)
    results = [(a.algorithm, a.reference, a.dataset) for a in view.accuracy]
    assert results == [
        ("ours", "theirs", "blobs"),
        ("ours", "theirs", ""),
        ("weak", "theirs", "blobs"),
        ("weak", "theirs", ""),
    ]
    assert [a.verdict for a in view.accuracy] == ["equivalent", "equivalent", "worse", "worse"]
    assert {a.splits for a in view.accuracy if a.dataset} == {FOLDS}
    assert {a.metric for a in view.accuracy if a.dataset} == {"log_loss"}


def test_margin_is_a_share_of_constant_minus_best(fake, registry):
    fake.classify("ours")
    fake.classify("theirs", jitter=0.5)
    fake.classify("weak", sharpness=0.3)
    view = fake.view(registry)
    losses = {c.algorithm: np.mean(c.scores["log_loss"]) for c in view.cells}
    ys = [view.predictions(o)["y"] for o in view.cells[0].outcomes]
    constant = np.mean([-np.log(np.where(y == 1, 0.4, 0.6)).mean() for y in ys])
    result = of(view, "ours", "theirs", "blobs")
    assert result.gap == pytest.approx(constant - min(losses.values()))
    assert result.margin == pytest.approx(0.02 * result.gap)
    assert result.difference.value == pytest.approx(losses["theirs"] - losses["ours"])


def test_regression_falls_back_on_the_test_mean(fake, registry):
    fake.regress("ours", 0.5)
    fake.regress("theirs", 0.9)
    view = fake.view(registry)
    result = of(view, "ours", "theirs", "line")
    assert result.metric == "rmse_sd"
    assert result.verdict == "better"
    # Without the worker's training mean the constant is that of the test rows: sd(test)/scale.
    constant = np.mean([np.random.default_rng(f).normal(3, 2, 100).std() / 2 for f in range(FOLDS)])
    assert result.gap == pytest.approx(constant - np.mean(view.cells[0].scores["rmse_sd"]))


def test_constant_model_comes_from_the_training_rows():
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
def test_identical_predictions_are_found_up_to_rounding(fake, registry, shift):
    fake.classify("ours")
    fake.classify("theirs", sharpness=2.0 * (1 + shift))
    result = of(fake.view(registry), "ours", "theirs", "blobs")
    assert result.verdict == "equivalent"
    assert "identical predictions on every split" in result.notes


def test_nearly_identical_is_not_identical(fake, registry):
    fake.classify("ours")
    fake.classify("theirs", sharpness=2.0 * (1 + 1e-6))
    result = of(fake.view(registry), "ours", "theirs", "blobs")
    assert result.verdict == "equivalent"
    assert result.notes == ()


def test_seeds_are_averaged_within_a_split(fake, registry):
    for seed in (0, 1, 2):
        fake.classify("ours", seed=seed, jitter=0.5)
        fake.classify("theirs", seed=seed, jitter=0.5)
    view = fake.view(registry)
    result = of(view, "ours", "theirs", "blobs")
    assert result.splits == FOLDS
    ours, theirs = (np.reshape(c.scores["log_loss"], (3, FOLDS)) for c in view.cells)
    assert result.difference.value == pytest.approx((theirs - ours).mean())
    assert result.difference.n == FOLDS


def test_splits_with_failures_are_left_out_and_counted(fake, registry):
    fake.classify("ours")
    fake.classify("theirs", jitter=0.02)
    lost = fake.trial_outcomes[1]
    fake.trial_outcomes[1] = dataclasses.replace(
        lost, status=Status.TIMEOUT, arrays={}, failure=Failure("timeout", "too late")
    )
    view = fake.view(registry)
    assert math.isnan(view.cells[0].scores["log_loss"][1])
    result = of(view, "ours", "theirs", "blobs")
    assert (result.splits, result.failed) == (FOLDS - 1, (1, 0))
    assert "without a score: 1 of ours, 0 of theirs" in result.notes


def test_verdict_of_a_pair_that_always_failed_says_so(fake, registry):
    fake.classify("theirs")
    for fold in range(FOLDS):
        failure = Failure("ValueError", "no")
        fake.add(trial("ours", "blobs", fold), status=Status.FAILED, failure=failure)
    result = of(fake.view(registry), "ours", "theirs", "blobs")
    assert (result.verdict, result.splits, result.failed) == ("inconclusive", 0, (FOLDS, 0))


def test_skipped_cells_make_no_pair(fake, registry):
    fake.classify("theirs")
    fake.add(trial("ours", "blobs", 0), status=Status.SKIPPED, reason="takes no weights")
    assert fake.view(registry).accuracy == ()


def test_pairs_use_the_most_native_common_preparation(fake, registry):
    for algorithm, jitter in (("ours", 0.0), ("theirs", 0.02)):
        for preparation in ("onehot", "native", "ordinal"):
            fake.classify(algorithm, jitter=jitter, trial={"preparation": preparation})
    fake.classify("weak", trial={"preparation": "ordinal+impute"})
    view = fake.view(registry)
    assert of(view, "ours", "theirs", "blobs").preparation == "native"
    assert [a for a in view.accuracy if a.algorithm == "weak"] == []


def test_every_variant_is_compared_with_the_reference(fake, registry):
    fake.classify("ours", trial={"params": {"depth": 2}})
    fake.classify("ours", sharpness=0.2, trial={"params": {"depth": 1}})
    fake.classify("theirs")
    view = fake.view(registry)
    results = [(a.params[0], a.verdict) for a in view.accuracy if a.dataset]
    assert results == [({"depth": 2}, "equivalent"), ({"depth": 1}, "worse")]
    assert sum(a.dataset == "" for a in view.accuracy) == 2


def test_labels_without_probabilities_give_a_notice(fake, registry):
    fake.classify("theirs")
    for outcome in list(fake.trial_outcomes):
        arrays = dict(fake.arrays[outcome.arrays["predictions"]])
        arrays["output"] = np.round(arrays["output"])
        fold = outcome.trial.split.fold
        fake.add(trial("ours", "blobs", fold), arrays, dict(outcome.facts))
    result = of(fake.view(registry), "ours", "theirs", "blobs")
    assert result.verdict == "worse"
    assert any(note.startswith("ours returns only the probabilities") for note in result.notes)
    assert not any("theirs gives" in note for note in result.notes)


def test_given_and_holdout_splits(fake, registry):
    for split in (Split("given"), Split("holdout", repeat=0), Split("holdout", repeat=1)):
        for algorithm in ("ours", "theirs"):
            y = np.array([0, 1] * 20)
            p = np.clip(y + np.random.default_rng(split.repeat).normal(0, 0.3, 40), 0.1, 0.9)
            arrays = {"output": np.stack([1 - p, p], axis=1), "y": y, "scale": np.float64(1)}
            made = trial(algorithm, split.scheme, 0, split=split)
            fake.add(made, arrays)
    view = fake.view(registry)
    given = of(view, "ours", "theirs", "given")
    assert "has fixed test rows" in given.advice
    assert of(view, "ours", "theirs", "holdout").splits == 2


def test_missing_arrays_lose_only_their_scores(fake, registry):
    fake.classify("ours")
    fake.classify("theirs", jitter=0.02)
    del fake.arrays[fake.trial_outcomes[0].arrays["predictions"]]
    view = fake.view(registry)
    assert math.isnan(view.cells[0].scores["log_loss"][0])
    assert of(view, "ours", "theirs", "blobs").splits == FOLDS - 1
    (broken,) = view.broken
    assert broken["plugin"] == "predictions of ours on blobs"
    assert "missing" in broken["reason"]


def test_plugin_metrics_are_scored_but_decide_no_verdict(fake):
    def raises(_predicted):
        raise ZeroDivisionError("oh")

    registry = load_registry(modules=["harness.plugins.metrics"])
    for name, score, primary in [("a_broken_one", raises, False), ("a_rival", lambda p: 1.0, True)]:
        metric = Metric(name, frozenset({Task.BINARY}), score, primary=primary)
        registry.add("metric", Metric, metric, "strange", "strange.py")
    fake.classify("ours")
    fake.classify("theirs", jitter=0.02)
    view = fake.view(registry)
    assert all(math.isnan(x) for x in view.cells[0].scores["a_broken_one"])
    assert view.cells[0].scores["a_rival"] == (1.0,) * FOLDS
    assert {a.metric for a in view.accuracy if a.dataset} == {"log_loss"}
    assert view.broken == ({"plugin": "metric a_broken_one", "reason": "ZeroDivisionError: oh"},)


def test_without_a_metric_there_are_cells_and_no_claims(fake):
    fake.classify("ours")
    fake.classify("theirs")
    view = fake.view(load_registry(modules=[]))
    assert view.cells[0].scores == {}
    assert {a.verdict for a in view.accuracy} == {"inconclusive"}


def test_duels_become_speeds_with_a_noise_floor_and_a_pool(fake, registry):
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
    fake.duel_outcomes += duels
    view = fake.view(registry)
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


def test_run_without_declarations_has_a_view(registry):
    view = FakeRun(declared={}).view(registry)
    assert (view.cells, view.accuracy, view.speed) == ((), (), ())


def test_seconds_of_different_machines_are_never_pooled(registry):
    """A cluster has two kinds of hardware; the times of one kind only are compared."""
    fake = FakeRun()
    for algorithm in ("ours", "theirs"):
        fake.classify(algorithm)
    for place, outcome in enumerate(fake.trial_outcomes):
        fast = place % 5 < 2  # of each algorithm two of five trials
        wall = 0.1 if fast else 10.0
        facts = {"machine": "fast" if fast else "slow"}
        samples = (Sample("fit", wall, wall),)
        fake.trial_outcomes[place] = dataclasses.replace(outcome, facts=facts, samples=samples)
    view = fake.view(registry)
    assert view.machines == {"slow": 6, "fast": 4}
    assert [cell.seconds for cell in view.cells] == [{"fit": 10.0}] * 2
    fake.trial_outcomes = [
        *fake.trial_outcomes[2:5],
        *fake.trial_outcomes[5:7],
    ]  # ours on the slow ones, theirs on the fast
    ours, theirs = fake.view(registry).cells
    assert (ours.seconds, theirs.seconds) == ({"fit": 10.0}, {}), "one class for the whole run"


def test_scoring_gives_no_warnings(fake, registry):
    fake.arrays["sha"] = {"output": np.full((4, 2), 0.5), "y": np.zeros(4, dtype=np.int64)}

    outcome = Outcome(trial("ours", "blobs", 0), Status.DONE, arrays={"predictions": "sha"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = Scorer(fake, registry).score(outcome)
    assert math.isnan(scores["auc"])
    assert scores["log_loss"] == pytest.approx(math.log(2))


def test_each_data_version_has_its_own_constant_model(fake, registry):
    arrays = {"output": np.full((4, 2), 0.5), "y": np.array([0, 1, 1, 1])}
    scorer = Scorer(fake, registry)
    for digest, prior in (("older", [0.5, 0.5]), ("newer", [0.25, 0.75])):
        made = dataclasses.replace(trial("ours", "blobs", 0), ingredients={"dataset": digest})
        fake.add(made, arrays, {"train_prior": prior})
        scorer.score(fake.trial_outcomes[-1])
    losses = {digest: result["log_loss"] for (*_, digest), result in scorer.constants.items()}
    newer = -(math.log(0.25) + 3 * math.log(0.75)) / 4
    assert losses == {"older": pytest.approx(math.log(2)), "newer": pytest.approx(newer)}


def test_pairs_compare_on_the_same_track_only(registry):
    tuned = {"tune": {"configurations": [{}], "inner_folds": 3}}
    listed = [
        {"algorithm": name, "params": params, "tracks": tracks}
        for name in ("ours", "theirs")
        for params, tracks in (({}, ["equal", "default"]), (tuned, ["tuned"]))
    ]
    fake = FakeRun({**DECLARED, "tracks": listed})
    for name, jitter in (("ours", 0.0), ("theirs", 0.1)):
        fake.classify(name, jitter=jitter)
        fake.classify(name, jitter=jitter, sharpness=1.5, trial={"params": tuned})
    view = fake.view(registry)
    assert [c.tracks for c in view.cells] == [("equal", "default"), ("tuned",)] * 2
    single = [(a.track, a.params) for a in view.accuracy if a.dataset]
    assert single == [("equal", ({}, {})), ("default", ({}, {})), ("tuned", (tuned, tuned))]
    assert {a.track for a in view.accuracy if not a.dataset} == {"equal", "default", "tuned"}


def test_single_track_is_not_named(registry):
    listed = [{"algorithm": "ours", "params": {}, "tracks": ["default"]}]
    fake = FakeRun({**DECLARED, "tracks": listed})
    fake.classify("ours")
    fake.classify("theirs", jitter=0.1)
    view = fake.view(registry)
    assert {c.tracks for c in view.cells} == {()}
    assert {a.track for a in view.accuracy} == {""}
