import numpy as np
import oracles
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.prediction.kernels.predict import (
    STEP,
    add_values,
    find_leaves,
    has_missing,
    pack_steps,
)
from algorithms.trees.kernels.tree_arrays import NODE
from algorithms.trees.tree import ROWS_OF_A_THREAD


@given(seed=seeds, n=st.integers(2, 60), rows=st.integers(0, 50), share=st.sampled_from([0.0, 0.2]))
def test_rows_reach_their_leaves(seed, n, rows, share):
    rng = np.random.default_rng(seed)
    X = table(rng, n, 3, missing=share)
    tree = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 3, n)).tree_
    new = np.ascontiguousarray(X[rng.integers(0, n, rows)], np.float32)
    new[rng.random(new.shape) < share] = np.nan
    leaves = np.full(rows + 2, -7)
    out = np.ones((rows + 2, 3))
    values = rng.normal(size=(tree.node_count, 3))
    given_rows = np.vstack([new, new[:2]]) if rows > 1 else new
    find_leaves(*tree.steps, given_rows, has_missing(given_rows, 0, rows), leaves, 0, rows)
    add_values(values, leaves, out, 0, rows)
    expected = [oracles.find_leaf(tree, x) for x in new]
    assert leaves.tolist() == [*expected, -7, -7]
    assert np.array_equal(out[:rows], 1 + values[expected] if rows else out[:0])
    assert (out[rows:] == 1).all()


@given(
    x=st.floats(-(2**20), 2**20, width=32),
    y=st.floats(-(2**20), 2**20, width=32),
)
def test_threshold_between_adjacent_floats_separates_them(x, y):
    """The float32 form of a threshold splits float32 values like the float64 threshold."""
    threshold = x / 2.0 + y / 2.0
    nodes = np.zeros(3, NODE)
    nodes["left"], nodes["right"] = [1, -1, -1], [2, -1, -1]
    nodes["threshold"][0] = threshold
    steps, place, order = np.empty(3, STEP), *np.empty((2, 3), np.uint32)
    pack_steps(nodes, place, steps, order)
    probes = np.float32([x, y, np.nextafter(np.float32(x), np.float32(np.inf))])
    leaves = np.empty(3, np.int64)
    find_leaves(steps, order, probes[:, None].copy(), False, leaves, 0, 3)
    assert leaves.tolist() == [1 if p <= threshold else 2 for p in probes.astype(np.float64)]


def test_threads_split_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * ROWS_OF_A_THREAD + 7, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = DecisionTreeRegressor(random_state=0, n_jobs=2).fit(X, np.nan_to_num(X) @ [1, 2, 3])
    result = model.apply(X)
    assert np.array_equal(result, model.set_params(n_jobs=1).apply(X))
    some = rng.integers(0, len(X), 200)
    assert result[some].tolist() == [oracles.find_leaf(model.tree_, x) for x in X[some]]
