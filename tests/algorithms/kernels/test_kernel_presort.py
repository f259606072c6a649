import numpy as np
from columns import column, seeds
from hypothesis import given
from hypothesis import strategies as st
from kernels import read_places, table_of
from oracles import sort_column, split_positions

from algorithms.trees.kernels.presort import UNUSED, pick_rows
from algorithms.trees.kernels.tree_arrays import ROW, Rows

EMPTY = np.empty(0)


@given(seed=seeds, n=st.integers(1, 90), missing=st.sampled_from([0.0, 0.7]))
def test_sorted_columns_and_flags_equal_oracle(seed, n, missing):
    values = column(np.random.default_rng(seed), n, missing).astype(np.float32)
    table = table_of(values[:, None])
    order, kind, n_missing = sort_column(values)
    assert np.array_equal(table.values[0], values, equal_nan=True)
    assert np.array_equal(table.order[0], order)
    assert (table.kind[0], table.missing[0]) == (kind, n_missing)


def test_signs_zeros_and_extremes():
    largest = np.finfo(np.float32).max
    values = np.array([0.0, -0.0, -1.0, largest, -largest, np.nan, 1e-45, -1e-45], np.float32)
    order = table_of(values[:, None]).order[0] & ROW
    assert values[order][:-1].tolist() == np.sort(values)[:-1].tolist()
    assert order[-1] == 5


@given(seed=seeds, n=st.integers(1, 60))
def test_selected_rows_keep_order_and_positions(seed, n):
    rng = np.random.default_rng(seed)
    values = column(rng, n, 0.3).astype(np.float32)
    table = table_of(values[:, None])
    used = np.flatnonzero(rng.random(n) < 0.7)
    place = np.full(n, UNUSED)
    place[used] = rng.permutation(len(used))
    lists = np.empty((2, len(used)), np.uint32)
    columns = np.zeros(2, np.int64)  # a feature may be drawn twice
    pick_rows(table.order, table.kind, columns, place, lists, 0, 2)
    source = np.empty(len(used), np.uint32)
    source[place[used]] = used
    rows = Rows(lists, columns, source, EMPTY.astype(np.int64), EMPTY, EMPTY)
    kept = [row for row in table.order[0] & ROW if place[row] != UNUSED]
    n_present = int((~np.isnan(values[used])).sum())
    for f in range(2):
        assert [source[e & ROW] for e in lists[f]] == kept
        expected = split_positions(values, kept[:n_present])
        assert read_places(table, rows, f, n_present) == expected
