"""Tests of the split search over cells of neighboring ranks, against exact fractions."""

import numpy as np
import oracles
import pytest
from columns import column, seeds
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel, rules_of

from algorithms.runtime.threads import Workers
from algorithms.trees import grower, presorted_table
from algorithms.trees.kernels.tree_arrays import Rows
from algorithms.trees.kernels.unsorted_search import search_cells

_search_cells = callable_kernel(search_cells)


def search(x, codes, weight, best, min_weight_leaf):
    """Return the kernel's result for a column: a proxy, and the last rank on the left or -1."""
    n = len(x)
    with Workers(1) as workers:
        table = presorted_table.rank_table(x[:, None], workers, "test")
    mark, target, no_weight = grower.Target(2, codes=codes, weight=weight).pick(None)
    source = np.arange(n, dtype=np.uint32)
    rows = Rows(table.ranks.T.copy(), np.zeros(1, np.int64), source, mark, target, no_weight)
    rules = rules_of(min_weight_leaf=min_weight_leaf)
    scratch = grower.new_scratch(n, rules, ranked=True)
    ones = weight[codes == 1].sum()
    totals = np.array([weight.sum(), weight.sum() - ones, ones])
    proxy, cut = _search_cells(table, rows, rules, scratch, 0, 0, 0, n, totals, best)
    return proxy, None if cut < 0 else table.values[0, cut]


@given(
    seed=seeds,
    n=st.integers(2, 400),
    known=st.sampled_from([None, "lower", "equal", "higher"]),
    light=st.sampled_from([0.0, 0.0, 0.3]),
    signal=st.booleans(),
)
def test_cut_is_the_lowest_of_the_best_cuts(seed, n, known, light, signal):
    rng = np.random.default_rng(seed)
    x = column(rng, n, 0.0).astype(np.float32)
    codes = rng.integers(0, 2, n)
    codes = np.where(x > np.median(x), 1, codes) if signal else codes
    weight = rng.integers(1, 4, n).astype(float)
    expected = oracles.best_cut(x, codes, weight, light * weight.sum())
    top = -np.inf if expected is None else float(expected[0]) - weight.sum()  # −n_L H_L − n_R H_R
    best = {None: -np.inf, "lower": top - 0.5, "equal": top + 1e-9, "higher": top + 0.5}[known]
    proxy, low = search(x, codes, weight, best, light * weight.sum())
    if expected is None or known in {"equal", "higher"}:
        assert (proxy, low) == (best, None)
    else:
        assert proxy == pytest.approx(top, rel=1e-12, abs=1e-12 * weight.sum())
        if low != expected[1]:  # rounding decides between equal cuts
            sides = [
                weight[side & (codes == k)].sum() for side in (x <= low, x > low) for k in (0, 1)
            ]
            a, b, c, d = sides
            score = (a * a + b * b) / (a + b) + (c * c + d * d) / (c + d)
            assert score == pytest.approx(float(expected[0]), rel=1e-14)
