"""Growth of trees on tables with categorical columns, with exact integer histograms.

The statistics of categorical columns are numeric columns that depend on a permutation of the rows.
The splits of a tree are chosen with one of three permutations. A fourth one gives the statistics
that assign rows to leaves. With ``has_time`` the only permutation is the order of the rows.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.symmetric.combination_search import CombinationSearch
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.grower import NORMAL, SCORES, SMALL, SymmetricGrower, quantiles_of
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.kernels.split_scores import NOISE_BITS
from algorithms.symmetric.tree_split import GrownCategoricalTree, TreeSplit

PERMUTATION = 4  # salt of seeds, after those of `SymmetricGrower`


@dataclass(frozen=True)
class StaticTable:
    """Bins in one permutation of the columns that are candidates in all trees."""

    rows: np.ndarray  # uint8 (n_rows, n_columns)
    columns: np.ndarray  # uint8 (n_columns, n_rows)
    n_bins: np.ndarray  # int64 (n_columns,)


class CategoryGrower(SymmetricGrower):
    """Grower for a `CategoricalTable`; the result does not depend on the number of threads.

    Parameters
    ----------
    params : the estimator
    data : CategoricalTable
    n_outputs : int, scores per row
    workers : Workers
    """

    search = None  # CombinationSearch; None in ordered boosting and in leaf-wise trees

    def __init__(self, params, data, n_outputs, workers):
        self.data, self.used_groups = data, set()
        self.sources = self._list_sources()
        self.levels = np.array([self._count_levels(one) for one in self.sources], np.int64)
        self.is_free = np.array([isinstance(one, (int, Indicator)) for one in self.sources], bool)
        self.tables = [self._static_table(k) for k in range(len(data.orders))]
        super().__init__(params, self.tables[0], n_outputs, workers)

    def _list_sources(self):
        """Return the source of each static column: a number, an `Indicator` or a `Statistic`."""
        data = self.data
        sources = list(range(len(data.table.features)))
        for j in data.one_hot:
            first = 1 if data.sizes[j] == 2 else 0  # one of two indicators is enough
            sources += [Indicator(j, level) for level in range(first, data.sizes[j])]
        for projection in data.single_projections():
            sources += data.bins(projection).statistics
        return sources

    def _count_levels(self, source):
        """Return the number of levels of a statistic, 0 of another column."""
        is_numeric = isinstance(source, (int, Indicator))
        return 0 if is_numeric else self.data.bins(source.projection).n_levels

    def _static_table(self, number):
        """Return the `StaticTable` of a permutation."""
        data = self.data
        indicators = [s for s in self.sources if isinstance(s, Indicator)]
        parts = [data.table.columns, *(self._indicator(one)[None] for one in indicators)]
        n_bins = [data.table.n_bins, np.full(len(indicators), 2)]
        for projection in data.single_projections():
            own = data.bins(projection, number)
            parts.append(own.rows.T)
            n_bins.append(own.n_bins)
        columns = np.ascontiguousarray(np.concatenate(parts))
        return StaticTable(np.ascontiguousarray(columns.T), columns, np.concatenate(n_bins))

    def _indicator(self, one):
        """Return 1 for rows that have the level of an `Indicator`, else 0; uint8 (n_rows,)."""
        return (self.data.codes_of[one.column] == one.level).astype(np.uint8)

    def _find_splits(self, rows, usable, noise, seed):
        """Return the splits of a tree: list of (number in ``self.splits``, bin)."""
        self.permutation = seed_of(seed, PERMUTATION) % max(len(self.tables) - 1, 1)
        self.table = self.tables[self.permutation]
        if self.search is None:
            given = self.data, self.depth, self.n_outputs, self.workers
            self.search = CombinationSearch(*given)
        self._start_search(usable)
        self.search.start_tree(self.permutation, self.usable_columns)
        return self._find_splits_by_level(rows, usable, noise, seed)

    def _start_search(self, usable):
        """Forget the splits of the last tree, and list the columns for combinations."""
        self.splits = []
        kept = {s.projection for f in usable if hasattr(s := self.sources[f], "projection")}
        self.usable_columns = [p.columns[0] for p in self.data.single_projections() if p in kept]

    def _scan_level(self, groups, noise, seed):
        """Find the best split of each static column and of each combination's statistics."""
        super()._scan_level(groups, noise, seed)
        self._scan_combinations(groups, noise, seed)

    def _scan_combinations(self, groups, noise, seed):
        """Find the best split of each combination's statistics."""
        kind = SCORES[self.params.score_function]
        scoring = kind, quantiles_of(noise), seed, self.l2, self.steps[0]
        self.search.scan(self.splits, self.records, groups, scoring)

    def _combination_candidates(self):
        """Return scores, numbers of categories, and exemptions from the penalty, by statistic."""
        return self.search.candidates

    def _combination_split(self, f):
        """Return the best split of one of these statistics, a `TreeSplit`."""
        return self.search.make_split(f)

    def _best(self, usable, noise, seed):
        """Return the number of the best split in this tree, and its bin."""
        static = self.best_score, self.levels, self.is_free
        if usable is not self.features:
            static = [own[usable] for own in static]
        pairs = zip(static, self._combination_candidates(), strict=True)
        scores, levels, is_free = (np.concatenate(pair) for pair in pairs)
        if noise > 0.0:
            drawn = hash_numbers(seed, len(scores)) >> np.uint32(32 - NOISE_BITS)
            scores = scores + noise * NORMAL[drawn]
        at = int((scores * self._penalties(levels, is_free)).argmax())
        if at < len(usable):
            f = int(usable[at])
            split = self._make_split(self.sources[f], int(self.best_bin[f]), f)
        else:
            split = self._combination_split(at - len(usable))
        self.splits.append(split)
        self._mark_used(split)
        return len(self.splits) - 1, split.bin

    def _penalties(self, levels, is_free):
        """Return the factor of each score: below 1 for statistics that no tree has used.

        Parameters
        ----------
        levels : (n_candidates,), levels of a statistic's projection
        is_free : bool (n_candidates,), columns without a penalty
        """
        factors = (1.0 + levels / max(levels.max(initial=0.0), 1.0)) ** -self.params.model_size_reg
        return np.where(is_free, 1.0, factors)

    def _mark_used(self, split):
        """Exempt the statistics of a split's group from `model_size_reg`."""
        if not split.is_statistic or (group := split.feature.group) in self.used_groups:
            return
        self.used_groups.add(group)
        if split.feature.projection.is_single:
            self.is_free |= [hasattr(s, "group") and s.group == group for s in self.sources]
        elif self.search is not None:
            self.search.mark_used(split.feature)

    def _make_split(self, source, split_bin, f):
        """Return the `TreeSplit` of a column in the permutation that chooses splits."""
        if isinstance(source, int):
            table = self.data.table
            feature = int(table.features[source])
            numeric = feature, table.borders[source][split_bin], bool(table.nan_right[feature])
            return TreeSplit(self.table.columns[f], split_bin, numeric=numeric)
        if isinstance(source, Indicator):
            return TreeSplit(self.table.columns[f], 0, source)
        return TreeSplit(self.table.columns[f], split_bin, source)

    def _column(self, f):
        """Return the bins of a split's column, uint8 (n_rows,)."""
        return self.splits[f].column

    def _leaf_column(self, split, permutation):
        """Return the bins of a split's column in a permutation, uint8 (n_rows,)."""
        if not split.is_statistic or permutation == self.permutation:
            return split.column
        if self.search is not None and not split.feature.projection.is_single:
            return self.search.column_in(split.feature, permutation)
        own = self.data.bins(split.feature.projection, permutation)
        return own.rows[:, own.statistics.index(split.feature)]

    def _find_leaves(self, splits, permutation):
        """Return the leaf of each row by the statistics of a permutation, uint16 (n_rows,)."""
        n_rows = len(self.data.X)
        columns = [self._leaf_column(one, permutation) for one in splits]
        columns = np.array(columns, np.uint8).reshape(-1, n_rows)
        bins = np.array([one.bin for one in splits], np.int64)
        features, leaf_of = np.arange(len(splits)), np.zeros(n_rows, np.uint16)

        def fill(first, last):
            first, last = first * SMALL, min(last * SMALL, n_rows)
            find_leaves(columns, features, bins, leaf_of, first, last)

        if len(features):
            self.workers.share(fill, -(-n_rows // SMALL))
        return leaf_of

    def _finish(self, splits):
        """Return the `GrownCategoricalTree` of some splits of this tree."""
        chosen = [self.splits[f] for f, _ in splits]
        leaf_of = self._find_leaves(chosen, len(self.tables) - 1)
        bins = np.array([one.bin for one in chosen], np.int64)
        return GrownCategoricalTree(np.arange(len(chosen)), bins, leaf_of, chosen)
