import numpy as np
import oracles
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel, growth_of, read_places, rules_of, table_of

from algorithms.trees.kernels.partition import partition_features, renumber
from algorithms.trees.kernels.tree_arrays import ROW, Rows

renumber = callable_kernel(renumber)


@given(seed=seeds, n=st.integers(2, 60), missing_left=st.booleans())
def test_split_partitions_rows_and_sorted_columns(seed, n, missing_left):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), table(rng, n, 3, missing=0.5)])
    X[rng.random(n) < 0.2, 0] = np.nan
    known = ~np.isnan(X[:, 0])
    sorted_table = table_of(X)
    source = np.arange(n, dtype=np.uint32)
    mark, target = rng.integers(0, 99, n), rng.normal(size=n)
    weight = rng.random(n)
    lists = sorted_table.order.copy()
    rows = Rows(lists.copy(), np.arange(4), source, mark.copy(), target.copy(), weight.copy())
    middle = int(rng.integers(0, known.sum() + 1))
    left = np.zeros(n, bool)
    left[lists[0, :middle] & ROW] = True
    left |= ~known & missing_left
    place = np.empty(n, np.uint32)
    _, scratch = growth_of(n, rules_of(), 4)
    bits = rows.target.view(np.int64), rows.weight.view(np.int64)
    first_right = renumber(rows, bits, 0, 0, middle, known.sum(), n, missing_left, place, scratch)

    assert first_right == left.sum()
    assert sorted(place) == list(range(n))
    assert ((place < first_right) == left).all()
    assert (rows.source[place] == np.arange(n)).all()
    assert (rows.mark[place] == mark).all()
    assert (rows.target[place] == target).all()
    assert (rows.weight[place] == weight).all()

    partition_features(sorted_table, rows, 0, first_right, n, place, scratch.entries, 0, 4)
    values = X.astype(np.float32)
    for f in range(4):
        for expected, span in ((True, slice(0, first_right)), (False, slice(first_right, n))):
            entries = rows.lists[f, span]
            kept = [row for row in lists[f] & ROW if left[row] == expected]
            assert [rows.source[e & ROW] for e in entries] == kept
            n_present = int((~np.isnan(values[kept, f])).sum())
            side = rows._replace(lists=entries[None].copy(), columns=np.array([f]))
            result = read_places(sorted_table, side, 0, n_present)
            assert result == oracles.split_positions(values[:, f], kept[:n_present])
