"""Tests that faults planted in library trees are named at the right tree and node."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from parity_kit import (
    N,
    edited,
    grow,
    node_at,
    places,
    put,
    rebuilt,
    rows,
    rows_at,
    with_split,
)

from harness import ALL_TASKS, Task
from harness.analysis.parity import Training, compare
from harness.analysis.parity.node_text import split_text
from harness.analysis.parity.split_equality import left_categories
from harness.worker.arrays import category_names

TREES = (
    "sklearn.decision_tree",
    "sklearn.gradient_boosting",
    "sklearn.hist_gradient_boosting",
    "xgboost.exact",
    "xgboost.hist",
    "lightgbm.gbdt",
)
BOOSTED = TREES[1:]
THREE = ("xgboost.exact", "lightgbm.gbdt", "sklearn.hist_gradient_boosting")
RATED = ("xgboost.hist", *THREE[1:])


def headline(one, other, training):
    """Return the comparison and its first difference."""
    comparison = compare(one, other, training)
    return comparison, comparison.differences[0]


def inner_nodes(e, tree, depth=0):
    """Return (path, node) of the splits of a tree from a depth on."""
    return [(p, n) for p, n in places(e, tree) if e.left[n] >= 0 and len(p) >= depth]


def last_tree(side):
    return side.ensemble.n_trees - 1


# ------------------------------------------------------------------ a wrong tie-break


@pytest.mark.parametrize("name", TREES)
def test_wrong_tie_break_is_named_a_tie(name):
    training = rows(Task.REGRESSION, copies=1)
    side = grow(name, Task.REGRESSION, training)
    e, tree = side.ensemble, last_tree(side)
    on_copied = [(p, n) for p, n in inner_nodes(e, tree, 1) if e.feature[n] in {0, 5}]
    path, node = on_copied[0]
    other = edited(side, feature=put(e.feature, node, 5 - e.feature[node]))
    comparison, first = headline(side, other, training)
    assert (comparison.agreement, comparison.alike) == ("", tree)
    assert (first.level, first.what, first.tree, first.path) == ("structure", "feature", tree, path)
    assert first.cause == "tie"
    assert (first.moved, first.others) == (0, 0)
    assert first.rows == len(rows_at(training, e, tree, path))
    assert "tie" in first.sentence


@pytest.mark.parametrize("name", THREE)
def test_other_column_order_of_ties_is_named(name):
    training = rows(Task.REGRESSION, copies=5)
    side = grow(name, Task.REGRESSION, training)
    order = np.arange(10)[::-1]
    mirrored = grow(name, Task.REGRESSION, replace(training, X=training.X[:, order]))
    e = mirrored.ensemble
    other = edited(mirrored, feature=np.where(e.feature < 0, -1, order[e.feature]))
    comparison, first = headline(side, other, training)
    assert (comparison.alike, first.tree, first.path) == (0, 0, "")
    assert (first.what, first.cause) == ("feature", "tie")
    assert first.a.text.split()[0] != first.b.text.split()[0]
    assert first.a.text.split()[1:] == first.b.text.split()[1:]


@pytest.mark.parametrize("task", sorted(ALL_TASKS), ids=lambda t: t.value)
def test_another_seed_of_an_exact_tree_only_breaks_ties_differently(task):
    training = rows(task, copies=2)
    one, other = (
        grow("sklearn.decision_tree", task, training, random_state=seed) for seed in (0, 1)
    )
    _, first = headline(one, other, training)
    assert (first.level, first.what, first.cause) == ("structure", "feature", "tie")
    assert first.gains[0].a == pytest.approx(first.gains[0].b, rel=1e-9)


# ------------------------------------------------------------------ a threshold off by one ulp


@pytest.mark.parametrize("name", TREES)
def test_threshold_off_by_one_ulp(name):
    training = rows(Task.REGRESSION)
    side = grow(name, Task.REGRESSION, training)
    e, tree = side.ensemble, last_tree(side)
    path, node = inner_nodes(e, tree, 1)[-1]
    exact = "float32" if name.startswith("xgboost") else "float64"
    dtype = np.dtype(exact).type
    # upwards with <=, downwards with <: away from the value that the threshold may stand on
    towards = dtype(np.inf if e.comparison == "<=" else -np.inf)
    moved = float(np.nextafter(dtype(e.threshold[node]), towards))
    values = training.column(int(e.feature[node]))[rows_at(training, e, tree, path)]
    assert moved not in values.astype(e.input_dtype)
    other = edited(side, threshold=put(e.threshold, node, moved))
    comparison, first = headline(side, other, training)
    assert comparison.agreement == "values"
    assert (first.level, first.what, first.tree, first.path) == ("bits", "threshold", tree, path)
    assert (first.ulps, first.ulps_of, first.moved, first.affected) == (1, exact, 0, 0)
    assert first.cause == "rounding"
    assert "no training row lies between" in first.sentence.lower()
    assert first.a.text != first.b.text
    assert comparison.worst == 0.0


def test_threshold_off_by_one_ulp_at_a_training_value():
    training = rows(Task.REGRESSION)
    side = grow("xgboost.hist", Task.REGRESSION, training)  # its thresholds are data values
    e = side.ensemble
    path, node = inner_nodes(e, 2, 1)[0]
    moved = np.nextafter(np.float32(e.threshold[node]), np.float32(np.inf))
    comparison, first = headline(
        side, edited(side, threshold=put(e.threshold, node, moved)), training
    )
    reach = rows_at(training, e, 2, path)
    on_it = training.column(int(e.feature[node]))[reach].astype(np.float32) == e.threshold[node]
    assert comparison.agreement == ""
    assert (first.what, first.tree, first.path, first.ulps) == ("threshold", 2, path, 1)
    assert first.moved == on_it.sum() > 0
    assert first.cause == "rounding"
    assert first.gains[0].a > first.gains[0].b
    assert "between the two, which are 1 float32 step apart" in first.sentence


# ------------------------------------------------------------------ γ forgotten


def test_missing_gamma_is_a_split_of_one_side_only():
    training = rows(Task.REGRESSION)
    side = grow("xgboost.exact", Task.REGRESSION, training, gamma=3.0)
    greedy = grow("xgboost.exact", Task.REGRESSION, training)
    _, first = headline(side, greedy, training)
    assert (first.level, first.what, first.tree) == ("structure", "leaf or split", 0)
    one, other = side.ensemble, greedy.ensemble
    expected = next(
        p for p, n in places(one, 0) if one.left[n] < 0 <= other.left[node_at(other, 0, p)]
    )
    assert first.path == expected
    assert first.cause == "rule"
    assert 0 < first.gains[0].b < 3.0
    assert first.gains[0].a is None
    assert "gamma 3.0 and unset" in first.sentence
    assert first.a.rows == (first.rows,)
    assert sum(first.b.rows) == first.rows == first.moved


@pytest.mark.parametrize("name", BOOSTED)
def test_extra_split_is_named_with_its_node(name):
    training = rows(Task.REGRESSION)
    side = grow(name, Task.REGRESSION, training)
    e, tree = side.ensemble, last_tree(side)
    leaves = [(p, n) for p, n in places(e, tree) if e.left[n] < 0]
    path, leaf = leaves[len(leaves) // 2]
    values = training.column(3)[rows_at(training, e, tree, path)]
    limit = float(np.float32(np.median(values) + 0.01))

    def change(number, held):
        local = leaf - int(e.offsets[tree])
        return with_split(held, local, 3, limit, [1.0, -1.0]) if number == tree else held

    comparison, first = headline(side, rebuilt(side, change), training)
    assert (comparison.agreement, comparison.alike) == ("", tree)
    assert (first.what, first.tree, first.path) == ("leaf or split", tree, path)
    assert (first.a.number, first.rows) == (leaf - int(e.offsets[tree]), len(values))
    assert first.b.rows == ((values <= limit).sum(), (values > limit).sum())


# ------------------------------------------------------------------ a swapped default direction


@pytest.mark.parametrize("name", THREE)
def test_swapped_default_direction(name):
    training = rows(Task.REGRESSION, missing=True)
    side = grow(name, Task.REGRESSION, training)
    e, tree = side.ensemble, last_tree(side)
    for path, node in inner_nodes(e, tree, 1):
        reach = rows_at(training, e, tree, path)
        missing = int(np.isnan(training.column(int(e.feature[node]))[reach]).sum())
        other = edited(side, default_left=put(e.default_left, node, not e.default_left[node]))
        comparison, first = headline(side, other, training)
        assert (first.what, first.tree, first.path) == ("missing side", tree, path)
        assert {first.a.missing, first.b.missing} == {"left", "right"}
        assert first.moved == missing
        if missing:
            assert (first.level, comparison.agreement) == ("structure", "")
            assert first.cause == ("tie" if first.relative < 1e-9 else "rule")
        else:
            assert (first.level, comparison.agreement, first.cause) == ("bits", "values", "tie")


# ------------------------------------------------------------------ a learning rate applied twice


@pytest.mark.parametrize("name", RATED)
@pytest.mark.parametrize("tree", [0, 2])
def test_learning_rate_applied_twice(name, tree):
    training = rows(Task.REGRESSION)
    side = grow(name, Task.REGRESSION, training, learning_rate=0.1)
    e = side.ensemble
    values = np.array(e.value)
    values[e.offsets[tree] :] *= 0.1
    comparison, first = headline(side, edited(side, value=values), training)
    assert comparison.agreement == "structure"
    path, leaf = next((p, n) for p, n in places(e, tree) if e.left[n] < 0)
    assert (first.level, first.what) == ("values", "leaf value")
    assert (first.tree, first.path, first.a.number) == (tree, path, leaf - int(e.offsets[tree]))
    assert first.scale == pytest.approx(0.1)
    assert first.cause == "rule"
    assert "0.1 is the learning rate, which " in first.sentence
    assert "(B) applies once more" in first.sentence
    assert first.affected == N


def test_learning_rate_applied_twice_through_tree_weights():
    training = rows(Task.BINARY)
    side = grow("sklearn.gradient_boosting", Task.BINARY, training)
    other = edited(side, weight=side.ensemble.weight * 0.1)
    comparison, first = headline(other, side, training)
    assert (first.what, first.tree, comparison.agreement) == ("leaf value", 0, "structure")
    assert first.scale == pytest.approx(10)
    assert "which sklearn.gradient_boosting (A) applies once more" in first.sentence


def test_tree_after_a_shrunken_one_is_reported_too():
    training = rows(Task.REGRESSION)
    one, other = (
        grow("xgboost.exact", Task.REGRESSION, training, learning_rate=rate) for rate in (0.3, 0.09)
    )
    comparison = compare(one, other, training)
    assert [(d.level, d.tree) for d in comparison.differences] == [("values", 0), ("structure", 1)]
    assert comparison.differences[0].scale == pytest.approx(0.3)
    assert comparison.alike == 1


# ------------------------------------------------------------------ a float32 sum


def test_leaves_summed_in_single_precision():
    training = rows(Task.REGRESSION)
    side = grow("sklearn.decision_tree", Task.REGRESSION, training, max_depth=4)
    e = side.ensemble
    values = np.array(e.value)
    for path, node in places(e, 0):
        if e.left[node] < 0:
            y = training.y[rows_at(training, e, 0, path)].astype(np.float32)
            values[node] = np.cumsum(y, dtype=np.float32)[-1] / np.float32(len(y))
    comparison, first = headline(side, edited(side, value=values), training)
    changed = [(p, n) for p, n in places(e, 0) if e.left[n] < 0 and values[n] != e.value[n]]
    assert (first.what, first.cause, first.tree) == ("leaf value", "rounding", 0)
    assert first.path in {path for path, _ in changed}
    if comparison.agreement == "values":
        assert (first.path, first.others) == (changed[0][0], len(changed) - 1)
    assert 0 < first.relative < 1e-5
    assert "sums in single precision" in first.sentence


def test_split_explained_by_single_precision_sums_only():
    """Two splits of nearly the same gain, distinguished by double precision only."""
    half = np.arange(N) < N // 2
    nearly = half.copy()
    nearly[[0, N // 2]] = [False, True]  # two rows change sides
    y = np.random.default_rng(0).normal(size=N) + 1000.0
    y[0] = y[N // 2] + 1e-6  # and are all but the same
    X = np.column_stack([half, nearly]).astype(float)
    training = Training(X, y)
    side = grow("sklearn.decision_tree", Task.REGRESSION, training, max_depth=1)
    e = side.ensemble
    _, first = headline(side, edited(side, feature=put(e.feature, 0, 1 - e.feature[0])), training)
    assert (first.what, first.cause) == ("feature", "rounding")
    assert first.gains[0].resolution < abs(first.gains[0].a - first.gains[0].b)


# ------------------------------------------------------------------ category sets


@pytest.fixture(scope="module")
def categorical():
    """LightGBM on a column of 30 categories, and its training rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, N)
    X = pd.DataFrame({"c0": np.round(rng.normal(size=N), 1)})
    X["c1"] = pd.Categorical.from_codes(codes, categories=pd.RangeIndex(30))
    training = Training(X, (codes % 7) + X["c0"].to_numpy(), columns=["size", "city"])
    params = {"min_data_per_group": 5, "cat_smooth": 1.0}
    return grow("lightgbm.gbdt", Task.REGRESSION, training, (1,), **params), training


def with_set(side, node, listed):
    """Return a side in which one node lists other codes."""

    def change(number, tree):
        first, last = side.ensemble.offsets[number : number + 2]
        if not first <= node < last:
            return tree
        return replace(tree, sets={**tree.sets, int(node - first): (listed, True)})

    return rebuilt(side, change)


def test_drawn_splits_name_their_categories(categorical) -> None:
    side, _ = categorical
    e = side.ensemble
    node = next(int(n) for n in range(len(e.categories)) if e.categories[n] >= 0)
    codes = left_categories(e, node)[1][:6]
    index = pd.Index([f"town {i}" for i in range(30)])
    names = category_names({1: (index, np.array([*range(30), np.nan]))})
    assert names == {1: [*index]}
    turned = category_names({1: (index[:2], np.array([1.0, 0.0, 2.0]))})
    assert turned == {1: ["town 1", "town 0", "missing"]}, "by prepared code"
    arrays = {"X": np.empty((1, 2)), "y": np.empty(1), "columns": ["size", "city"]}
    named = Training.from_arrays({**arrays, "categories": np.asarray(json.dumps(names))})
    assert ", ".join(f"town {code}" for code in codes) in split_text(e, node, named)
    unnamed = Training.from_arrays(arrays)
    assert ", ".join(map(str, codes)) in split_text(e, node, unnamed)
    assert named.category(1, 99) == "99"


def set_nodes(e, tree):
    return [(p, n) for p, n in inner_nodes(e, tree) if e.categories[n] >= 0]


def codes_of(e, node):
    k = e.categories[node]
    return e.set_codes[e.set_indptr[k] : e.set_indptr[k + 1]].tolist()


def test_category_missing_from_a_set(categorical):
    side, training = categorical
    e = side.ensemble
    path, node = set_nodes(e, 1)[0]
    reach = training.column(1)[rows_at(training, e, 1, path)]
    gone = next(code for code in codes_of(e, node) if code in reach)
    kept = [code for code in codes_of(e, node) if code != gone]
    comparison, first = headline(side, with_set(side, node, kept), training)
    assert comparison.agreement == ""
    assert (first.what, first.tree, first.path) == ("category set", 1, path)
    assert first.moved == (reach == gone).sum()
    assert "city in {" in first.a.text


def test_category_without_rows_changes_bits_only(categorical):
    side, training = categorical
    e = side.ensemble
    path, node = set_nodes(e, 0)[-1]
    reach = training.column(1)[rows_at(training, e, 0, path)]
    absent = next(code for code in range(30, 40) if code not in reach)
    other = with_set(side, node, sorted([*codes_of(e, node), absent]))
    comparison, first = headline(side, other, training)
    assert comparison.agreement == "values"
    assert (first.level, first.what, first.path) == ("bits", "category set", path)
    assert (first.moved, first.cause) == (0, "tie")


# ------------------------------------------------------------------ other faults


def test_worse_split_is_a_rule_and_the_side_is_named():
    training = rows(Task.BINARY)
    side = grow("sklearn.decision_tree", Task.BINARY, training, max_depth=3)
    e = side.ensemble
    node = node_at(e, 0, "R")
    other = edited(side, feature=put(e.feature, node, 4), threshold=put(e.threshold, node, 0.123))
    _, first = headline(side, other, training)
    assert (first.path, first.cause) == ("R", "rule")
    assert first.gains[0].a == pytest.approx(e.gain[node])
    assert first.gains[0].a > first.gains[0].b
    assert "(B) did not take the better split" in first.sentence
    mirrored = compare(other, side, training).differences[0]
    assert "(A) did not take the better split" in mirrored.sentence
    assert "bins" not in mirrored.sentence


def test_binned_engine_is_not_blamed_for_impossible_thresholds():
    training = rows(Task.REGRESSION)
    side = grow("sklearn.hist_gradient_boosting", Task.REGRESSION, training, max_iter=1)
    e = side.ensemble
    node = node_at(e, 0, "R")
    other = edited(side, feature=put(e.feature, node, 4), threshold=put(e.threshold, node, 0.123))
    _, first = headline(side, other, training)
    assert (first.path, first.cause) == ("R", "rule")
    assert "(B) did not take the better split" in first.sentence
    assert first.sentence.endswith("which may lie between its bins.")


def test_with_another_criterion_each_side_is_right_by_its_own_sums():
    training = rows(Task.BINARY)
    sides = [
        grow("sklearn.decision_tree", Task.BINARY, training, criterion=criterion)
        for criterion in ("gini", "entropy")
    ]
    _, first = headline(*sides, training)
    assert [g.criterion for g in first.gains] == ["Gini impurity", "entropy"]
    assert first.gains[0].a > first.gains[0].b
    assert first.gains[1].a < first.gains[1].b
    assert first.cause == "rule"
    assert "each took the better split by its own sums" in first.sentence


@pytest.mark.parametrize("name", ["xgboost.exact", "sklearn.hist_gradient_boosting"])
def test_wrong_base_score(name):
    training = rows(Task.REGRESSION)
    side = grow(name, Task.REGRESSION, training)
    comparison, first = headline(side, edited(side, base=side.ensemble.base + 0.5), training)
    assert (comparison.agreement, first.what, first.tree) == ("structure", "base score", 0)
    assert first.shift == pytest.approx(0.5)
    assert "The scores start from" in first.sentence


def test_base_score_inside_the_first_tree_is_equal():
    training = rows(Task.MULTICLASS)
    side = grow("sklearn.hist_gradient_boosting", Task.MULTICLASS, training)
    e = side.ensemble
    values = np.array(e.value)
    for tree in range(3):
        here = slice(*e.offsets[tree : tree + 2])
        values[here] += e.base[tree]
    comparison = compare(side, edited(side, value=values, base=np.zeros(3)), training)
    assert (comparison.agreement, comparison.differences) == ("bits", ())


def test_missing_trees_are_counted():
    training = rows(Task.REGRESSION)
    side = grow("xgboost.hist", Task.REGRESSION, training)
    other = grow("xgboost.hist", Task.REGRESSION, training, n_estimators=2)
    comparison, first = headline(side, other, training)
    assert (comparison.agreement, comparison.trees, comparison.alike) == ("", (4, 2), 2)
    assert (first.what, first.tree) == ("number of trees", 2)
    assert "There are 4 in" in first.sentence


def test_wrong_vote_weight():
    training = rows(Task.BINARY)
    side = grow("sklearn.adaboost", Task.BINARY, training)
    e = side.ensemble
    comparison, first = headline(
        side, edited(side, weight=put(e.weight, 2, e.weight[2] * 1.5)), training
    )
    assert (comparison.agreement, first.what, first.tree) == ("structure", "tree weight", 2)
    near = edited(side, weight=put(e.weight, 2, np.nextafter(e.weight[2], 9)))
    comparison, first = headline(side, near, training)
    assert (comparison.agreement, first.what, first.cause) == ("values", "tree weight", "rounding")


def test_trees_adding_to_other_outputs():
    training = rows(Task.MULTICLASS)
    side = grow("xgboost.hist", Task.MULTICLASS, training)
    output = put(side.ensemble.output, [4, 5], [2, 1])
    _, first = headline(side, edited(side, output=output), training)
    assert (first.what, first.tree) == ("output", 4)
    assert "adds to output 1 in" in first.sentence


def test_other_ensemble_form_is_reported_and_structure_still_compared():
    training = rows(Task.BINARY)
    forest = grow("sklearn.random_forest", Task.BINARY, training)
    boosted = grow("sklearn.adaboost", Task.BINARY, training)
    comparison = compare(forest, boosted, training)
    form, structure = comparison.differences[:2]
    assert (form.what, structure.level) == ("form", "structure")
    assert "Their leaves cannot be compared" in form.sentence


def test_rounding_of_base_scores_changes_no_leaf():
    training = rows(Task.REGRESSION)
    side = grow("xgboost.exact", Task.REGRESSION, training)
    e = side.ensemble
    leaf = int(np.flatnonzero(e.left[: e.offsets[1]] < 0)[0])
    values = put(e.value, leaf, -e.base * (1.0 + 1e-4))  # leaf and base all but cancel
    one, other = (edited(side, value=values, base=e.base * k) for k in (1.0, 1.0 + 5e-7))
    comparison, first = headline(one, other, training)
    assert (comparison.agreement, first.what, first.cause) == ("values", "base score", "rounding")
    assert "The scores start from" in first.sentence
    assert len(comparison.differences) == 1


def test_small_leaf_differences_are_not_reported_as_factors():
    training = rows(Task.REGRESSION)
    side = grow("xgboost.exact", Task.REGRESSION, training)
    off = 1.0 + 4e-6 * np.random.default_rng(0).uniform(0.5, 1.0, side.ensemble.value.shape)
    comparison, first = headline(side, edited(side, value=side.ensemble.value * off), training)
    assert (comparison.agreement, first.what, first.scale) == ("structure", "leaf value", None)
    assert "relative difference" in first.sentence
