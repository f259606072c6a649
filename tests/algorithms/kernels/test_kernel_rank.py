"""Tests of ranks, sorts and trees on ranked columns, against trees on sorted columns."""

import numpy as np
import oracles
import pytest
from columns import column, seeds, table
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel
from sktrees import difference

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.runtime.threads import Workers
from algorithms.trees import grower, presorted_table
from algorithms.trees.kernels.rank import BUCKETS, FEW, PASSES, sort_items
from algorithms.trees.kernels.tree_arrays import EXACT

sort_items = callable_kernel(sort_items)


@given(seed=seeds, n=st.integers(1, 300), missing=st.sampled_from([0.0, 0.5]))
def test_ranks_order_the_values(seed, n, missing):
    rng = np.random.default_rng(seed)
    x = column(rng, n, missing).astype(np.float32)
    with Workers(1) as workers:
        ranked = presorted_table.rank_table(x[:, None], workers, "test")
    ranks, values, reach = ranked.ranks[:, 0], ranked.values[0], ranked.reach[0]
    known = ~np.isnan(x)
    distinct = np.unique(x[known])
    assert np.array_equal(ranks[known], np.searchsorted(distinct, x[known]))
    assert (ranks[~known] == len(distinct)).all()
    assert np.array_equal(values[: len(distinct)], distinct)
    assert np.isnan(values[len(distinct) :]).all()
    assert ranked.missing[0] == (~known).sum()
    close = [
        j - i
        for i in range(len(distinct))
        for j in range(i + 1, min(i + 50, len(distinct)))
        if not oracles.fits_split(distinct[i], distinct[j])
    ]
    assert min(reach, 49) == max(close, default=0)
    assert (ranked.kind[0] == EXACT) == (reach == 0)


@given(seed=seeds, n=st.integers(1, 400), bits=st.integers(0, 31))
def test_sort_by_key_is_stable(seed, n, bits):
    rng = np.random.default_rng(seed)
    span = 2**bits - 1
    keys = rng.integers(0, span, n, endpoint=True).astype(np.uint64)
    items = np.zeros((2, max(n, FEW)), np.uint64)
    items[0, :n] = (keys << np.uint64(32)) | np.arange(n, dtype=np.uint64)
    expected = np.sort(items[0, :n])
    counts = np.empty((PASSES, BUCKETS), np.uint32)
    here = sort_items(items, n, np.uint32(span), counts, np.empty(FEW, np.uint32))
    assert np.array_equal(items[here, :n], expected)


LIMITS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6), "max_features": st.integers(1, 3)},
    optional={
        "criterion": st.just("entropy"),
        "max_leaf_nodes": st.integers(2, 60),
        "min_samples_leaf": st.sampled_from([2, 5]),
        "min_weight_fraction_leaf": st.sampled_from([0.02, 0.1]),
        "max_depth": st.integers(1, 5),
    },
)


def grown(model, few, *data):
    """Return the model fitted on ranked (0) or on sorted columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presorted_table, "FEW", few)
        return model.fit(*data)


@given(
    seed=seeds,
    limits=LIMITS,
    n=st.integers(2, 700),
    k=st.sampled_from([0, 2, 2, 2, 4]),
    missing=st.sampled_from([0.0, 0.0, 0.2]),
    weighted=st.booleans(),
    monotonic=st.booleans(),
)
def test_ranked_and_sorted_columns_grow_the_same_tree(
    seed, limits, n, k, missing, weighted, monotonic
):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(3, 8)), missing)
    signal = np.nan_to_num(X[:, 0]) > np.median(np.nan_to_num(X[:, 0]))
    y = (signal & (rng.random(n) < 0.8)) * 1 + rng.integers(0, max(k - 1, 1), n) if k else None
    if not k:
        y = rng.integers(-50, 50, n).astype(float)
        limits = {name: v for name, v in limits.items() if name != "criterion"}
    if monotonic and k in {0, 2}:
        limits["monotonic_cst"] = rng.integers(-1, 2, X.shape[1])
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    kind = DecisionTreeClassifier if k else DecisionTreeRegressor
    by_rank = grown(kind(**limits), 0, X, y, weight)
    by_lists = grown(kind(**limits), 10**9, X, y, weight)
    assert difference(by_rank, by_lists) == ""


@pytest.mark.parametrize("threads", [2, 3])
def test_tree_on_ranked_columns_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(2000, 20)), rng.integers(0, 2, 2000)
    params = {"max_features": 4, "random_state": 1}
    alone = DecisionTreeClassifier(**params).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grower, "BIG", 100)
        shared = DecisionTreeClassifier(n_jobs=threads, **params).fit(X, y)
    assert difference(alone, shared) == ""
