"""Tests of gate decisions on fake runs: only clear regressions fail."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.gates import state_of
from harness.analysis.run_view import Accuracy, Cell, Interval, Parity, RunView, Speed
from harness.core.model import (
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Outcome,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)
from harness.gate.decision import Limits, decide, failed_to_load, undecided_decisions

LABELS = {"ours": "ours@base"}
SPLITS = 8


def speed(ratio, phase="train", width=0.01, **fields):
    interval = Interval(ratio * (1 - width), ratio, ratio * (1 + width), 0.98, 8)
    return Speed("ours", "ours@base", "made", phase, interval, "launch", (1.0, ratio), **fields)


def cell(name, peaks, predicting=None):
    """Return a cell with given peaks of its fits, and of its predictions, or 1 MB each."""
    outcomes = []
    most = [1e6] * len(peaks) if predicting is None else predicting
    for fold, (peak, of_predict) in enumerate(zip(peaks, most, strict=True)):
        split = Split(folds=SPLITS, fold=fold)
        trial = Trial(name, {}, "native", "made", split, 0, 1, f"{name}{fold}", "t", Task.BINARY)
        fit, predict = (
            Sample("fit", 1.0, 1.0, int(peak)),
            Sample("predict", 1.0, 1.0, int(of_predict)),
        )
        samples = (fit, predict)
        outcomes.append(Outcome(trial, Status.DONE, samples))
    return Cell(name, {}, "native", "made", "binary", tuple(outcomes), {}, (), {}, 0)


def accuracy(value, width=0.001, **fields):
    outer = Interval(value - width, value, value + width, 0.95, SPLITS)
    names = ("ours", "ours@base", "made", "log_loss")
    result = Accuracy(*names, "equivalent", outer, 0.01, gap=1.0, inner=outer, error=0.1)
    return replace(result, **fields)


def parity(name, parity_level, **fields):
    params = ({"parity": "xgboost"}, {})
    messages = (name, "library", "made", params, "native", "raw", parity_level, "L2", {}, None)
    return replace(Parity(*messages), **fields)


def view(**fields):
    even = {key: {} for key in ("run", "algorithms", "datasets", "metrics")}
    messages = {
        "cells": (cell("ours", [4e6] * SPLITS), cell("ours@base", [4e6] * SPLITS)),
        "accuracy": (accuracy(0.0),),
        "speed": (speed(1.0), speed(1.0, "predict")),
        "duels": (),
        "predictions": lambda _: {},
    }
    return RunView(**{**even, **messages, **fields})


def answers(result):
    """Return the state of each decision by kind; speed by phase, prediction memory apart."""
    names = {("memory", "predict"): "memory of predict"}
    return {
        d.gate.phase
        if d.gate.kind == "speed"
        else names.get((d.gate.kind, d.gate.phase), d.gate.kind): d.state
        for d in result
    }


def test_head_equal_to_its_base_passes():
    decisions = decide(view(), LABELS, Limits())
    of = ("accuracy", "train", "predict", "memory", "memory of predict")
    assert answers(decisions) == dict.fromkeys(of, "pass")
    assert state_of(decisions) == "pass"


@pytest.mark.parametrize(
    ("ratio", "width", "state", "words"),
    [
        (1 / 1.15, 0.02, "fail", "15.0% slower than the base"),
        (1 / 1.06, 0.03, "undecided", "6.0% slower"),
        (1 / 1.02, 0.01, "pass", "2.0% slower"),
        (1 / 1.15, 0.20, "undecided", "the interval reaches across the limit"),
        (1.5, 0.02, "pass", "33.3% faster than the base"),  # what is better never fails
    ],
)
def test_speed(ratio, width, state, words):
    seen = view(speed=(speed(ratio, width=width), speed(1.0, "predict")))
    decisions = decide(seen, LABELS, Limits())
    (train,) = [d for d in decisions if d.gate.kind == "speed" and d.gate.phase == "train"]
    assert train.state == state
    assert words in train.reason
    assert answers(decisions)["predict"] == "pass"


def test_requested_limit_decides():
    seen = view(speed=(speed(1 / 1.15), speed(1.0, "predict")))
    assert answers(decide(seen, LABELS, Limits(slower=0.3)))["train"] == "pass"


def test_untimed_algorithm_is_undecided():
    decisions = decide(view(speed=()), LABELS, Limits())
    assert {answers(decisions)[phase] for phase in ("train", "predict")} == {"undecided"}
    few = replace(speed(0.5), unit="block")
    assert answers(decide(view(speed=(few,)), LABELS, Limits()))["train"] == "undecided"


@pytest.mark.parametrize(
    ("difference", "state"), [(-0.05, "fail"), (-0.0105, "undecided"), (0.2, "pass"), (0.0, "pass")]
)
def test_accuracy(difference, state):
    decisions = decide(view(accuracy=(accuracy(difference),)), LABELS, Limits())
    assert answers(decisions)["accuracy"] == state


def test_head_failing_where_the_base_did_not_does_not_pass():
    broken = accuracy(math.nan, failed=(8, 0), inner=None)
    decisions = decide(view(accuracy=(broken,)), LABELS, Limits())
    (one,) = [d for d in decisions if d.gate.kind == "accuracy"]
    assert (one.state, one.reason) == ("fail", "without a score: 8 of its trials")


def lost_duel():
    """Return a duel that failed on the side of the head."""
    sides = []
    for name in ("ours", "ours@base"):
        trial = Trial(name, {}, "native", "other", Split(), 0, 1, name, name, Task.BINARY)
        sides.append(Job("ours", "p", DatasetRef("other", "d"), (trial,)))
    failure = Failure("RuntimeError", "side a (ours): planted")
    facts = {"failed_side": "a"}
    return DuelOutcome(Duel(*sides, id="d"), Status.FAILED, (), failure, facts)


def test_failure_on_both_sides_is_no_change():
    outcomes = cell("ours@base", [4e6] * SPLITS).outcomes
    failure = Failure("E", "e")
    failed = tuple(replace(o, status=Status.FAILED, failure=failure) for o in outcomes)
    cells = (cell("ours", []), replace(cell("ours@base", []), outcomes=failed))
    both = accuracy(math.nan, failed=(8, 8), inner=None)
    seen = view(cells=cells, accuracy=(both,), duels=(lost_duel(),), speed=())
    decisions = decide(seen, LABELS, Limits())
    assert {d.state for d in decisions} == {"undecided"}
    assert sum(d.reason.startswith("the base fails, too; ") for d in decisions) == 3
    alone = decide(view(duels=(lost_duel(),), speed=()), LABELS, Limits())
    assert [d.state for d in alone if d.gate.kind == "speed"] == ["fail", "fail"]


NOISE = np.random.default_rng(0).normal(1, 0.02, (2, SPLITS))


@pytest.mark.parametrize(
    ("head", "base", "state"),
    [
        (4e6 * NOISE[0], 4e6 * NOISE[1], "pass"),
        (5.6e6 * NOISE[0], 4e6 * NOISE[1], "fail"),  # a copy of X that is kept
        (2e6 * NOISE[0], 4e6 * NOISE[1], "pass"),
        (4e5 * NOISE[0], 2e5 * NOISE[1], "pass"),  # twice of next to nothing
        (8.7e6 * NOISE[0], 8.1e6 * NOISE[1], "undecided"),
        (5.6e6 * NOISE[0][:3], 4e6 * NOISE[1][:3], "undecided"),
    ],
)
def test_memory(head, base, state):
    seen = view(cells=(cell("ours", head), cell("ours@base", base)))
    assert answers(decide(seen, LABELS, Limits()))["memory"] == state


@pytest.mark.parametrize(
    ("head", "base", "state"),
    [(4e6, 1e6, "fail"), (1e6, 4e6, "pass"), (3e5, 1, "pass"), (1, 1, "pass"), (0, 0, "pass")],
)
def test_prediction_memory(head, base, state):
    peaks = [4e6] * SPLITS
    cells = (cell("ours", peaks, [head] * SPLITS), cell("ours@base", peaks, [base] * SPLITS))
    result = answers(decide(view(cells=cells), LABELS, Limits()))
    assert (result["memory"], result["memory of predict"]) == ("pass", state)


def test_machine_without_peak_memory_is_undecided():
    silent = [0] * SPLITS
    cells = (cell("ours", silent, silent), cell("ours@base", silent, silent))
    result = answers(decide(view(cells=cells), LABELS, Limits()))
    assert (result["memory"], result["memory of predict"]) == ("undecided", "undecided")


def test_memory_without_both_sides_is_undecided():
    lost = cell("ours@base", [4e6] * SPLITS)
    failed = tuple(
        replace(o, status=Status.FAILED, failure=Failure("E", "e")) for o in lost.outcomes
    )
    seen = view(cells=(cell("ours", [4e6] * SPLITS), replace(lost, outcomes=failed)))
    assert answers(decide(seen, LABELS, Limits()))["memory"] == "undecided"


@pytest.mark.parametrize(
    ("head", "base", "state"),
    [("L3", "L2", "pass"), ("L2", "L2", "pass"), ("L1", "L2", "fail"), ("", "L3", "fail")],
)
def test_parity_levels(head, base, state):
    seen = view(parity=(parity("ours", head), parity("ours@base", base)))
    decisions = decide(seen, LABELS, Limits())
    (one,) = [d for d in decisions if d.gate.kind == "parity_level"]
    assert (one.state, one.reference, one.limit) == (state, "library", base)
    assert f"xgboost mode reaches {head or 'no parity level'}, the base {base}" in one.reason


def test_base_without_a_parity_level_has_no_requirement():
    seen = view(parity=(parity("ours", ""), parity("ours@base", "")))
    assert "parity_level" not in answers(decide(seen, LABELS, Limits()))


def test_impossible_measurement_is_undecided_or_fails():
    none = undecided_decisions("*@base", "the base does not start")
    assert {d.gate.kind for d in none} == {"accuracy", "memory", "speed"}
    assert (state_of(none), {d.reason for d in none}) == ("undecided", {"the base does not start"})
    one = failed_to_load("x", "x@base", "does not load")
    assert (one.gate.kind, state_of([one, *none])) == ("accuracy", "fail")
