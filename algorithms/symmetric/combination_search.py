"""Best splits by target statistics of feature combinations, in plain boosting without parity.

Two kernel calls for each level of a tree serve all combinations: the first computes the target
statistics of new combinations, the second scores all splits. The statistics are kept in the slots
of a cache, which also holds those of earlier trees. Ordered boosting and parity mode compute one
combination after another.
"""

from collections import OrderedDict
from itertools import chain

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import CACHE_LINE
from algorithms.symmetric.categorical_table import KEPT
from algorithms.symmetric.kernels.combinations import (
    CodedParts,
    KeyScratch,
    LevelCombinations,
    LevelScoring,
    ScoreScratch,
    StatisticCache,
    combine_codes,
    scan_combinations,
    write_combinations,
)
from algorithms.symmetric.kernels.segment_scores import LeafRows
from algorithms.symmetric.projections import DENSE, Projection
from algorithms.symmetric.target_statistics import ctr_arrays, make_count_scratch, statistics_of
from algorithms.symmetric.tree_split import TreeSplit


class Combination:
    """A feature combination in one tree.

    ``base`` is the index of its base in `CodedParts.bases`, ``column`` the index of the added
    column in `CodedParts.columns`, ``slot`` its place in the cache.
    """

    __slots__ = ("base", "column", "projection", "slot")

    def __init__(self, projection, base, column):
        self.projection, self.base, self.column = projection, base, column


class CombinationSearch:
    """Combinations of a tree, level by level.

    Parameters
    ----------
    data : CategoricalTable
    depth : int, of the trees
    n_outputs : int, scores per row
    workers : Workers
    """

    def __init__(self, data, depth, n_outputs, workers):
        self.data, self.workers, self.n_outputs = data, workers, n_outputs
        self.ctrs = ctr_arrays(data.params.combinations_ctr, data.classes)
        n_borders = np.repeat(self.ctrs.n_borders, np.diff(self.ctrs.ends, prepend=0))
        self.n_bins = n_borders + 1
        self.stride = (-(-int(self.n_bins.max()) // CACHE_LINE) | 1) * CACHE_LINE
        self.places = {j: place for place, j in enumerate(data.counted)}
        n_rows = len(data.X)
        n_slots = KEPT + depth * (1 + len(data.counted))  # a split adds at most one base
        self.bins = None  # allocated with the first combination
        self.shape = n_slots, len(n_borders), n_rows
        self.n_levels = np.empty(n_slots, np.int64)
        self.is_free = np.zeros((n_slots, len(n_borders)), bool)
        self.slots, self.unused = OrderedDict(), list(range(n_slots))[::-1]
        self.used = {}  # Projection → bool (n_statistics,): exempt from `model_size_reg`
        columns = np.array([data.codes_of[j] for j in data.counted], np.int32).reshape(-1, n_rows)
        sizes = np.array([data.sizes[j] for j in data.counted], np.int64)
        bases = np.empty((depth, n_rows), np.int32), np.empty(depth, np.int64)
        self.parts = CodedParts(*bases, columns, sizes)
        self.max_codes = max(DENSE, 2 * n_rows)
        self.write_scratch, self.scan_scratch = [], []

    def start_tree(self, permutation, columns):
        """Forget the combinations of the last tree.

        Parameters
        ----------
        permutation : int, index of the permutation whose target statistics choose the splits
        columns : list of int, the categorical columns that may be added to a base
        """
        self.permutation, self.columns = permutation, columns
        self.known, self.n_bases = {}, 0
        self.split_base, self.of_splits, self.of_statistics = Projection(), [], {}
        while len(self.slots) > KEPT:
            self.unused.append(self.slots.popitem(last=False)[1])

    def scan(self, splits, records, groups, scoring):
        """Find the best split of each statistic of the combinations of a level.

        Parameters
        ----------
        splits : list of TreeSplit, the splits of the tree so far
        records : int64 (n_outputs, n_rows), packed gradients and weights
        groups : RowGroups
        scoring : (kind, float64 quantiles of the noise, int seed, float λ, float64 (2,) steps)
        """
        self._list_combinations(splits)
        count = len(self.listed)
        self.listed_slots = np.array([one.slot for one in self.listed], np.int64)
        self.best_score = np.empty((count, len(self.n_bins)))
        self.best_bin = np.empty((count, len(self.n_bins)), np.int64)
        if not count:
            return
        kind, noise, seed, l2, step = scoring
        scoring = LevelScoring(kind, noise, seed, self.n_bins, self.stride, l2, step)
        leaf_rows = LeafRows(groups.rows, groups.starts, groups.ends)

        def scan(first, last):
            scratch = self._take(self.scan_scratch, self._make_scan_scratch)
            scan_combinations(
                self.bins, self.listed_slots, records, leaf_rows, groups.n_leaves, scoring, scratch,
                self.best_score, self.best_bin, first, last,
            )  # fmt: skip
            self.scan_scratch.append(scratch)

        self.workers.share(scan, count)

    @property
    def candidates(self):
        """Candidates of a level: one for each target statistic of each combination.

        Scores float64 (n,), numbers of categories int64 (n,), and exemptions from the penalty bool
        (n,).
        """
        levels = np.repeat(self.n_levels[self.listed_slots], len(self.n_bins))
        return self.best_score.ravel(), levels, self.is_free[self.listed_slots].ravel()

    def _list_combinations(self, splits):
        """List the combinations of a level, and compute the statistics of the new ones."""
        if splits:
            self._write(self._add_split(splits[-1]), self.permutation)
        lists = self.of_splits, *self.of_statistics.values()
        self.listed = list(dict.fromkeys(chain(*lists)))

    def _add_split(self, split):
        """Add the combinations of the base of a split; return those without statistics, list.

        All numeric and one-hot splits of a tree are one base, which replaces that of fewer splits.
        """
        new = []
        if split.is_statistic:
            base = split.feature.projection
            if base not in self.of_statistics:
                self.of_statistics[base] = self._extend(base, split, new)
            return new
        _, borders, levels = self.split_base
        if split.is_indicator:
            levels = *levels, (split.feature.column, split.feature.level)
        else:
            borders = *borders, split.numeric
        self.split_base = Projection((), borders, levels)
        self.of_splits = self._extend(self.split_base, split, new)
        return new

    def _extend(self, base, split, new):
        """Return the combinations of a base, list; those without statistics are added to ``new``.

        Parameters
        ----------
        base : Projection
        split : TreeSplit, the last split of the tree
        new : list of Combination, changed
        """
        projections = self.data.extend([(base, self.columns)])
        if not projections:
            return []
        number, found = self._add_base(base, split), []
        added = [j for j in self.columns if j not in base.columns]
        for projection, j in zip(projections, added, strict=True):
            one = self.known.get(projection)
            if one is None:
                one = self.known[projection] = Combination(projection, number, self.places[j])
                if not self._find_slot(one, self.permutation):
                    new.append(one)
            found.append(one)
        return found

    def _add_base(self, base, split):
        """Add the levels of a base to those of this tree; return its number."""
        number, parts = self.n_bases, self.parts
        codes, sizes = parts.bases, parts.base_sizes
        self.n_bases += 1
        if base.is_single:
            place = self.places[base.columns[0]]
            codes[number], sizes[number] = parts.columns[place], parts.column_sizes[place]
        elif base.columns:
            own, scratch = self.known[base], self._take(self.write_scratch, self._make_scratch)
            sizes[number] = combine_codes(
                codes[own.base], sizes[own.base], parts.columns[own.column],
                parts.column_sizes[own.column], scratch[1], codes[number],
            )  # fmt: skip
            self.write_scratch.append(scratch)
        else:
            np.greater(split.column, split.bin, out=codes[number])
            sizes[number] = 2
            if len(base.borders) + len(base.levels) > 1:
                codes[number] += 2 * codes[self.last_numeric]
                sizes[number] = 2 * sizes[self.last_numeric]
            self.last_numeric = number
        return number

    def _find_slot(self, one, permutation):
        """Set the slot of a combination; return whether it has the statistics already."""
        key = permutation, one.projection
        one.slot = self.slots.get(key)
        if one.slot is not None:
            self.slots.move_to_end(key)
            return True
        one.slot = self.slots[key] = self.unused.pop()
        self.is_free[one.slot] = self.used.get(one.projection, False)
        return False

    def _write(self, new, permutation):
        """Compute the statistics of combinations in a permutation."""
        if not new:
            return
        if self.bins is None:
            self.bins = np.empty(self.shape, np.uint8)
        given = [(one.base, one.column, one.slot) for one in new]
        level = LevelCombinations(*np.ascontiguousarray(np.array(given, np.int64).T))
        order, cache = self.data.orders[permutation], StatisticCache(self.bins, self.n_levels)

        def write(first, last):
            scratch = self._take(self.write_scratch, self._make_scratch)
            given = order, self.ctrs, *scratch, cache
            write_combinations(self.parts, level, *given, first, last)
            self.write_scratch.append(scratch)

        self.workers.share(write, len(new))

    def _take(self, free, make):
        """Return scratch space that no thread uses."""
        try:
            return free.pop()
        except IndexError:
            return make()

    def _make_scratch(self):
        """Return the scratch space of `write_combinations`."""
        n_rows = len(self.data.X)
        n_keys = 1 << (2 * n_rows - 1).bit_length()
        keys = KeyScratch(np.empty(n_keys, np.int64), np.empty(n_keys, np.int32), self.max_codes)
        counts = make_count_scratch(self.ctrs, self.max_codes)
        return np.empty(n_rows, np.int32), keys, counts

    def _make_scan_scratch(self):
        """Return the `ScoreScratch`."""
        count = len(self.n_bins)
        histogram = np.empty((self.n_outputs, count, self.stride, 2))
        return ScoreScratch(histogram, np.empty((count, 4, self.stride)))

    def make_split(self, f):
        """Return the best split of one of the ``candidates``."""
        number, s = divmod(f, len(self.n_bins))
        one = self.listed[number]
        statistic = self._statistics_of(one.projection)[s]
        return TreeSplit(self.bins[one.slot, s].copy(), int(self.best_bin[number, s]), statistic)

    def _statistics_of(self, projection):
        """Return the `Statistic`s of a combination, list."""
        return statistics_of(projection, self.data.params.combinations_ctr, self.data.classes)

    def mark_used(self, statistic):
        """Exempt the statistics of the same group from the penalty."""
        projection = statistic.projection
        ctrs, ends = self.data.params.combinations_ctr, self.ctrs.ends
        own = [options.kind == statistic.options.kind for options in ctrs]
        own = np.repeat(own, np.diff(ends, prepend=0))
        self.used[projection] = own | self.used.get(projection, False)
        for permutation in range(len(self.data.orders)):
            slot = self.slots.get((permutation, projection))
            if slot is not None:
                self.is_free[slot] = self.used[projection]

    def column_in(self, statistic, permutation):
        """Return the bins of a statistic of this tree in a permutation, uint8 (n_rows,)."""
        own = self.known[statistic.projection]
        other = Combination(own.projection, own.base, own.column)
        if not self._find_slot(other, permutation):
            self._write([other], permutation)
        return self.bins[other.slot, self._statistics_of(own.projection).index(statistic)]
