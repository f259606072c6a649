"""Tests that planned measurements without an outcome are undecided, by kind."""

from types import SimpleNamespace

from harness.config.experiment import Gate
from harness.gate.decision import make_decision
from harness.gate.unfinished import Unfinished, find_unfinished, mark_unfinished

PAIR = {"algorithm": "ours", "reference": "ours@b"}
PARITY_LEVEL = {"algorithm": "ours", "reference": "lib", "limit": "L3"}


def job(name, *ids):
    trials = [SimpleNamespace(id=i) for i in ids]
    return SimpleNamespace(algorithm="ours", dataset=SimpleNamespace(name=name), trials=trials)


def planned():
    """Return a plan, its matches, and a view in which only iris is finished."""
    library = SimpleNamespace(algorithm="lib")
    matches = [
        SimpleNamespace(a=job(name), b=library, what={"id": name}) for name in ("iris", "wine")
    ]
    duels = [SimpleNamespace(a=job(name), id=name) for name in ("iris", "wine")]
    plan = SimpleNamespace(jobs=[job("iris", "a", "b"), job("wine", "c", "d")], duels=duels)
    outcomes = [SimpleNamespace(trial=SimpleNamespace(id=i)) for i in "abc"]
    duel_outcomes = [SimpleNamespace(duel=SimpleNamespace(id="iris"))]
    view = SimpleNamespace(cells=[SimpleNamespace(outcomes=outcomes)], duels=duel_outcomes)
    return plan, matches, view


def test_each_kind_of_missing_outcome_is_found():
    result = find_unfinished(*planned(), compared=["iris"])
    where = frozenset({("ours", "wine")})
    assert result == Unfinished(where, where, frozenset({("ours", "lib", "wine")}))


def test_undecided_replaces_a_result_from_partial_data():
    unfinished = find_unfinished(*planned(), compared=["iris"])
    half = [
        make_decision(Gate(kind="accuracy", **PAIR), "pass", "", "wine"),
        make_decision(Gate(kind="accuracy", **PAIR), "pass", "", "iris"),
        make_decision(Gate(kind="speed", **PAIR), "undecided", "no duel", ""),
        make_decision(Gate(kind="memory", **PAIR), "fail", "", "wine"),
        make_decision(Gate(kind="parity_level", **PARITY_LEVEL), "pass", "", "wine"),
    ]
    results = list(mark_unfinished(half, unfinished, "b", "no time"))
    late = [(d.gate.kind, d.gate.phase, d.dataset) for d in results if d.reason == "no time"]
    assert sorted(late) == [
        ("accuracy", "train", "wine"),
        ("memory", "predict", "wine"),
        ("parity_level", "train", "wine"),
        ("speed", "predict", "wine"),
        ("speed", "train", "wine"),
    ]
    kept = [(d.gate.kind, d.state, d.dataset) for d in results if d.reason != "no time"]
    assert kept == [
        ("accuracy", "pass", "iris"),
        ("memory", "fail", "wine"),
        ("parity_level", "pass", "wine"),
    ]


def test_complete_outcomes_change_nothing():
    done = [make_decision(Gate(kind="speed", **PAIR), "undecided", "no duel", "")]
    assert list(mark_unfinished(done, Unfinished(), "b", "no time")) == done
