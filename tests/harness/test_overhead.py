"""The harness's own time is what is left of a run of nothing."""

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
    """Return an outcome that ended so many seconds after the start, with samples of fit."""
    samples = tuple(Sample("fit", wall, wall) for wall in walls)
    ended = (START + timedelta(seconds=end)).isoformat()
    return Outcome(TRIAL, Status.DONE, (Sample("import", 9.0, 9.0), *samples), ended=ended)


def test_a_trial_costs_the_cycle_without_the_algorithm_and_a_job_the_rest() -> None:
    # Three trials a second apart, 0.4 s of each in the algorithm; 2 s before the first cycle.
    outcomes = [outcome(3.0, 0.1, 0.3), outcome(4.0, 0.4), outcome(5.0, 0.4)]
    found = overhead.summarise(outcomes, total=5.0)
    assert found.trial == pytest.approx(0.6)
    assert found.job == pytest.approx(2.0)
    assert found.amortised == pytest.approx(5 / 3 - 0.4)
    assert found.trials == 3


def test_a_trial_that_failed_is_told() -> None:
    failed = replace(outcome(1.0), status=Status.CRASHED, failure=Failure("SIGSEGV", "it died"))
    with pytest.raises(HarnessError, match="it died"):
        overhead.summarise([outcome(0.5), failed], total=2.0)


def test_one_trial_is_too_few() -> None:
    with pytest.raises(HarnessError, match="too few"):
        overhead.summarise([outcome(0.5)], total=2.0)


def test_nothing_is_predicted_in_the_right_shape() -> None:
    X = np.zeros((4, 2))
    assert noop_algorithm.Noop(Spec(Task.REGRESSION)).predict(X).shape == (4,)
    probabilities = noop_algorithm.Noop(Spec(Task.MULTICLASS, n_classes=3)).predict_one(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_the_algorithm_that_does_nothing_is_only_there_when_asked_for() -> None:
    assert noop_algorithm.NAME not in load_registry(strangers=False).names("algorithm")
    assert load_registry([noop_algorithm.__file__], modules=[]).names("algorithm") == [
        noop_algorithm.NAME
    ]


def test_a_run_of_nothing_is_measured() -> None:
    found = overhead.measure_overhead(folds=3, repeats=1)
    assert found.trials == 3
    assert 0 < found.trial < found.amortised
    assert found.job > 0


def test_starts_of_both_kinds_are_measured(monkeypatch) -> None:
    kinds = []

    class Noted(overhead.Session):
        def __init__(self, job, folder, *, forked):
            kinds.append(forked)
            super().__init__(job, folder, forked=forked)

    monkeypatch.setattr(overhead, "Session", Noted)
    found = overhead.measure_starts()
    assert kinds == [False, True, True]  # the first fork waits for its template
    assert found.anew > 0
    assert found.forked > 0
    assert found.template > 0


def test_the_kernel_cache_of_workers_is_set_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_first_calls_are_timed_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = Pool.start

    def noted(*given, **options):
        started.append(given)
        return start(*given, **options)

    monkeypatch.setattr(Pool, "start", noted)
    entry = load_registry([noop_algorithm.__file__], modules=[]).entry(
        "algorithm", noop_algorithm.NAME
    )
    (found,) = overhead.measure_first_calls([entry])
    assert found.algorithm == noop_algorithm.NAME
    assert (found.cpu, found.functions) == (0.0, 0)  # it compiles nothing
    assert 0 < found.warm < 10
    assert found.notes == ()
    assert len(started) == 2  # one compiles for all params, one is timed
