"""Tests of the selection of comparable training seconds."""

from fake_runs import trial

from harness.analysis.seconds import left_out, machines_of, timing_of, typical_seconds
from harness.core.model import Outcome, Sample, Status


def outcome(status, *samples, **facts):
    return Outcome(trial("ours", "blobs", 0), status, samples, facts=facts)


def test_typical_seconds_exclude_failures_and_fall_back_on_cold_calls():
    result = typical_seconds(
        [
            outcome(Status.DONE, Sample("import", 3.0, 3.0, cold=True), Sample("fit", 1.0, 1.0)),
            outcome(Status.DONE, Sample("fit", 9.0, 9.0, cold=True), Sample("fit", 2.0, 2.0)),
            outcome(Status.FAILED, Sample("fit", 100.0, 1.0)),
        ]
    )
    assert result == {"import": 3.0, "fit": 1.5}


def fitted(wall, **facts):
    return outcome(Status.DONE, Sample("fit", wall, wall), **facts)


def test_trials_that_ran_alone_take_precedence():
    concurrent = [fitted(9.0, alone=False), fitted(8.0, alone=False)]
    both = timing_of([*concurrent, fitted(1.0, alone=True), fitted(3.0)], "")
    assert (both.seconds, both.crowded) == ({"fit": 2.0}, False)
    rough = timing_of(concurrent, "")
    assert (rough.seconds, rough.crowded) == ({"fit": 8.5}, True)


def test_machine_without_trials_has_no_seconds():
    result = timing_of([fitted(1.0, machine="a")], "b")
    assert (result.seconds, result.crowded) == ({}, False)


def test_machine_with_most_finished_trials_comes_first():
    outcomes = [fitted(1.0, machine="b"), fitted(1.0, machine="a"), fitted(1.0, machine="a")]
    failed = [outcome(Status.FAILED, machine="b")] * 3
    assert list(machines_of([*failed, *outcomes]).items()) == [("a", 2), ("b", 1)]
    assert list(machines_of([fitted(1.0, machine="b"), fitted(1.0, machine="a")])) == ["a", "b"]
    assert machines_of([]) == {}


def test_excluded_trials_are_reported():
    assert left_out({}) == left_out({"a": 7}) == ""
    message = left_out({"a": 1200, "b": 2, "c": 1})
    assert message.startswith("Times are those of 1,200 trials on machine a; 3 on 2 other kinds")
    assert "unrecorded machine" in left_out({"": 2, "b": 1})
