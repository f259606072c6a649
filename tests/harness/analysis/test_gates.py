"""Tests of gates on interval bounds: pass, fail, undecided, never a pass by chance."""

import math
from dataclasses import replace

import pytest

from harness.analysis.gates import decide_gates, gates_of, state_of
from harness.analysis.run_view import Accuracy, Interval, Parity, RunView, Speed
from harness.analysis.verdicts import Evidence, judge, named
from harness.config.experiment import Experiment, Gate
from harness.core.model import (
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Split,
    Status,
    Task,
    Trial,
)

GAP, MARGIN = 0.5, 0.005  # the margin is 1 % of the gap


def accuracy(low, high, *, inner=None, **changes):
    """Return a verdict with given 95 % and 90 % intervals, in shares of the gap."""
    middle = (low + high) / 2
    near = inner or (0.8 * low + 0.2 * middle, 0.8 * high + 0.2 * middle)
    result = Accuracy(
        "ours", "theirs", "wine", "log_loss", "inconclusive",
        Interval(low * GAP, middle * GAP, high * GAP), MARGIN, splits=5,
        inner=Interval(near[0] * GAP, middle * GAP, near[1] * GAP, 0.9), gap=GAP, error=0.001,
    )  # fmt: skip
    return replace(result, **changes)


def speed(low, value, high, **changes):
    ratio = Interval(low, value, high, n=8)
    result = Speed("ours", "theirs", "wine", "train", ratio, "launch", (1.0, value))
    return replace(result, **changes)


def duel(status=Status.DONE, side="a"):
    def job(name):
        trial = Trial(name, {}, "native", "wine", Split(), 0, 1, "c", "t", Task.MULTICLASS)
        return Job(name, "m", DatasetRef("wine", "0"), (trial,))

    facts = {"failed_side": side}
    failure = Failure("SIGKILL", "ended by SIGKILL")
    return DuelOutcome(Duel(job("ours"), job("theirs"), "d"), status, failure=failure, facts=facts)


def view(**records):
    fields = {"run": {"config": {}}, "cells": (), "accuracy": (), "speed": (), "duels": ()}
    fields |= {"algorithms": {}, "datasets": {}, "metrics": {}, "predictions": lambda _: {}}
    return RunView(**{**fields, **records})


def decide(gate, **records):
    declared = {"algorithm": "ours", **gate}
    return decide_gates([Gate.model_validate(declared)], view(**records))


def state(gate, **records):
    (decision,) = decide(gate, **records)
    return decision.state


# ------------------------------------------------------------------ accuracy


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.009, 0.02, "pass"),
        (0.02, 0.05, "pass"),
        (-0.05, -0.02, "fail"),
        (-0.02, 0.0, "undecided"),
        (-0.02, 0.05, "undecided"),
    ],
)
def test_accuracy_is_compared_with_the_declared_margin(low, high, expected):
    assert state({"kind": "accuracy"}, accuracy=(accuracy(low, high),)) == expected


def test_accuracy_passes_by_the_inner_interval_and_fails_by_the_outer():
    reaches = accuracy(-0.011, 0.004, inner=(-0.0099, 0.003))
    assert state({"kind": "accuracy"}, accuracy=(reaches,)) == "pass"
    almost = accuracy(-0.03, -0.009, inner=(-0.029, -0.0101))
    assert state({"kind": "accuracy"}, accuracy=(almost,)) == "undecided"


def test_custom_limit():
    wide = accuracy(-0.04, 0.0)
    assert state({"kind": "accuracy", "limit": 0.05}, accuracy=(wide,)) == "pass"
    (decision,) = decide({"kind": "accuracy", "limit": 0.05}, accuracy=(wide,))
    assert decision.limit == -0.05
    assert decision.measured.low == pytest.approx(-0.04)


def test_own_trial_without_a_score_fails():
    lost = accuracy(0.02, 0.05, failed=(1, 0))
    assert state({"kind": "accuracy"}, accuracy=(lost,)) == "fail"
    theirs = accuracy(0.02, 0.05, failed=(0, 1))
    assert state({"kind": "accuracy"}, accuracy=(theirs,)) == "pass"


def test_missing_variance_is_undecided_unless_identical():
    same = accuracy(-0.002, -0.002, error=0.0, advice="no variance")
    assert state({"kind": "accuracy"}, accuracy=(same,)) == "undecided"
    identical = accuracy(0.0, 0.0, error=0.0, verdict="equivalent")
    assert state({"kind": "accuracy"}, accuracy=(identical,)) == "pass"
    nothing_learned = replace(identical, gap=0.0, margin=0.0)
    assert state({"kind": "accuracy"}, accuracy=(nothing_learned,)) == "pass"
    for low, high, expected in ((-0.1, 0.1, "undecided"), (-0.2, -0.1, "fail"), (0, 1, "pass")):
        no_gap = accuracy(low, high, gap=0.0, margin=0.0)
        assert state({"kind": "accuracy"}, accuracy=(no_gap,)) == expected
    alone = accuracy(-math.inf, math.inf, inner=(-math.inf, math.inf), splits=1)
    assert state({"kind": "accuracy"}, accuracy=(alone,)) == "undecided"


def test_difference_constant_up_to_rounding_is_undecided():
    ours = [0.3] * 3 + [0.7] * 2
    theirs = [x + 0.1 for x in ours]
    for sides in ((ours, theirs), (theirs, ours)):
        pair = named("ours", "theirs", "wine", "log_loss")
        same = judge(Evidence(pair, *sides, ratio=0.25, test_rows=100, repeat=5, gap=GAP))
        assert state({"kind": "accuracy"}, accuracy=(same,)) == "undecided"


def test_pooled_or_each():
    records = (accuracy(-0.05, -0.02), accuracy(0.0, 0.01, dataset="", gap=1.0, margin=0.01))
    assert state({"kind": "accuracy"}, accuracy=records) == "fail"
    assert state({"kind": "accuracy", "pooled": True}, accuracy=records) == "pass"


# ------------------------------------------------------------------ speed and memory


@pytest.mark.parametrize(
    ("interval", "limit", "expected"),
    [
        ((1.1, 1.2, 1.3), None, "pass"),
        ((0.9, 1.0, 1.1), None, "undecided"),
        ((0.7, 0.8, 0.9), None, "fail"),
        ((0.9, 1.0, 1.1), 0.85, "pass"),
        ((1.1, 1.2, 1.3), 2, "fail"),
        ((0.0, 1.2, math.inf), 0.5, "undecided"),
    ],
)
def test_speed_uses_the_bounds_of_the_ratio(interval, limit, expected):
    gate = {"kind": "speed", "limit": limit}
    assert state(gate, speed=(speed(*interval),)) == expected


@pytest.mark.parametrize(
    ("interval", "expected"), [((1.01, 1.02, 1.03), "undecided"), ((1.1, 1.2, 1.3), "pass")]
)
def test_ratio_within_the_noise_floor_is_undecided(interval, expected):
    assert state({"kind": "speed"}, speed=(speed(*interval, floor=0.05),)) == expected
    turned = [1 / x for x in reversed(interval)]
    other = {"undecided": "undecided", "pass": "fail"}[expected]
    assert state({"kind": "speed"}, speed=(speed(*turned, floor=0.05),)) == other


def test_blocks_of_few_launches_are_undecided():
    (decision,) = decide({"kind": "speed"}, speed=(speed(2, 3, 4, unit="block"),))
    assert decision.state == "undecided"
    assert "8" in decision.reason


def test_gate_chooses_its_phase():
    speeds = (speed(2, 3, 4), speed(0.2, 0.3, 0.4, phase="predict"))
    assert state({"kind": "speed"}, speed=speeds) == "pass"
    assert state({"kind": "speed", "phase": "predict"}, speed=speeds) == "fail"


def test_algorithm_against_itself_is_no_pair():
    alone = speed(0.5, 0.6, 0.7, reference="ours")
    (decision,) = decide({"kind": "speed"}, speed=(alone,))
    assert "no train duel" in decision.reason


@pytest.mark.parametrize(("side", "expected"), [("a", "fail"), ("b", "undecided")])
@pytest.mark.parametrize("kind", ["speed", "memory"])
def test_duel_failed_by_our_side_fails_the_gate(kind, side, expected):
    left = speed(2, 3, 4, memory=Interval(2, 3, 4))
    assert state({"kind": kind}, speed=(left,), duels=(duel(Status.CRASHED, side),)) == expected


@pytest.mark.parametrize(("side", "expected"), [("a", "fail"), ("b", "undecided")])
@pytest.mark.parametrize(("kind", "phase"), [("speed", "train"), ("memory", "fit")])
def test_failed_duel_counts_over_all_datasets_too(kind, phase, side, expected):
    fields = {"dataset": "", "unit": "dataset", "phase": phase, "memory": Interval(2, 3, 4)}
    gate, lost = {"kind": kind, "pooled": True}, duel(Status.CRASHED, side)
    decided = decide(gate, speed=(speed(2, 3, 4, **fields),), duels=(lost,))
    assert state_of(decided) == expected


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(1.1, 1.2, 1.3), "pass"),
        (Interval(0.1, 0.2, 0.3), "fail"),
        (Interval(0, 1.2, math.inf, 1.0, 1, "n = 1: takes at least 6"), "undecided"),
    ],
)
def test_memory_uses_its_own_interval(interval, expected):
    # Of few launches: what counts is the interval's own unit.
    fit = speed(1, 1, 1, memory=interval, phase="fit", unit="block")
    assert state({"kind": "memory"}, speed=(fit,)) == expected


# ------------------------------------------------------------------ parity levels


def parity(parity_level, verdict="", *, compared=True):
    comparison = object() if compared else None  # a gate asks only whether there is one
    return Parity(
        "ours", "theirs", "wine", ({}, {}), "native", "raw", parity_level, "L3",
        {}, comparison, verdict,
        "" if compared else "its trees are not exportable",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("result", "limit", "expected"),
    [
        (parity("L3"), "L2", "pass"),
        (parity("L2"), "L2", "pass"),
        (parity("L0"), "L2", "fail"),
        (parity("", "worse"), "L1", "fail"),
        (parity("L0", compared=False), "L2", "undecided"),
        (parity("L0", compared=False), "L0", "pass"),
        (parity("", "worse"), "L0", "fail"),
        (parity("", "inconclusive"), "L0", "undecided"),
    ],
)
def test_parity_level_is_reached_or_not_or_undecided(result, limit, expected):
    (decision,) = decide({"kind": "parity_level", "limit": limit}, parity=(result,))
    assert decision.state == expected
    assert decision.limit == limit


def test_parity_level_never_measured_is_undecided():
    with pytest.deprecated_call(match="parity_level"):
        (decision,) = decide({"kind": "rung", "limit": "L2"})
    assert decision.gate.kind == "parity_level"
    (decision,) = decide({"kind": "parity_level", "limit": "L2"})
    assert decision.state == "undecided"
    assert "no parity result of ours" in decision.reason


# ------------------------------------------------------------------ all kinds


def test_gate_may_name_one_track():
    records = (accuracy(0.02, 0.05, track="equal"), accuracy(-0.05, -0.02, track="tuned"))
    assert state({"kind": "accuracy", "track": "equal"}, accuracy=records) == "pass"
    assert state({"kind": "accuracy", "track": "tuned"}, accuracy=records) == "fail"
    assert len(decide({"kind": "accuracy"}, accuracy=records)) == 2


def test_names_and_datasets_are_globs():
    records = (accuracy(0.02, 0.05), accuracy(-0.05, -0.02, dataset="digits"))
    gate = {"kind": "accuracy", "algorithm": "ou*", "datasets": ["w*"]}
    assert state(gate, accuracy=records) == "pass"
    assert len(decide({"kind": "accuracy", "algorithm": "*"}, accuracy=records)) == 2


@pytest.mark.parametrize("kind", ["accuracy", "speed", "memory"])
def test_gate_without_matching_results_never_passes(kind):
    (decision,) = decide({"kind": kind, "algorithm": "oors"}, accuracy=(accuracy(0.02, 0.05),))
    assert decision.state == "undecided"
    assert "oors" in decision.reason


def test_state_of_several_gates():
    records = {
        "pass": accuracy(0.02, 0.05), "fail": accuracy(-0.05, -0.02),
        "undecided": accuracy(-0.02, 0.05),
    }  # fmt: skip

    def together(*names):
        return state_of(decide({"kind": "accuracy"}, accuracy=[records[n] for n in names]))

    assert together("pass") == "pass"
    assert together("pass", "undecided") == "undecided"
    assert together("undecided", "fail", "pass") == "fail"


def test_gates_are_read_from_a_stored_config():
    gate = {"kind": "speed", "algorithm": "ours", "limit": 2}
    experiment = Experiment(name="x", datasets=["wine"], gate=[gate])
    config = {"experiment": experiment.model_dump(mode="json")}
    (result,) = gates_of(config)
    assert (result.kind, result.limit, result.phase) == ("speed", 2.0, "train")
    assert gates_of({}) == []
