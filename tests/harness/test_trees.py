"""Tests of the tree format: refusals, storage and prediction."""

import dataclasses
import io
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from harness.core.errors import DataError
from harness.trees import predict
from harness.trees.ensemble import Missing, Tree, TreeEnsemble

NAN, INF = math.nan, math.inf


def stump(threshold=0.5, left=1.0, right=2.0, **kwargs):
    """Return a root and two leaves; ``left`` and ``right`` are numbers or lists of them."""
    values = [np.atleast_1d(np.asarray(v, float)) for v in (left, right)]
    return Tree(
        feature=np.array([0, -1, -1]),
        threshold=np.array([threshold, 0.0, 0.0]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        value=np.stack([np.full_like(values[0], NAN), *values]),
        **kwargs,
    )


def of(*trees, **kwargs):
    return TreeEnsemble.join(trees, n_features=kwargs.pop("n_features", 1), **kwargs)


def column(*values):
    return np.array(values, float)[:, None]


# ------------------------------------------------------------------ one decision


def test_comparison_defines_where_equal_values_go():
    X = column(0.4, 0.5, 0.6)
    assert of(stump()).predict(X).tolist() == [1, 1, 2]
    assert of(stump(), comparison="<").predict(X).tolist() == [1, 2, 2]


def test_x_is_rounded_to_the_input_dtype_before_comparison():
    threshold = float(np.float32(0.1))  # above 0.1
    X = column(0.1, np.nextafter(threshold, 1), 0.1 + 1e-6, 1e300)
    assert of(stump(threshold)).predict(X).tolist() == [1, 2, 2, 2]
    assert of(stump(threshold), input_dtype="float32").predict(X).tolist() == [1, 1, 2, 2]


def test_values_near_zero_may_be_read_as_zero():
    X = column(-2e-35, -1e-35, 0.0, 1e-35)
    assert of(stump(-1e-35)).predict(X).tolist() == [1, 1, 2, 2]
    assert of(stump(-1e-35), zero_within=1e-35).predict(X).tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        (Missing.NONE, []),
        (Missing.NAN, [NAN]),
        (Missing.ZERO, [NAN, 0.0, -0.0]),
        (Missing.NAN_AS_ZERO, []),
    ],
)
def test_missing_values_take_the_default_side(kind, missing, default_left):
    ensemble = of(
        stump(-0.5, default_left=np.full(3, default_left), missing=np.full(3, kind, np.uint8))
    )
    for x in (NAN, 0.0, -0.0, 1e-36, 1e-34, -1.0, INF, -INF):
        read = 0.0 if math.isnan(x) and kind is Missing.NAN_AS_ZERO else x
        is_missing = any(x == m or (math.isnan(x) and math.isnan(m)) for m in missing)
        left = default_left if is_missing else read <= -0.5
        assert ensemble.predict(column(x)).tolist() == [1.0 if left else 2.0], x


@pytest.mark.parametrize("members_left", [True, False])
def test_members_of_a_category_set_go_to_its_side_and_others_to_the_other(members_left):
    missing = {"default_left": np.full(3, True), "missing": np.full(3, Missing.NAN, np.uint8)}
    ensemble = of(stump(sets={0: ([7, 2], members_left)}, **missing))
    side = {True: 1.0, False: 2.0}
    X = column(2, 7, 0, 3, 99, -1, 2.9, 1e12, INF)
    is_member = [True, True, False, False, False, False, True, False, False]
    assert ensemble.predict(X).tolist() == [side[m == members_left] for m in is_member]
    assert ensemble.predict(column(NAN)).tolist() == [1.0]


def test_empty_category_set_sends_everything_to_the_other_side():
    assert of(stump(sets={0: ([], True)})).predict(column(0, 1)).tolist() == [2, 2]


# ------------------------------------------------------------------ combinations and links


def test_sums_keep_dtype_and_order():
    big, small = 2.0**24, 1.0  # in float32, big + 1 is big
    trees = [stump(0, v, v) for v in (small, small, big)]
    assert of(*trees, sum_dtype="float32").predict(column(0)).tolist() == [big + 2]
    assert of(*trees[::-1], sum_dtype="float32").predict(column(0)).tolist() == [big]
    assert of(*trees[::-1]).predict(column(0)).tolist() == [big + 2]
    first = of(*trees[:2], base=np.array([big]), sum_dtype="float32")
    last = dataclasses.replace(first, base_first=False)
    assert first.raw(column(0)).tolist() == [[big]]
    assert last.raw(column(0)).tolist() == [[big + 2]]
    assert last.raw(column(0)).dtype == np.float32


def test_trees_add_to_the_outputs_they_are_mapped_to():
    ensemble = of(
        stump(left=1), stump(left=10), stump(left=100),
        output=np.array([1, 0, 1]), base=np.array([0.5, 0.25]), weight=np.array([1, 2, 3]),
    )  # fmt: skip
    assert ensemble.raw(column(0)).tolist() == [[20.5, 301.25]]


def test_mean_and_vote_are_weighted():
    trees = [
        stump(0, [0.9, 0.1], [0, 1]),
        stump(0, [0.4, 0.6], [0, 1]),
        stump(0, [0.5, 0.5], [0, 1]),
    ]
    weight = np.array([1.0, 2.0, 1.0])
    common = {"weight": weight, "classes": (0, 1)}
    mean = of(*trees, combination="mean", **common).predict(column(-1))
    np.testing.assert_allclose(mean, [[(0.9 + 0.8 + 0.5) / 4, (0.1 + 1.2 + 0.5) / 4]])
    vote = of(*trees, combination="vote", **common).predict(column(-1))
    assert vote.tolist() == [[0.5, 0.5]]  # a tie within a tree goes to the first class
    samme = of(*trees, combination="vote", against=-1.0, **common).predict(column(-1))
    assert samme.tolist() == [[0.0, 0.0]]


@given(
    members=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 6)), min_size=1, max_size=7),
)
def test_median_is_the_smallest_member_reaching_half_of_the_weight(members):
    values, weight = zip(*members, strict=True)
    trees = [stump(0, v, v) for v in values]
    predictions = of(*trees, weight=np.array(weight, float), combination="median").predict(
        column(0)
    )[0]
    reached = [sum(w for v, w in members if v <= x) for x in values]
    assert predictions == min(
        x for x, r in zip(values, reached, strict=True) if 2 * r >= sum(weight)
    )


def test_links():
    both = of(stump(0, [1.0, 3.0], [3.0, 1.0]), link="softmax", classes=(0, 1))
    e = math.exp(2.0)
    np.testing.assert_allclose(both.predict(column(0)), [[1 / (1 + e), e / (1 + e)]])
    halved = dataclasses.replace(both, temperature=2.0)
    np.testing.assert_allclose(halved.predict(column(0))[0, 1], math.e / (1 + math.e))
    binary = of(stump(0, 2.0, -1000.0), link="sigmoid", classes=(0, 1))
    np.testing.assert_allclose(binary.predict(column(0, 1)), [[1 / (1 + e), e / (1 + e)], [1, 0]])
    assert of(stump(0, 2.0), link="exp").predict(column(0)).tolist() == [e]
    values = of(stump(0, 2.0), link="sigmoid").predict(column(0))
    np.testing.assert_allclose(values, [e / (1 + e)])
    step = of(stump(0, 2.0, -1.0), link="step", classes=(0, 1))
    assert step.predict(column(0, 1)).tolist() == [[0, 1], [1, 0]]
    ascending = of(stump(0, [-1.0, 0.0, 2.0], [3.0, -50.0, -50.0]), link="ascending")
    gaps = np.log1p(np.exp([0.0, 2.0])) + 1e-6
    expected = [[-1, gaps[0] - 1, gaps.sum() - 1], [3, 3 + 1e-6, 3 + 2e-6]]
    np.testing.assert_allclose(ascending.predict(column(0, 1)), expected, rtol=1e-12)


def test_ensemble_without_trees_predicts_the_base():
    assert of(base=np.array([3.0])).predict(np.zeros((2, 1))).tolist() == [3, 3]


# ------------------------------------------------------------------ forms of X


def test_frames_are_read_by_code_and_sparse_by_the_meaning_of_absent():
    tree = stump(sets={0: ([1], True)}, missing=np.full(3, Missing.NAN, np.uint8))
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", None], categories=["x", "y"])})
    assert of(tree).predict(frame).tolist() == [2, 1, 2]
    numbers = pd.DataFrame({"a": pd.array([0, 1, None], dtype="Int64")})
    assert of(stump()).predict(numbers).tolist() == [1, 2, 2]
    default = stump(-1, missing=np.full(3, Missing.NAN, np.uint8), default_left=np.full(3, True))
    sparse = csr_matrix((np.array([0.0, -5.0]), ([0, 1], [0, 0])), shape=(3, 1))
    assert of(default).predict(sparse).tolist() == [2, 1, 2]
    assert of(default, absent="nan").predict(sparse).tolist() == [2, 1, 1]


def test_wrong_number_of_columns_is_refused():
    with pytest.raises(DataError, match="X has 2 columns and the trees know 1"):
        of(stump()).predict(np.zeros((3, 2)))


def test_chunked_rows_equal_all_rows_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    ensemble = of(stump(0.0), stump(0.5))
    whole = ensemble.leaves(X), ensemble.raw(X)
    monkeypatch.setattr(predict, "CHUNK", 7)
    np.testing.assert_array_equal(ensemble.leaves(X), whole[0])
    np.testing.assert_array_equal(ensemble.raw(X), whole[1])
    assert whole[0].dtype == np.int32
    assert whole[0].shape == (50, 2)


# ------------------------------------------------------------------ against a scalar walk


@st.composite
def random_trees(draw):
    """Return a tree of up to 15 nodes over three columns, the last of them categorical."""
    n_splits = draw(st.integers(0, 7))
    n = 2 * n_splits + 1
    left, right = np.full(n, -1), np.full(n, -1)
    leaves = [0]
    for child in range(1, n, 2):
        parent = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        left[parent], right[parent] = child, child + 1
        leaves += [child, child + 1]
    inner = left >= 0
    feature = np.where(inner, [draw(st.integers(0, 2)) for _ in range(n)], -1)
    codes = st.lists(st.integers(0, 4), unique=True)
    return Tree(
        feature=feature,
        threshold=np.array([draw(st.integers(-2, 2)) for _ in range(n)], float),
        left=left,
        right=right,
        value=np.array([[draw(st.integers(-9, 9))] for _ in range(n)], float),
        default_left=np.array([draw(st.booleans()) for _ in range(n)]),
        missing=np.array([draw(st.sampled_from(Missing)) for _ in range(n)], np.uint8),
        sets={i: (draw(codes), draw(st.booleans())) for i in np.flatnonzero(feature == 2).tolist()},
    )


def walk(tree, x):
    """Return the leaf of one row, step by step."""
    node = 0
    while tree.left[node] >= 0:
        v, kind = x[tree.feature[node]], tree.missing[node]
        if math.isnan(v) and kind in (Missing.ZERO, Missing.NAN_AS_ZERO):
            v = 0.0
        if (kind == Missing.NAN and math.isnan(v)) or (kind == Missing.ZERO and v == 0):
            left = tree.default_left[node]
        elif node in tree.sets:
            codes, members_left = tree.sets[node]
            left = (v in codes) == members_left
        else:
            left = v <= tree.threshold[node]
        node = tree.left[node] if left else tree.right[node]
    return node


@given(
    trees=st.lists(random_trees(), min_size=1, max_size=3),
    row=st.tuples(*[st.sampled_from([NAN, -3.0, -1.0, 0.0, 1.0, 2.0, 4.0])] * 3),
)
def test_every_row_follows_the_scalar_walk(trees, row):
    ensemble = of(*trees, n_features=3)
    by_hand = [walk(t, row) for t in trees]
    assert (ensemble.leaves(np.array([row]))[0] - ensemble.offsets[:-1]).tolist() == by_hand
    total = sum(t.value[leaf, 0] for t, leaf in zip(trees, by_hand, strict=True))
    assert ensemble.predict(np.array([row])).tolist() == [total]
    assert [walk(ensemble.tree(i), row) for i in range(len(trees))] == by_hand


# ------------------------------------------------------------------ storage


@given(trees=st.lists(random_trees(), max_size=3))
def test_stored_ensemble_restores_every_field(trees):
    ensemble = of(*trees, n_features=3, link="exp", library="l", version="1", temperature=0.3)
    file = io.BytesIO()
    np.savez(file, **ensemble.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        again = TreeEnsemble.from_arrays(stored)
    for field in dataclasses.fields(TreeEnsemble):
        before, after = getattr(ensemble, field.name), getattr(again, field.name)
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype
            np.testing.assert_array_equal(before, after)
        else:
            np.testing.assert_equal(after, before)  # the value of a missing one may be NaN


@pytest.mark.parametrize(
    "change",
    [
        {"header": np.array("{}")},
        {"header": np.array("no json")},
        {"header": np.array('{"n_features": "many"}')},
        {"feature": None},
        {"feature": np.array(["a", "b", "c"])},
        {"left": np.array([[1], [-1], [-1]])},
    ],
)
def test_malformed_storage_is_a_data_error(change):
    arrays = {**of(stump()).to_arrays(), **change}
    arrays = {name: a for name, a in arrays.items() if a is not None}
    with pytest.raises(DataError):
        TreeEnsemble.from_arrays(arrays)


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": np.array([0, -1, -1])}, "node 0 has a child out of place"),
        ({"left": np.array([9, -1, -1])}, "node 0 has a child out of place"),
        ({"left": np.array([-2, -1, -1])}, "node 0 has one child"),
        ({"right": np.array([-1, -1, -1])}, "node 0 has a child out of place"),
        ({"left": np.array([2, -1, -1])}, "node 1 has not exactly one parent"),
        ({"right": np.array([2, 2, -1])}, "node 1 has one child"),
        ({"feature": np.array([1, -1, -1])}, "node 0 has an unknown feature"),
        ({"feature": np.array([0, 0, -1])}, "node 1 is a leaf with a feature"),
        ({"feature": np.array([0.5, -1, -1])}, "feature is not int32"),
        ({"feature": np.array([2**40, -1, -1])}, "feature is not int32"),
        ({"threshold": np.array([NAN, 0, 0])}, "node 0 has a NaN threshold"),
        ({"threshold": np.zeros(2)}, "threshold has not one entry a node"),
        ({"missing": np.array([4, 0, 0])}, "node 0 has an unknown kind of missing value"),
        ({"value": np.array([[0.0], [NAN], [0.0]])}, "node 1 is a leaf with a NaN value"),
        ({"value": np.zeros(3)}, "value has not 2 dimensions"),
        ({"value": np.zeros((3, 0))}, "value has no column"),
        ({"offsets": np.array([0, 2])}, "offsets do not span the nodes"),
        ({"offsets": np.array([0, 3, 3]), "weight": np.ones(2), "output": np.zeros(2)}, "no node"),
        ({"offsets": np.array([0, 1, 3]), "weight": np.ones(2), "output": np.zeros(2)}, "node 0"),
        ({"weight": np.array([INF])}, "a tree weight is not finite"),
        ({"output": np.array([1])}, "a tree has an unknown output"),
        ({"base": np.array([NAN])}, "base holds NaN"),
        ({"categories": np.array([0, -1, -1])}, "node 0 has an unknown category set"),
        ({"set_indptr": np.array([0, 1])}, "set_indptr does not fit members_left"),
        ({"set_codes": np.array([1])}, "set_indptr does not span set_codes"),
        ({"comparison": ">"}, "comparison is not one of"),
        ({"combination": "mode"}, "combination is not one of"),
        ({"temperature": 0.0}, "temperature is not positive"),
        ({"zero_within": -1.0}, "zero_within is negative"),
        ({"n_features": 1.5}, "n_features is not of type Integral"),
        ({"temperature": "1"}, "temperature is not of type Real"),
        ({"base_first": []}, "base_first is not of type bool"),
        ({"library": None}, "library is not of type str"),
        ({"classes": (0, 1, 2)}, "classes does not fit the outputs"),
        ({"base": np.zeros(2), "combination": "mean"}, "the mean needs trees"),
    ],
)  # fmt: skip
def test_malformed_ensembles_cannot_be_constructed(change, message):
    with pytest.raises(DataError, match=message):
        dataclasses.replace(of(stump()), **change)


@pytest.mark.parametrize(
    ("codes", "indptr", "message"),
    [
        ([1, 1], [0, 2], "do not ascend"),
        ([2, 1], [0, 2], "do not ascend"),
        ([-1, 1], [0, 2], "is negative"),
        ([1, 2], [0, 3], "does not span"),
        ([1, 2], [1, 2], "does not span"),
    ],
)
def test_malformed_category_sets_are_refused(codes, indptr, message):
    good = of(stump(sets={0: ([1, 2], True)}))
    with pytest.raises(DataError, match=message):
        dataclasses.replace(good, set_codes=np.array(codes), set_indptr=np.array(indptr))


def test_ensemble_repr_is_one_line():
    assert repr(of(stump(), library="l", version="1")) == "TreeEnsemble(1 trees, 3 nodes, by l 1)"


def test_only_a_sum_can_be_empty():
    with pytest.raises(DataError, match="no tree to take the mean of"):
        of(combination="mean")


def test_arrays_are_read_only_and_the_inputs_stay_writable():
    given = np.array([0.5, 0.0, 0.0])
    ensemble = dataclasses.replace(of(stump()), threshold=given)
    with pytest.raises(ValueError, match="read-only"):
        ensemble.threshold[0] = 1.0
    assert given.flags.writeable
