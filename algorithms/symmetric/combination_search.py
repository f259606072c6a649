"""Splits of a tree with categorical columns, in plain boosting without parity.

The combinations of a tree and the choice of its splits are arrays that kernels write. One thread
grows a tree in one kernel call. Several threads make a few calls for each level: they share the
target statistics of new combinations and the scores of all splits. The statistics are kept in the
slots of a cache, which also holds those of earlier trees. Ordered boosting and parity mode compute
one combination after another.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import CACHE_LINE
from algorithms.symmetric.categorical_table import KEPT
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.kernels import category_tree as fields
from algorithms.symmetric.kernels.base_categories import BaseCategories
from algorithms.symmetric.kernels.category_tree import (
    Candidates,
    CombinationArrays,
    CombinationSlots,
    StaticColumns,
    UsedProjections,
    choose_split,
    fill_buckets,
    list_combinations,
    start_search,
)
from algorithms.symmetric.kernels.combination_statistics import StatisticScratch
from algorithms.symmetric.kernels.combinations import (
    CategoryScratch,
    CombinationParts,
    CombinationSums,
    LevelCombinations,
    LevelRows,
    LevelScoring,
    ScoreScratch,
    StatisticCache,
    order_records,
    scan_combinations,
    write_combinations,
)
from algorithms.symmetric.kernels.grow_category_tree import (
    CategoryTree,
    TreeScratch,
    copy_leaf_columns,
    find_leaf_slots,
    grow_category_tree,
)
from algorithms.symmetric.kernels.target_statistics import MEAN
from algorithms.symmetric.projections import Projection
from algorithms.symmetric.statistic_codes import MAX_CODES, make_statistic_codes
from algorithms.symmetric.target_statistics import ctr_arrays, statistics_of
from algorithms.symmetric.tree_split import TreeSplit

MAX_BINS = 256  # a numeric split has the code feature · MAX_BINS + bin + 1 in a key
MAX_SUMS = 1 << 22  # numbers in the sums that are kept for the next level
FIRST_CAPACITY = 256  # used projections for which there is room at first


class CombinationSearch:
    """Combinations and splits of a tree.

    Parameters
    ----------
    grower : CategoryGrower

    Attributes
    ----------
    splits : int64 (depth, 3), the splits of the tree, see `category_tree.choose_split`
    tree : CategoryTree
    """

    def __init__(self, grower):
        data = self.data = grower.data
        self.grower, self.workers, self.depth = grower, grower.workers, grower.depth
        self.ctrs = ctr_arrays(data.params.combinations_ctr, data.classes)
        n_borders = np.repeat(self.ctrs.n_borders, np.diff(self.ctrs.ends, prepend=0))
        self.n_bins = n_borders + 1
        self.stride = (-(-int(self.n_bins.max()) // CACHE_LINE) | 1) * CACHE_LINE
        self.places = {j: place for place, j in enumerate(data.counted)}
        self.codes = make_statistic_codes(self.ctrs)
        self.scratch = []
        self.splits = np.empty((self.depth, 3), np.int64)
        self.tree = self._make_tree()

    def _make_tree(self):
        """Return the `CategoryTree`."""
        data, grower, n_statistics = self.data, self.grower, len(self.n_bins)
        n_rows, n_combinations = len(data.X), self.depth * len(data.counted)
        search = self._make_arrays(n_combinations + 1)
        n_slots = len(search.slots.keys)
        columns = grower.all_rows, grower.all_columns, *self._describe_sources()
        scores = np.empty((n_combinations, n_statistics))
        bins = np.empty((n_combinations, n_statistics), np.int64)
        n_sets, n_outputs = len(self.codes.n_codes), grower.n_outputs
        cache = np.empty((n_slots, n_sets, n_rows), np.uint8), np.empty(n_slots, np.int64)
        return CategoryTree(
            search=search,
            static=StaticColumns(*columns, grower.levels, grower.is_exempt),
            candidates=Candidates(grower.best_score, grower.best_bin, scores, bins),
            cache=StatisticCache(*cache),
            ctrs=self.ctrs,
            codes=self.codes,
            n_bins=self.n_bins,
            stride=self.stride,
            model_size_reg=float(data.params.model_size_reg),
            orders=np.stack(data.orders),
            leaf_columns=np.empty((max(self.depth, 1), n_rows), np.uint8),
            records=np.empty((n_outputs, n_rows), np.int64),
            chunks=np.empty(n_rows, np.uint32),
            is_narrow=np.empty((2, 1 << self.depth), bool),
        )

    def _describe_sources(self):
        """Return the kind and the group of each static column, as in `StaticColumns`."""
        kinds, groups, numbers = [], [], {}
        for source in self.grower.sources:
            group = getattr(source, "group", source)
            groups.append(numbers.setdefault(group, len(numbers)))
            if isinstance(source, int):
                kinds.append(fields.NUMERIC)
            elif isinstance(source, Indicator):
                kinds.append(fields.INDICATOR)
            else:
                kinds.append(self.places[source.projection.columns[0]])
        return np.array(kinds, np.int64), np.array(groups, np.int64)

    def _make_arrays(self, n_combinations):
        """Return the `CombinationArrays`."""
        data, depth, n_rows = self.data, self.depth, len(self.data.X)
        n_counted, n_statistics = len(data.counted), len(self.n_bins)
        n_columns = max(1, min(data.params.max_ctr_complexity, n_counted))
        width = n_columns + 2 * depth
        columns = np.array([data.codes_of[j] for j in data.counted], np.int32).reshape(-1, n_rows)
        sizes = np.array([data.sizes[j] for j in data.counted], np.int64)
        bases = BaseCategories(  # one for each split, and one with all rows in one category
            *np.empty((2, depth + 1, n_rows), np.uint32), *np.empty((2, depth + 1), np.int64)
        )
        kinds = np.repeat(self.ctrs.kinds, np.diff(self.ctrs.ends, prepend=0))
        n_slots = KEPT + depth * (1 + n_counted)  # a split adds at most one base
        slots = CombinationSlots(
            np.empty((n_slots, width), np.int64),
            np.empty(n_slots, np.int64),
            np.empty(n_slots, np.int64),
            np.full(n_slots, fields.UNUSED),
            KEPT,
        )
        return CombinationArrays(
            state=np.zeros(fields.FIELDS, np.int64),
            n_columns=n_columns,
            max_ctr_complexity=int(data.params.max_ctr_complexity),
            is_usable=np.empty(len(self.grower.sources), bool),
            added=np.empty(n_counted, np.int64),
            split_key=np.empty(width, np.int64),
            base_keys=np.empty((depth, width), np.int64),
            is_statistic=np.empty(depth, bool),
            combinations_of_base=np.empty((depth, n_counted), np.int64),
            n_combinations_of_base=np.empty(depth, np.int64),
            keys=np.empty((n_combinations, width), np.int64),
            hashes=np.empty(n_combinations, np.int64),
            known=empty_combinations(n_combinations),
            is_exempt=np.empty((n_combinations, n_statistics), bool),
            new=empty_combinations(n_combinations + depth),
            kept=self._make_sums(n_combinations),
            listed=np.empty(n_combinations, np.int64),
            listed_slots=np.empty(n_combinations + depth, np.int64),
            is_listed=np.empty(n_combinations, bool),
            same_kind=kinds[:, None] == kinds,
            parts=CombinationParts(bases, columns, sizes),
            slots=slots,
            used=empty_projections(FIRST_CAPACITY, width, n_statistics),
        )

    def _make_sums(self, n_combinations):
        """Return the `CombinationSums` of at most ``n_combinations`` combinations."""
        n_leaves, width = self._shape_of_sums()
        count = min(n_combinations, MAX_SUMS // (n_leaves * width))
        sums = np.zeros((count, n_leaves, width), np.int64)
        return CombinationSums(sums, np.zeros(n_combinations, np.int64))

    def _shape_of_sums(self):
        """Return the number of leaves at the last level, and the number of sums of a leaf."""
        width = -(-int(self.n_bins.max()) // CACHE_LINE) * CACHE_LINE
        width *= self.grower.n_outputs * len(self.n_bins)
        return 1 << max(self.depth - 1, 0), width

    def reserve(self, n_trees):
        """Make room for the projections that the next trees use."""
        search = self.tree.search
        used, count = search.used, int(search.state[fields.USED])
        while count + n_trees * self.depth > len(used.keys):
            used = grow_projections(used, count)
        if used is not search.used:
            self.tree = self.tree._replace(search=search._replace(used=used))

    def get_state(self):
        """Return the projections that trees use, as arrays of a snapshot, dict."""
        used, count = self.tree.search.used, int(self.tree.search.state[fields.USED])
        return {"used_keys": used.keys[:count], "used_exempt": used.is_exempt[:count]}

    def set_state(self, arrays):
        """Continue from the arrays of a snapshot."""
        search, count = self.tree.search, len(arrays["used_keys"])
        used = search.used
        while count > len(used.keys):
            used = grow_projections(used, 0)
        used.keys[:count], used.is_exempt[:count] = arrays["used_keys"], arrays["used_exempt"]
        fill_buckets(used, count)
        search.state[fields.USED] = count
        self.tree = self.tree._replace(search=search._replace(used=used))

    def start_tree(self, permutation, is_usable):
        """Choose the columns and the permutation of the next tree.

        Parameters
        ----------
        permutation : int, index of the permutation whose target statistics choose the splits
        is_usable : bool (n_columns,), the static columns that may be used
        """
        self.reserve(1)
        order = self.tree.orders[permutation]
        start_search(self.tree.search, self.tree.static, is_usable, order, permutation)

    def grow(self, records, rows, scoring, seeds):
        """Grow a tree in the calling thread; write its splits.

        Parameters
        ----------
        records, rows, scoring, seeds : as in `grow_tree.grow_alone`

        Returns
        -------
        The number of splits, and the leaf of each row, uint16 (n_rows,).
        """
        leaf_of, scratch = np.empty(records.shape[1], np.uint16), self.take_scratch()
        count = grow_category_tree(
            self.grower.arrays, self.tree, scratch, records, rows, scoring, seeds, self.splits,
            leaf_of,
        )  # fmt: skip
        self.scratch.append(scratch)
        return count, leaf_of

    def scan(self, level, records, groups, scoring):
        """Find the best split of each statistic of the combinations of a level.

        Parameters
        ----------
        level : int, number of splits so far
        records : int64 (n_outputs, n_rows), packed gradients and weights
        groups : RowGroups
        scoring : TreeScoring, and the int seed of the noise
        """
        tree, (scoring, seed) = self.tree, scoring
        scratch = self.take_scratch()
        list_combinations(tree.search, tree.static, self.splits, level, scratch.categories)
        self.scratch.append(scratch)
        order_of_bases = tree.orders[self.permutation, :0]  # empty: the order of the bases
        self._write_new(order_of_bases)
        scratch = tree.records, tree.chunks, tree.is_narrow
        level_rows = LevelRows(groups.rows, groups.starts, groups.ends, *scratch)
        order_records(records, level_rows, groups.n_leaves)
        given = self.n_bins, self.stride, scoring.l2, scoring.step
        scoring = LevelScoring(scoring.kind, scoring.noise, seed, *given)
        found = tree.candidates.score, tree.candidates.bin
        listed = tree.search.listed, tree.search.listed_slots

        def scan(first, last):
            scratch = self.take_scratch()
            scan_combinations(
                tree.cache.codes, tree.codes, listed, level_rows, groups.n_leaves, scoring,
                tree.search.kept, scratch.scores, found, first, last,
            )  # fmt: skip
            self.scratch.append(scratch)

        self.workers.share(scan, int(tree.search.state[fields.LISTED]))

    def choose(self, level, noise, seed):
        """Write the best split of a level to `splits`; return its bin.

        Parameters
        ----------
        level : int, number of splits so far
        noise : float64 (n,), quantiles of the noise; (0,): no noise
        seed : int
        """
        tree = self.tree
        choose_split(
            tree.search, tree.static, tree.candidates, tree.cache.n_levels, noise, np.uint32(seed),
            tree.model_size_reg, self.splits[level],
        )  # fmt: skip
        return int(self.splits[level, fields.BIN])

    @property
    def permutation(self):
        """Index of the permutation that chooses the splits of the tree."""
        return int(self.tree.search.state[fields.PERMUTATION])

    def _write_new(self, order):
        """Compute the statistics of the new combinations; see `write_combinations`."""
        tree, search = self.tree, self.tree.search

        def write(first, last):
            scratch = self.take_scratch()
            given = order, tree.ctrs, tree.codes, scratch.categories, tree.cache
            write_combinations(search.parts, search.new, *given, first, last)
            self.scratch.append(scratch)

        self.workers.share(write, int(search.state[fields.NEW]))

    def take_scratch(self):
        """Return a `TreeScratch` that no thread uses."""
        try:
            return self.scratch.pop()
        except IndexError:
            return self._make_scratch()

    def _make_scratch(self):
        """Return a new `TreeScratch`."""
        n_rows = len(self.data.X)
        n_levels = max([2, *self.tree.search.parts.n_levels.tolist()])  # a split has two levels
        width = 2 + int(self.ctrs.n_classes.max())
        has_mean = (self.ctrs.kinds == MEAN).any()
        statistics = StatisticScratch(
            np.empty(n_levels * width, np.int32),
            np.empty(n_levels if has_mean else 0, np.float32),
            np.empty(n_rows, np.int32),
            np.empty(n_rows + 1, np.uint8),
        )
        categories = CategoryScratch(
            np.empty(n_rows, np.uint32), np.empty(n_rows, np.int32), statistics
        )
        n_leaves, width = self._shape_of_sums()
        kept = self.tree.search.kept
        scores = ScoreScratch(
            np.empty((2, MAX_CODES), np.int64),
            np.zeros(MAX_CODES + 1, np.int64),
            np.zeros((n_leaves if len(kept.packed) < len(kept.n_leaves) else 0, width), np.int64),
            np.empty((2, width), np.int64),
            np.empty((4, width // self.grower.n_outputs)),
        )
        return TreeScratch(categories, scores)

    def column(self, level):
        """Return the bins of the column of a split, uint8 (n_rows,)."""
        number, column, _ = self.splits[level]
        if number < 0:
            return self.tree.static.columns[self.permutation, column]
        slot = self.tree.search.known.slots[number]
        return self.codes.bins[column, self.tree.cache.codes[slot, self.codes.set_of[column]]]

    def make_split(self, level):
        """Return a split of the tree as `TreeSplit`."""
        number = int(self.splits[level, fields.COMBINATION])
        key = self.tree.search.keys[number].tolist()
        return self.read_split(self.splits[level].tolist(), key, self.column(level))

    def read_split(self, split, key, column=None):
        """Return a split as `TreeSplit`.

        Parameters
        ----------
        split : list of int, see `category_tree.choose_split`
        key : list of int, the key of its combination, if it has one
        column : uint8 (n_rows,), bins of its column, or None
        """
        number, at, split_bin = split
        if number < 0:
            return self.grower.make_split(at, split_bin, column)
        ctrs, classes = self.data.params.combinations_ctr, self.data.classes
        statistic = statistics_of(self.read_key(key), ctrs, classes)[at]
        return TreeSplit(column, split_bin, statistic)

    def read_key(self, key):
        """Return the `Projection` of a key, a list of int."""
        first = self.tree.search.n_columns
        middle = first + self.depth
        columns = tuple(self.data.counted[code - 1] for code in key[:first] if code)
        borders = [divmod(code - 1, MAX_BINS) for code in key[first:middle] if code]
        levels = [self.grower.sources[(code - 1) // MAX_BINS] for code in key[middle:] if code]
        return Projection(
            columns,
            tuple(self.grower.numeric_split(*one) for one in borders),
            tuple((one.column, one.level) for one in levels),
        )

    def leaf_columns(self, levels):
        """Return the columns of some splits that assign leaves, uint8 (n, n_rows).

        Parameters
        ----------
        levels : list of int, numbers of splits
        """
        splits, slots = self.splits[levels], np.empty(len(levels), np.int64)
        find_leaf_slots(self.tree, splits, slots)
        self._write_new(self.tree.orders[-1])
        copy_leaf_columns(self.tree, splits, slots)
        return self.tree.leaf_columns


def empty_combinations(count):
    """Return `LevelCombinations` of a size that are not written yet."""
    return LevelCombinations(*np.empty((3, count), np.int64))


def empty_projections(capacity, width, n_statistics):
    """Return `UsedProjections` without projections.

    Parameters
    ----------
    capacity : int, a power of 2
    width : int, length of a key
    n_statistics : int, statistics of a combination
    """
    keys, is_exempt = (
        np.zeros((capacity, width), np.int64),
        np.zeros((capacity, n_statistics), bool),
    )
    return UsedProjections(keys, is_exempt, np.full(2 * capacity, -1))


def grow_projections(used, count):
    """Return `UsedProjections` of twice the capacity, with the first ``count`` projections."""
    grown = empty_projections(2 * len(used.keys), used.keys.shape[1], used.is_exempt.shape[1])
    grown.keys[:count], grown.is_exempt[:count] = used.keys[:count], used.is_exempt[:count]
    fill_buckets(grown, count)
    return grown
