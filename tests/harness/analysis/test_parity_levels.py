"""Tests of parity levels, from the inputs of both sides and the agreement of their trees."""

import itertools
from dataclasses import replace

import pytest

from harness.analysis.difference import Comparison
from harness.analysis.parity_levels import parities
from harness.analysis.verdicts import named
from harness.core.model import Status, to_json
from harness.core.parity_level import AGREEMENTS, PARITY_LEVELS, lowest, parity_level_of, reaches

ALIKE = Comparison("values", (), (4, 4), 4, 120, 0.0, 1e-6)


def inputs_of(**changes):
    sides = [{"algorithm": "mine", "params": {}}, {"algorithm": "theirs", "params": {"depth": 3}}]
    fields = {"dataset": "iris", "preparation": "native", "inputs": "raw", "sides": sides}
    return {**fields, **changes}


def comparison_of(*agreements, reason="", comparison=ALIKE):
    splits = {f"f{i}": agreement for i, agreement in enumerate(agreements)}
    kept = to_json(comparison) if comparison else None
    return {"splits": splits, "comparison": kept, "split": "f0", "reason": reason}


def verdict(word, **changes):
    judged = named("mine", "theirs", "iris", "log_loss")
    fields = {"verdict": word, "preparation": "native", "params": ({}, {"depth": 3})}
    return replace(judged, **{**fields, **changes})


def parity(result, *accuracy, declared=None, **changes):
    (one,) = parities([(inputs_of(**changes), Status.DONE, result)], accuracy, declared or {})
    return one


@pytest.mark.parametrize(
    ("agreement", "raw", "bins"),
    [("bits", "L3", "L1"), ("values", "L2", "L1"), ("structure", "L1", "L1"),
     ("accuracy", "L0", "L0"), ("", "", "")],
)  # fmt: skip
def test_parity_level_combines_inputs_and_agreement(agreement, raw, bins):
    assert parity_level_of("raw", agreement) == raw
    assert parity_level_of("bins", agreement) == parity_level_of("gradients", agreement) == bins


def test_parity_levels_are_ordered():
    assert [parity_level_of("raw", agreement) for agreement in AGREEMENTS] == list(PARITY_LEVELS)
    for one, other in itertools.product(PARITY_LEVELS, repeat=2):
        assert reaches(one, other) == (lowest([one, other]) == other)
    assert reaches("L3", "L0")
    assert not reaches("", "L0")


def test_lowest_level_of_all_splits_counts():
    one = parity(comparison_of("bits", "values", "bits"))
    assert (one.parity_level, one.comparison, one.reason) == ("L2", ALIKE, "")
    assert (one.algorithm, one.reference, one.dataset) == ("mine", "theirs", "iris")
    assert one.split == "f0"
    assert dict(one.splits) == {"f0": "bits", "f1": "values", "f2": "bits"}
    assert parity(comparison_of("bits")).parity_level == "L3"
    assert parity(comparison_of("bits", "structure")).parity_level == "L1"
    assert parity(comparison_of("bits"), inputs="bins").parity_level == "L1"


@pytest.mark.parametrize("word", ["equivalent", "better", "worse", "inconclusive", ""])
def test_equivalent_accuracy_decides_if_trees_differ(word):
    judged = [verdict(word)] if word else []
    one = parity(comparison_of("bits", ""), *judged)
    assert one.parity_level == ("L0" if word == "equivalent" else "")
    assert one.splits["f1"] == ("accuracy" if word == "equivalent" else "")
    assert one.verdict == word
    assert parity(comparison_of("bits"), *judged).parity_level == "L3"


@pytest.mark.parametrize(
    "other",
    [{"dataset": "wine"}, {"preparation": "onehot"}, {"params": ({}, {})}, {"reference": "x"}],
    ids=str,
)
def test_unrelated_verdict_decides_nothing(other):
    assert parity(comparison_of(""), verdict("equivalent", **other)).parity_level == ""


def test_missing_comparison_reaches_no_tree_level():
    one = parity(comparison_of(comparison=None, reason="no trees"), verdict("equivalent"))
    assert (one.parity_level, one.comparison, one.reason) == ("L0", None, "no trees")
    partly = parity(comparison_of("bits", reason="a split failed"), verdict("inconclusive"))
    assert partly.parity_level == ""


def test_claim_belongs_to_the_mode():
    levels = {"default": "L0", "scikit-learn": "L3"}
    declared = {"algorithms": {"mine": {"parity_levels": levels}}}
    assert parity(comparison_of("bits"), declared=declared).claimed == "L0"
    sides = inputs_of()["sides"]
    sides[0]["params"] = {"parity": "scikit-learn"}
    assert parity(comparison_of("bits"), declared=declared, sides=sides).claimed == "L3"
    assert parity(comparison_of("bits")).claimed == ""
