"""Tests of the harness's overhead: the time of a run of a no-op algorithm."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from harness import Spec, Task
from harness.core.errors import HarnessError
from harness.core.model import Failure, Outcome, Sample, Split, Status, Trial
from harness.execution.pool import Pool
from harness.plugins.registry import load_registry
from harness.runs import noop_algorithm, overhead

TRIAL = Trial("noop", {}, "native", "d", Split(), 0, 1, "c", "t", Task.REGRESSION)
START = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(end: float, *walls: float) -> Outcome:
    """Return an outcome that ended given seconds after the start, with samples of fit."""
    samples = tuple(Sample("fit", wall, wall) for wall in walls)
    ended = (START + timedelta(seconds=end)).isoformat()
    return Outcome(TRIAL, Status.DONE, (Sample("import", 9.0, 9.0), *samples), ended=ended)


def test_overhead_of_a_trial_excludes_the_algorithm_and_a_job_has_the_rest() -> None:
    # Three trials a second apart, 0.4 s of each in the algorithm; 2 s before the first cycle.
    outcomes = [outcome(3.0, 0.1, 0.3), outcome(4.0, 0.4), outcome(5.0, 0.4)]
    result = overhead.summarize(outcomes, total=5.0)
    assert result.trial == pytest.approx(0.6)
    assert result.job == pytest.approx(2.0)
    assert result.amortized == pytest.approx(5 / 3 - 0.4)
    assert result.trials == 3


def test_failed_trial_is_reported() -> None:
    failed = replace(outcome(1.0), status=Status.CRASHED, failure=Failure("SIGSEGV", "it died"))
    with pytest.raises(HarnessError, match="it died"):
        overhead.summarize([outcome(0.5), failed], total=2.0)


def test_one_trial_is_too_few() -> None:
    with pytest.raises(HarnessError, match="too few"):
        overhead.summarize([outcome(0.5)], total=2.0)


def test_no_op_predictions_have_the_right_shape() -> None:
    X = np.zeros((4, 2))
    assert noop_algorithm.Noop(Spec(Task.REGRESSION)).predict(X).shape == (4,)
    probabilities = noop_algorithm.Noop(Spec(Task.MULTICLASS, n_classes=3)).predict_one(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_no_op_algorithm_exists_only_on_request() -> None:
    assert noop_algorithm.NAME not in load_registry(strangers=False).names("algorithm")
    assert load_registry([noop_algorithm.__file__], modules=[]).names("algorithm") == [
        noop_algorithm.NAME
    ]


def test_run_of_the_no_op_algorithm_is_measured() -> None:
    result = overhead.measure_overhead(folds=3, repeats=1)
    assert result.trials == 3
    assert 0 < result.trial < result.amortized
    assert result.job > 0


def test_starts_of_both_kinds_are_measured(monkeypatch) -> None:
    kinds = []

    class Noted(overhead.Session):
        def __init__(self, job, folder, *, forked):
            kinds.append(forked)
            super().__init__(job, folder, forked=forked)

    monkeypatch.setattr(overhead, "Session", Noted)
    result = overhead.measure_starts()
    assert kinds == [False, True, True]  # the first fork waits for its template
    assert result.spawned > 0
    assert result.forked > 0
    assert result.template > 0


def test_kernel_cache_of_workers_is_set_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_KERNEL_CACHE", raising=False)
    monkeypatch.delenv("HARNESS_PACKAGED_KERNELS", raising=False)
    with overhead.kernels_in("/somewhere"):
        assert overhead.os.environ["HARNESS_KERNEL_CACHE"] == "/somewhere"
        assert overhead.os.environ["HARNESS_PACKAGED_KERNELS"] == "0"
    assert not {"HARNESS_KERNEL_CACHE", "HARNESS_PACKAGED_KERNELS"} & set(overhead.os.environ)
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", "/before")
    with overhead.kernels_in("/somewhere"):
        pass
    assert overhead.os.environ["HARNESS_KERNEL_CACHE"] == "/before"


def test_first_calls_are_timed_in_separate_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = Pool.start

    def noted(*given, **options):
        started.append(given)
        return start(*given, **options)

    monkeypatch.setattr(Pool, "start", noted)
    entry = load_registry([noop_algorithm.__file__], modules=[]).entry(
        "algorithm", noop_algorithm.NAME
    )
    (result,) = overhead.measure_first_calls([entry])
    assert result.algorithm == noop_algorithm.NAME
    assert (result.cpu, result.functions) == (0.0, 0)  # it compiles nothing
    assert 0 < result.warm < 10
    assert result.notes == ()
    assert len(started) == 2  # one compiles for all params, one is timed
