"""Grow trees with the kernels of the histogram booster, one after another in the same arrays."""

import numpy as np

from algorithms.gbdt.bundles import stride_of
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels.leaf_lookup import AT_ONCE, MOST_LEAVES, list_runs, place_rows
from algorithms.gbdt.kernels.partition import begin_with
from algorithms.gbdt.kernels.score_update import (
    add_leaves,
    list_unmarked,
    mark_leaves,
    partition_others,
    walk_listed,
)
from algorithms.gbdt.model import copy_tree
from algorithms.gbdt.resident_threads import Crew, grow
from algorithms.runtime.interrupt_flag import check_interrupt
from algorithms.runtime.threads import ALONE, count_processors, make_team

EVERY = np.empty(0, np.uint32)  # of rows: all of them
SMALL = 300_000  # rows × columns² below which threads that share a tree cost more than they bring
CELL_BYTES = 8
LARGE = 1 << 20  # values of a table whose trees take long beside what it takes to tell threads
MOST_BYTES = 1 << 28  # of the histograms of trees that are grown side by side
FEW_VALUES = 1 << 13  # of a table whose trees one thread grows sooner, one after another
ROWS_TO_MARK = 1 << 16  # from which on it is worth telling other threads of a pass over rows


class Grower:
    """What trees are grown in, one after another.

    Parameters
    ----------
    bins : hist.layout.Bins
    binner : Binner
    rules : hist.layout.Rules
    workers : Workers
    """

    def __init__(self, bins, binner, rules, workers):
        n_rows, n_dense = bins.rows.shape
        n_features, n_columns = len(bins.count), len(bins.layout.length)
        n_values = n_rows * n_dense + len(bins.sparse.cells)
        small = n_values * n_columns < SMALL
        deepest = min(rules.max_depth, 30) if rules.max_depth > 0 else 30
        leaves = max(2, min(rules.num_leaves, n_rows, 1 << deepest))  # room for more is never used
        rules = rules._replace(num_leaves=leaves)
        self.bins, self.binner, self.rules, self.workers = bins, binner, rules, workers
        self.codes = codes_with_bins(binner)
        self.size = 1 if small else workers.threads
        if n_rows < ROWS_TO_MARK:  # more than there are processors would wait for each other
            self.size = min(self.size, count_processors())
        self.is_large = n_rows >= ROWS_TO_MARK or n_values >= LARGE
        self.team = make_team(self.size)
        self._crew = None
        self.leaf_of = np.zeros(n_rows, np.uint16 if rules.num_leaves < 1 << 16 else np.uint32)
        n_cells = stride_of(bins.layout) * n_columns
        self.leaves = np.zeros(leaves, booster_arrays.LEAF)
        self.scratch = booster_arrays.Scratch(
            cells=np.zeros((self.size, n_cells), np.int64),
            wide=np.zeros((self.size, 2, n_cells), np.int64),
            sums=np.zeros((self.size, booster_arrays.N_SUMS), np.int64),
            small=np.zeros((self.size, 8, booster_arrays.MAX_BINS), np.int64),
            scores=np.zeros((self.size, booster_arrays.MAX_BINS)),
            order=np.zeros((self.size, booster_arrays.MAX_BINS), np.int64),
            best=np.zeros((self.size, 2), booster_arrays.BEST),
            left_bins=np.zeros((self.size, 2, booster_arrays.MAX_BINS), np.uint8),
        )
        self.growth = booster_arrays.Growth(
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            columns=np.arange(n_columns),
            allowed=np.ones(n_features, np.uint8),
            column=np.zeros(n_rows if n_dense < n_columns else 0, np.uint8),
            leaves=self.leaves,
            groups=np.zeros((leaves, bins.groups.shape[1]), np.uint64),
            best=np.zeros(leaves, booster_arrays.BEST),
            left_bins=np.zeros((leaves, booster_arrays.MAX_BINS), np.uint8),
            nodes=np.zeros(2 * leaves - 1, booster_arrays.NODE),
            goes_left=np.zeros((2 * leaves - 1, booster_arrays.MAX_BINS), np.uint8),
            cells=np.empty((leaves, n_cells), np.int64),
            heavy=np.empty((leaves, n_cells), np.int64),  # memory is taken for wide leaves alone
            state=np.zeros(booster_arrays.STATES, np.int64),
        )

    def grow(self, records, scale, seed, rows=None, features=None):
        """Grow a tree; `leaf_of` then holds each row's leaf.

        Parameters
        ----------
        records : int64 (n_rows,)
        scale : hist.layout.Scale
        seed : int, decides thresholds of extra trees
        rows : uint32, ascending, rows to grow on; all by default
        features : int64, ascending, features to use; all by default

        Returns
        -------
        GrownTree, its values before shrinkage
        """
        own = self.growth
        if rows is not None:
            own = own._replace(rows=own.rows[: len(rows)])
        if features is not None:
            own = own._replace(**self._only(features))
        n_rows = len(own.rows)
        own.state[booster_arrays.ROWS] = n_rows
        given = EVERY if rows is None else rows
        if self.size == 1 or self.is_large or features is not None or self.rules.extra_trees:
            self._share_growing(given, records, own, scale, seed)
        else:
            begin_with(given, own.rows, 0, n_rows)
            self._crew_on(records).grow(scale)
        check_interrupt(self.team.flag)
        self._own = own
        self.n_leaves = int(own.state[booster_arrays.LEAVES])
        self._mark()
        return self._take()

    def _share_growing(self, given, records, own, scale, seed):
        """Have all members grow a tree; each is told to, and brings its part of the rows."""
        rules, n_rows = self.rules._replace(seed=int(seed)), len(own.rows)

        def run(rank, _):
            first, last = n_rows * rank // self.size, n_rows * (rank + 1) // self.size
            begin_with(given, own.rows, first, last)
            grow(scale, self.team, rank, self.bins, records, own, self.scratch, rules)

        self.workers.share(run, self.size, self.team)

    def _crew_on(self, records):
        """Return the crew that grows trees of all columns from these records."""
        given = self.team, self.bins, records, self.growth, self.scratch, self.rules
        if self._crew is None or not self._crew.is_given(given):
            self._crew = Crew(self.workers, given)
        return self._crew

    def _only(self, features):
        """Return the fields of `Growth` that say which features may be used.

        Listed columns are always built, as whole rows of them are.
        """
        places, n_dense = self.bins.layout, self.bins.rows.shape[1]
        allowed = np.zeros(len(self.bins.count), np.uint8)
        allowed[features] = 1
        used = np.unique(places.column[features])
        dense = used[(used >= 0) & (used < n_dense)]
        columns = np.concatenate([dense, np.arange(n_dense, len(places.length))])
        if not len(columns):  # none of them has two bins; sums of rows are wanted all the same
            columns = np.zeros(1, np.int64)
        return {"columns": columns, "allowed": allowed}

    def _mark(self):
        """Write every row's leaf."""
        own, leaf_of, columns = self._own, self.leaf_of, self.bins.columns
        runs = self._runs() if len(own.rows) < len(leaf_of) else None
        if runs is not None:

            def place(first, last):
                place_rows(columns, runs, first, last, np.empty(AT_ONCE, np.uint8), leaf_of)

            self.share_rows(place, len(leaf_of))
            return
        mark_rows(self.share_rows, own, self.n_leaves, leaf_of, own.spare, self._of_others)

    def _runs(self):
        """Return the last tree's splits as `place_rows` takes them, or None where it cannot."""
        own, places = self._own, self.bins.layout
        are_few = 2 * len(own.rows) > len(self.leaf_of)  # others: parting them costs less
        most = MOST_LEAVES // 2 if are_few else MOST_LEAVES
        if len(self.bins.sparse.cells) or self.n_leaves > most:
            return None
        nodes = own.nodes[: 2 * self.n_leaves - 1]
        number, runs = np.empty(len(nodes), np.int64), np.empty((len(nodes) // 2, 4), np.int64)
        found = list_runs(nodes, own.goes_left, places.column, places.length, number, runs)
        return runs if found else None

    def _of_others(self):
        """Return what writes the leaves of rows that the last tree was not grown on."""
        own, bins, leaf_of = self._own, self.bins, self.leaf_of
        nodes, of_leaves = own.nodes[: 2 * self.n_leaves - 1], self.leaves["node"][: self.n_leaves]
        if not len(bins.sparse.cells):
            return parting(
                nodes, of_leaves, own.goes_left, bins.columns, bins.layout.column, leaf_of
            )
        leaf = numbers_of_leaves(len(nodes), of_leaves)
        return lambda others: walk_listed(bins, own, leaf, others, leaf_of)

    def share_rows(self, task, count):
        """Share a task over rows, unless there are few."""
        if self.size == 1 or count < ROWS_TO_MARK:
            task(0, count)
        else:
            self.workers.share(task, count)

    def rows_of_leaves(self):
        """Return the rows that the last tree was grown on, those of each leaf together."""
        leaves = self.leaves[: self.n_leaves]
        spans = zip(leaves["start"].tolist(), leaves["end"].tolist(), strict=True)
        return [self._own.rows[start:end] for start, end in spans]

    def add_to(self, score, tree):
        """Add the last tree's values to the score of every row, float64 (n_rows,)."""
        values = tree.nodes["value"][self.leaves["node"][: self.n_leaves]]
        self.share_rows(
            lambda first, last: add_leaves(score, self.leaf_of, values, first, last), len(score)
        )

    def _take(self):
        """Return a copy of the grown tree."""
        growth = self.growth
        return copy_tree(growth.nodes, growth.goes_left, self.codes, self.n_leaves)


def make_growers(binned, workers, n_trees):
    """Return what the trees of a round are grown in: a `Grower`, or one for each thread.

    Threads that share a small tree wait for each other a good part of the time. Where a round has
    as many trees as there are threads, each grows trees of its own.

    Parameters
    ----------
    binned : Binned; where there are crowds, each tree has bins of its own, and they come in turns
    workers : Workers
    n_trees : of a round
    """
    bins, given = binned.bins, (binned.bins, binned.binner, binned.rules)
    threads = min(workers.threads, count_processors())
    n_rows, n_values = len(bins.rows), bins.rows.size + len(bins.sparse.cells)
    n_cells = stride_of(bins.layout) * len(bins.layout.length)
    fits = threads * min(binned.rules.num_leaves, n_rows) * n_cells * CELL_BYTES <= MOST_BYTES
    is_small = n_rows < ROWS_TO_MARK and fits and not binned.crowds
    if 1 < threads <= n_trees and n_values >= FEW_VALUES and is_small:
        return [Grower(*given, ALONE) for _ in range(threads)]
    return [Grower(*given, workers)]


def codes_with_bins(binner):
    """Return, for each feature, its codes and the bin of each; None where it holds numbers."""
    return [None if own is None else (own, np.arange(len(own))) for own in binner.codes]


def mark_rows(share, grown, n_leaves, leaf_of, spare, of_others):
    """Write every row's leaf.

    Parameters
    ----------
    share : shares a task of first and last over so many rows
    grown : its ``leaves``, and its ``rows`` that the tree was grown on
    leaf_of : (n_rows,) uint16 or uint32, written
    spare : (n_rows,) uint32, scratch space
    of_others : returns a task that writes the leaves of the other rows; these are a uint32 array,
        ascending, its to reorder. It is not called where there are none.
    """

    def mark_own(first, last):
        mark_leaves(grown, n_leaves, leaf_of, first, last)

    if len(grown.rows) == len(leaf_of):
        share(mark_own, len(leaf_of))
        return
    none = np.iinfo(leaf_of.dtype).max  # no leaf has this number
    leaf_of.fill(none)
    share(mark_own, len(grown.rows))
    task = of_others()

    def mark_others(first, last):
        others = spare[first:last]
        task(others[: list_unmarked(leaf_of, none, first, last, others)])

    share(mark_others, len(leaf_of))


def parting(nodes, leaf_nodes, goes_left, columns, place, leaf_of):
    """Return a task of others, uint32 and its to reorder, that writes their leaves.

    Parameters
    ----------
    leaf_nodes : int64 (n_leaves,), node of each leaf
    nodes, goes_left, columns, place, leaf_of : as of `partition_others`
    """
    leaf = numbers_of_leaves(len(nodes), leaf_nodes)

    def task(others):
        scratch = np.empty_like(others), np.empty((len(nodes), 2), np.int64)
        partition_others(nodes, goes_left, columns, place, leaf, others, *scratch, leaf_of)

    return task


def numbers_of_leaves(n_nodes, leaf_nodes):
    """Return the number of the leaf that each node is, int64 (n_nodes,); of others 0.

    Parameters
    ----------
    leaf_nodes : int64 (n_leaves,), node of each leaf
    """
    leaf = np.zeros(n_nodes, np.int64)
    leaf[leaf_nodes] = np.arange(len(leaf_nodes))
    return leaf
