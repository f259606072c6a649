"""Tests that threads divide the columns of a table by work."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.gbdt.kernels.best_splits import ENTRY_COST, first_column

COUNT = getattr(first_column, "py_func", first_column)  # without compilation


def borders(lengths, n_threads, columns, n_added):
    bins = SimpleNamespace(layout=SimpleNamespace(length=np.array(lengths)))
    team = SimpleNamespace(size=n_threads)
    given = bins, np.array(columns), n_added
    return [int(COUNT(team, rank, *given)) for rank in range(n_threads + 1)]


def test_wide_columns_are_divided():
    lengths = [3, 3, 255, 255, 255, 3, 3, 3]
    assert borders(lengths, 2, range(8), 0) == [0, 4, 8]
    assert borders(lengths, 2, [0, 2, 3, 5], 0) == [0, 2, 4]
    assert borders(lengths, 2, range(8), 10**9) == [0, 4, 8]  # equal numbers of columns


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_each_column_belongs_to_one_thread(n_threads):
    rng = np.random.default_rng(0)
    for n_columns in (0, 1, 2, 5, 40):
        lengths = rng.integers(2, 256, n_columns)
        places = borders(lengths, n_threads, range(n_columns), 100)
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, n_columns)
        work = 100 + ENTRY_COST * lengths
        largest = max(work[a:b].sum() for a, b in pairwise(places))
        assert largest <= work.sum() / n_threads + work.max(initial=0)
