"""Tests of metafeatures and of the tree that predicts winners."""

import numpy as np
import pytest

from harness.analysis.all_pairs import Field
from harness.analysis.metafeatures import metafeatures_of, winner_tree


def field_of_winners(winners: list[str]) -> Field:
    """Return a field in which the named algorithm has the least loss on each dataset."""
    names = ("a", "b", "c")
    losses = np.array([[float(name != winner) for name in names] for winner in winners])
    datasets = tuple(f"d{i}" for i in range(len(winners)))
    return Field(names, datasets, losses, np.ones(len(winners)), ())


def features(rows: list[float], noise: int = 0) -> dict[str, dict[str, float]]:
    random = np.random.default_rng(noise)
    return {f"d{i}": {"rows": n, "noise": random.normal()} for i, n in enumerate(rows)}


def test_tree_names_the_metafeature_that_decides() -> None:
    rows = [100.0] * 8 + [5000.0] * 6
    tree = winner_tree(field_of_winners(["a"] * 8 + ["b"] * 6), features(rows))
    assert tree is not None
    assert tree.importances == {"rows": 1.0}
    assert "rows <= 2550.00" in tree.text
    assert "class: a" in tree.text
    assert (tree.hits, tree.frequent_hits) == (14, 8)
    assert tree.p == pytest.approx(2 * 0.5**6)  # six differences, all in favor of the tree
    assert tree.winners["d13"] == "b"


def test_tree_of_unrelated_metafeatures_is_not_better_than_the_frequent_winner() -> None:
    winners = ["a", "b"] * 6 + ["a"] * 8
    tree = winner_tree(field_of_winners(winners), features([1.0] * 20))
    assert tree is not None
    assert tree.hits <= tree.frequent_hits == 14
    assert tree.p > 0.05


def test_few_datasets_or_a_single_winner_make_no_tree() -> None:
    assert winner_tree(field_of_winners(["a", "b", "c"] * 3), features([1.0] * 9)) is None
    assert winner_tree(field_of_winners(["a"] * 12), features([1.0] * 12)) is None


def test_as_many_winners_as_half_of_the_datasets_make_no_tree() -> None:
    names = tuple("abcdef")
    losses = 1.0 - np.tile(np.eye(6), (2, 1))
    field = Field(names, tuple(f"d{i}" for i in range(12)), losses, np.ones(12), ())
    assert winner_tree(field, features([float(i) for i in range(12)])) is None


def test_metafeatures_come_from_declared_facts() -> None:
    facts = {"rows": 100, "columns": 4, "categorical": 1, "n_classes": 3, "missing": True}
    found = metafeatures_of(facts, ())
    assert found["rows per column"] == 25.0
    assert found["share of categorical columns"] == 0.25
    assert (found["missing values (0 or 1)"], found["sparse (0 or 1)"]) == (1.0, 0.0)
    assert metafeatures_of({}, ())["rows"] == 0.0
