"""Tests of comparing ensembles: invariants of any two ensembles, and messages."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parity_kit import REGISTRY, edited, grow, put, renumbered, rows
from scipy.sparse import csr_matrix

from harness import ALL_TASKS, Missing, Task, Tree, TreeEnsemble
from harness.analysis.difference import comparison_from_json
from harness.analysis.parity import Side, Training, compare
from harness.analysis.parity.causes import ulps_between
from harness.analysis.parity.node_text import sketch
from harness.analysis.tree_text import as_text
from harness.core.errors import DataError
from harness.core.model import to_json

EVERY = [
    n
    for n in REGISTRY.names("algorithm")
    if n != "lightgbm.quantised" and REGISTRY.algorithm(n).tasks >= ALL_TASKS
]
MUTATIONS = ("none", "feature", "ulp", "threshold", "side", "value", "rounding", "cut", "weight")


# ------------------------------------------------------------------ of real libraries


@pytest.mark.parametrize("task", sorted(ALL_TASKS), ids=lambda t: t.value)
@pytest.mark.parametrize("name", EVERY)
def test_renumbered_nodes_give_an_equal_ensemble(name, task):
    training = rows(task, missing=REGISTRY.algorithm(name).accepts.missing)
    side = grow(name, task, training)
    for other in (side, renumbered(side, np.random.default_rng(1))):
        comparison = compare(side, other, training)
        assert (comparison.agreement, comparison.differences, comparison.worst) == ("bits", (), 0.0)
        assert comparison.alike == comparison.trees[0] == side.ensemble.n_trees
    shuffled = renumbered(side, np.random.default_rng(1)).ensemble
    if side.ensemble.n_nodes > 8 * side.ensemble.n_trees:
        assert not np.array_equal(shuffled.threshold, side.ensemble.threshold)


@pytest.mark.parametrize("name", ["sklearn.decision_tree", "xgboost.hist", "lightgbm.gbdt"])
def test_stored_comparison_is_read_back_equal(name):
    training = rows(Task.BINARY)
    one, other = (grow(name, Task.BINARY, training, max_depth=depth) for depth in (2, 4))
    comparison = compare(one, other, training)
    assert comparison.differences
    assert comparison_from_json(json.loads(json.dumps(to_json(comparison)))) == comparison


def test_sparse_rows_are_walked_like_the_library():
    X = np.round(np.random.default_rng(0).normal(size=(200, 4)), 0)
    y = X[:, 0] + 2 * (X[:, 1] == 0)
    training = Training(csr_matrix(X), y)
    side = grow("xgboost.exact", Task.REGRESSION, training)  # it treats an absent entry as missing
    e = side.ensemble
    node = int(np.flatnonzero(e.feature == 1)[0])
    other = edited(side, default_left=put(e.default_left, node, not e.default_left[node]))
    first = compare(side, other, training).differences[0]
    assert first.what == "missing side"
    assert first.moved > 0


# ------------------------------------------------------------------ of any ensembles


def random_tree(rng, depth=3):
    """Return a tree with splits near integers, and leaves that are not round numbers."""
    left, right = [-1], [-1]
    for node in range(2**depth - 1):
        if node < len(left) and rng.random() < 0.8:
            left[node], right[node] = len(left), len(left) + 1
            left += [-1, -1]
            right += [-1, -1]
    inner = np.array(left) >= 0
    n = len(left)
    return Tree(
        feature=np.where(inner, rng.integers(0, 3, n), -1),
        threshold=np.where(inner, rng.integers(-2, 3, n) + rng.choice([0.0, 0.5], n), 0.0),
        left=np.array(left),
        right=np.array(right),
        value=rng.normal(size=(n, 1)),
        default_left=rng.random(n) < 0.5,
        missing=rng.choice([Missing.NONE, Missing.NAN], n).astype(np.uint8),
    )


def random_case(seed, mutation):
    """Return two ensembles, of which the second has one change, and rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(30, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    trees = [random_tree(rng) for _ in range(3)]
    number = int(rng.integers(3))
    changed = [t if i != number else mutated(t, mutation, rng) for i, t in enumerate(trees)]
    if mutation == "cut":
        changed = trees[:2]
    one, other = (TreeEnsemble.join(t, n_features=3) for t in (trees, changed))
    if mutation == "weight":
        other = replace(other, weight=put(other.weight, number, 1.5))
    return Side(one, "one"), Side(other, "other"), Training(X, rng.normal(size=30))


def mutated(tree, mutation, rng):
    """Return a tree with one change, if it has the changed field."""
    inner, leaves = np.flatnonzero(tree.left >= 0), np.flatnonzero(tree.left < 0)
    nodes = leaves if mutation in {"value", "rounding"} else inner
    changes = {
        "value": ("value", lambda v: v + 0.25),
        "rounding": ("value", lambda v: np.nextafter(v, 9)),
        "feature": ("feature", lambda v: (v + 1) % 3),
        "ulp": ("threshold", lambda v: np.nextafter(v, 9)),
        "threshold": ("threshold", lambda v: v + 1),
        "side": ("default_left", lambda v: not v),
    }
    if mutation not in changes or not len(nodes):
        return tree
    name, change = changes[mutation]
    array, node = getattr(tree, name), int(rng.choice(nodes))
    return replace(tree, **{name: put(array, node, change(array[node]))})


cases = st.builds(random_case, st.integers(0, 10**6), st.sampled_from(MUTATIONS))


def slow_levels(one, other, tree, x, y, X, here):
    """Yield the agreement of each pair of nodes below (x, y), row by row."""
    if (one.left[x] < 0) != (other.left[y] < 0):
        yield ""
    elif one.left[x] < 0:
        values = [e.weight[tree] * e.value[n, 0] for e, n in ((one, x), (other, y))]
        close = math.isclose(*values, rel_tol=1e-6)
        yield "bits" if values[0] == values[1] else "values" if close else "structure"
    else:
        left, other_left = (
            [goes_left(e, n, X[row]) for row in here] for e, n in ((one, x), (other, y))
        )
        if one.feature[x] != other.feature[y] or left != other_left:
            yield ""
            return
        missing = np.full(3, np.nan)
        same = one.threshold[x] == other.threshold[y]
        yield (
            "bits"
            if same and goes_left(one, x, missing) == goes_left(other, y, missing)
            else "values"
        )
        for side, (p, q) in ((True, (one.left, other.left)), (False, (one.right, other.right))):
            rest = [row for row, went in zip(here, left, strict=True) if went is side]
            yield from slow_levels(one, other, tree, int(p[x]), int(q[y]), X, rest)


def goes_left(e, node, row):
    """Return True if a row goes left at a node."""
    value = row[e.feature[node]]
    if np.isnan(value):
        return bool(e.default_left[node] and e.missing[node] == Missing.NAN)
    return bool(value <= e.threshold[node])


def slow_verdict(a, b, training):
    """Return agreement and first differing tree, by comparing the path of every row."""
    one, other = a.ensemble, b.ensemble
    order, results, first = ["bits", "values", "structure", ""], ["bits"], None
    every = range(training.rows)
    for t in range(min(one.n_trees, other.n_trees)):
        roots = (int(one.offsets[t]), int(other.offsets[t]))
        levels = set(slow_levels(one, other, t, *roots, training.X, every))
        first = t if first is None and levels != {"bits"} else first
        results += levels
        if "" in levels:
            break
    if "" not in results and one.n_trees != other.n_trees:
        return "", min(one.n_trees, other.n_trees) if first is None else first
    return max(results, key=order.index), first


@given(cases)
def test_verdict_equals_a_comparison_of_every_row(case):
    a, b, training = case
    comparison = compare(a, b, training)
    agreement, tree = slow_verdict(a, b, training)
    assert comparison.agreement == agreement
    assert (comparison.differences[0].tree if comparison.differences else None) == tree
    assert [d.tree for d in comparison.differences] == sorted(
        d.tree for d in comparison.differences
    )


@given(cases, st.integers(0, 99))
def test_verdict_does_not_depend_on_node_numbers(case, seed):
    a, b, training = case
    again = compare(a, renumbered(b, np.random.default_rng(seed)), training)
    for one, other in zip(compare(a, b, training).differences, again.differences, strict=True):
        assert replace(one, b=None) == replace(other, b=None)


@given(cases)
def test_verdict_is_symmetric(case):
    a, b, training = case
    comparison, mirrored = compare(a, b, training), compare(b, a, training)
    assert (comparison.agreement, comparison.alike, comparison.worst) == (
        mirrored.agreement, mirrored.alike, mirrored.worst,
    )  # fmt: skip
    for one, other in zip(comparison.differences, mirrored.differences, strict=True):
        for name in ("level", "what", "tree", "path", "cause", "rows", "moved", "affected", "ulps"):
            assert getattr(one, name) == getattr(other, name), name
        assert (one.a, one.b) == (other.b, other.a)
        assert one.drawing == other.drawing[::-1]


@given(cases)
def test_training_predictions_differ_only_where_values_or_structure_differ(case):
    a, b, training = case
    comparison = compare(a, b, training)
    if comparison.agreement == "bits":
        assert np.array_equal(a.ensemble.raw(training.X), b.ensemble.raw(training.X))
    if comparison.agreement == "values":
        assert comparison.worst <= 1e-5


# ------------------------------------------------------------------ messages


def stump(threshold=0.5, feature=0, values=(1.0, 2.0), sets=None, **rest):
    tree = Tree(
        feature=np.array([feature, -1, -1]),
        threshold=np.array([threshold, 0.0, 0.0]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        value=np.array([[np.nan], [values[0]], [values[1]]]),
        sets=sets or {},
    )
    return TreeEnsemble.join([tree], n_features=2, **rest)


STEP = Training(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0]))


def test_less_and_at_most_are_equal_if_no_value_lies_between():
    below = float(np.nextafter(0.5, 0))
    same = compare(Side(stump(), "a"), Side(stump(below + 5e-17, comparison="<"), "b"), STEP)
    assert same.agreement == "values"
    exact = stump(float(np.nextafter(0.5, 1)), comparison="<")
    assert compare(Side(stump(), "a"), Side(exact, "b"), STEP).agreement == "bits"


def test_category_set_with_swapped_sides_is_reported():
    one, other = stump(sets={0: ([1], True)}), stump(sets={0: ([1], False)}, values=(2.0, 1.0))
    compared = compare(Side(one, "a"), Side(other, "b"), STEP)
    (result,) = compared.differences
    assert (compared.agreement, result.level, result.what, result.moved) == (
        "values",
        "bits",
        "sides",
        3,
    )
    assert "the same two parts of the rows, with left and right exchanged" in result.sentence


def test_comparison_continues_below_swapped_sides():
    def two_levels(members_left, limit):
        """Return a tree that splits on category 1 of column 0, then, on its left, of column 1."""
        left, right = ([1, -1, -1, -1, -1], [2, -1, -1, -1, -1])
        here, other = (1, 2) if members_left else (2, 1)
        left[here], right[here] = 3, 4
        value = np.zeros((5, 1))
        value[[other, 3, 4], 0] = 5.0, 1.0, 2.0
        tree = Tree(
            feature=put(put(np.full(5, -1), 0, 0), here, 1),
            threshold=put(np.zeros(5), here, limit),
            left=np.array(left),
            right=np.array(right),
            value=value,
            sets={0: ([1], members_left)},
        )
        return TreeEnsemble.join([tree], n_features=2)

    same = compare(Side(two_levels(True, 0.5), "a"), Side(two_levels(False, 0.5), "b"), STEP)
    assert [d.what for d in same.differences] == ["sides"]
    parted = compare(Side(two_levels(True, 0.5), "a"), Side(two_levels(False, 2.5), "b"), STEP)
    values = parted.differences[0]
    assert (values.level, values.what, values.path, values.path_b) == (
        "structure",
        "threshold",
        "L",
        "R",
    )
    assert "node L of one, R of the other (2 training rows)" in values.sentence
    marked = [next(line for line in lines if line.marked) for lines in values.drawing]
    assert [line.side for line in marked] == ["left", "right"]


def test_equal_number_in_another_precision_is_another_split():
    coarse = stump(0.1, input_dtype="float32")
    comparison = compare(Side(stump(0.1), "a"), Side(coarse, "b"), STEP)
    assert comparison.agreement == "values"
    assert "rounds or compares values in another way" in comparison.differences[0].sentence


def test_mean_of_one_tree_equals_the_tree():
    comparison = compare(Side(stump(), "a"), Side(stump(combination="mean"), "b"), STEP)
    assert comparison.agreement == "bits"


def test_different_link_is_reported():
    comparison = compare(Side(stump(), "a"), Side(stump(link="exp"), "b"), STEP)
    assert (comparison.agreement, comparison.differences[0].what) == ("structure", "link")
    assert "The prediction is the identity" in comparison.differences[0].sentence


def test_sums_in_another_precision_are_reported_if_all_leaves_agree():
    trees = [stump(values=(v, v)).tree(0) for v in (1.0, 2.0**-30)]
    one, other = (
        TreeEnsemble.join(trees, n_features=2, sum_dtype=dtype) for dtype in ("float64", "float32")
    )
    comparison = compare(Side(one, "a"), Side(other, "b"), STEP)
    assert (comparison.agreement, comparison.worst) == ("bits", 2.0**-30)


def test_nan_predictions_on_both_sides_are_no_difference():
    trees = [stump(values=(sign * math.inf, sign)).tree(0) for sign in (1.0, -1.0)]
    one, other = (TreeEnsemble.join(trees, n_features=2, link=link) for link in ("identity", "exp"))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        comparison = compare(Side(one, "a"), Side(other, "b"), STEP)
    assert comparison.worst == 1.0  # of the other rows: 0 and exp(0)


def test_without_rules_the_stored_gains_are_reported():
    def with_gain(gain, feature=0):
        e = stump(feature=feature)
        return Side(replace(e, gain=np.array([gain, 0.0, 0.0])), f"mine {feature}")

    for other, cause, words in (
        (2.0, "tie", "a tie"),
        (2.0 + 1e-7, "rounding", "rounding may have decided"),
        (1.5, "rule", "no tie"),
    ):
        (first,) = compare(with_gain(2.0), with_gain(other, 1), STEP).differences
        assert (first.cause, first.gains) == (cause, ())
        assert "without a reference library" in first.no_gains
        assert first.sentence.endswith(f"{words}.")
    (first,) = compare(Side(stump(), "a"), Side(stump(feature=1), "b"), STEP).differences
    assert first.cause == ""
    assert "which is better is not known" in first.sentence


def test_rows_of_wrong_width_are_refused():
    with pytest.raises(DataError, match="have 2 columns but the training rows have 3"):
        compare(Side(stump(), "a"), Side(stump(), "b"), Training(np.zeros((4, 3)), np.zeros(4)))


@pytest.mark.parametrize("e", [stump(), TreeEnsemble.join([], n_features=2)])
def test_ensemble_without_trees_can_be_compared(e):
    empty = TreeEnsemble.join([], n_features=2, base=np.array([1.0]))
    comparison = compare(Side(e, "a"), Side(empty, "b"), STEP)
    whats = ["base score"] if e.n_trees == 0 else ["base score", "number of trees"]
    assert [d.what for d in comparison.differences] == whats


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (math.inf, math.inf, []),
        (math.inf, -math.inf, [("values", "base score")]),
        (math.inf, 1.0, [("values", "base score")]),
        (1.0, math.nextafter(1.0, 2.0), [("bits", "base score")]),
    ],
)
def test_infinite_base_scores_without_trees_are_compared_as_values(one, other, message):
    a, b = (TreeEnsemble.join([], n_features=2, base=np.array([base])) for base in (one, other))
    result = compare(Side(a, "a"), Side(b, "b"), STEP).differences
    assert [(d.level, d.what) for d in result] == message


def test_two_models_of_one_name_are_distinguished():
    first = compare(Side(stump(), "x"), Side(stump(0.6), "x"), STEP).differences[0]
    assert "x (A) splits on “c0 <= 0.5” and x (B) on “c0 <= 0.6”" in first.sentence


@pytest.mark.parametrize(
    ("one", "other", "dtype", "steps"),
    [
        (0.5, 0.5, "float64", (0, "float64")),
        (1.0, 1 + 2**-52, "float64", (1, "float64")),
        (1.0, 1 + 2**-23, "float32", (1, "float32")),
        (1.0, 1 + 2**-30, "float32", (2**22, "float64")),
        (-5e-324, 5e-324, "float64", (2, "float64")),
        (0.0, -0.0, "float64", (0, "float64")),
        (math.inf, 1.7976931348623157e308, "float64", (1, "float64")),
        (math.nan, 1.0, "float64", (None, "float64")),
    ],
)
def test_steps_between_two_numbers(one, other, dtype, steps):
    assert ulps_between(one, other, dtype) == steps
    assert ulps_between(other, one, dtype) == steps


# ------------------------------------------------------------------ drawings


def test_drawing_shows_the_path_and_the_subtree():
    training = replace(rows(Task.REGRESSION), columns=["size", "a very long name " * 5, "\x1b[31m"])
    side = grow("sklearn.decision_tree", Task.REGRESSION, training)
    lines = sketch(side.ensemble, 0, "LRLRLR", training)
    assert [line.depth for line in lines[:3]] == [0, 1, 2]
    assert "2 more on the way" in lines[1].text
    (marked,) = [line for line in lines if line.marked]
    assert marked.shape in {"split", "leaf"}
    assert max(line.depth for line in lines) <= marked.depth + 2
    assert max(len(line.text) for line in lines) < 80
    for line in lines:
        below = [x for x in lines if x.depth == line.depth + 1]
        assert sum(x.rows for x in below) <= sum(x.rows for x in lines if x.depth == line.depth)


def test_two_drawings_are_side_by_side():
    lines = sketch(stump(), 0, "R", STEP)
    assert as_text(("A: one", "B: other"), (lines, lines[:2])).split("\n") == [
        "A: one                         B: other",
        "c0 <= 0.5  (3 rows)            c0 <= 0.5  (3 rows)",
        "├─ left: leaf 1  (1 row)       └─ left: leaf 1  (1 row)",
        "└─ right: ▶ leaf 2  (2 rows)",
    ]
