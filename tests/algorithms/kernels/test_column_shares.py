"""Tests that threads divide the columns of a table by work."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from kernels import callable_kernel

from algorithms.gbdt.kernels.best_splits import COLUMN_COST, ENTRY_COST, first_column

COUNT = callable_kernel(first_column)


class Layout(NamedTuple):
    length: np.ndarray


class Bins(NamedTuple):
    layout: Layout


class Team(NamedTuple):
    size: int


def borders(lengths, n_threads, columns, n_added):
    bins = Bins(Layout(np.array(lengths, np.int64)))
    team = Team(n_threads)
    given = bins, np.array(columns, np.int64), n_added
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
        work = 100 + COLUMN_COST + ENTRY_COST * lengths
        largest = max(work[a:b].sum() for a, b in pairwise(places))
        assert largest <= work.sum() / n_threads + work.max(initial=0)
