"""Growth of CatBoost's trees on tables with categorical columns, to the order of its sums.

Candidates are the static ones (`catboost_candidates`), the statistics of each categorical column,
and those of combinations. The statistics of single columns are summed again at each level; those of
a combination that was a candidate at the last level are summed for one side of its split only.
"""

import numpy as np

from algorithms.parity.catboost_candidates import SourceColumn, StaticCandidates, numeric_sources
from algorithms.parity.catboost_generator import WORDS
from algorithms.parity.catboost_grower import NO_NOISE, CatBoostGrower
from algorithms.parity.catboost_hashes import ProjectionHashes
from algorithms.parity.kernels.catboost_scores import (
    build_all_leaves,
    build_float_level,
    scan_candidates,
)
from algorithms.symmetric.categorical_table import find_bases
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.feature_penalties import columns_of_source, columns_of_split
from algorithms.symmetric.grower import SCORES, SymmetricGrower
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.kernels.segment_scores import FLOATS, ONE_HOT, UNUSED
from algorithms.symmetric.ordered_grower import numeric_candidates
from algorithms.symmetric.tree_split import GrownCategoricalTree, TreeSplit

NO_COLUMNS = np.empty((0, 0), np.uint8)


class CatBoostCategoryGrower(CatBoostGrower):
    """Grower with float64 histograms of numeric columns, one-hot columns and statistics.

    Parameters
    ----------
    params : the estimator
    table : CategoricalTable
    n_outputs : int
    workers : Workers
    """

    permutation = 0  # of the rows, whose statistics choose the splits

    def __init__(self, params, table, n_outputs, workers):
        self.original, self.used_groups = table, set()
        self.hashes = ProjectionHashes(table)
        sources = numeric_sources(table.table) + categorical_sources(table)
        self.static = StaticCandidates(sources, table.rows.shape[0])
        SymmetricGrower.__init__(self, params, table.table, n_outputs, workers)
        shape = max(len(self.static), 1)
        self.best_score, self.best_bin = np.full(shape, -np.inf), np.empty(shape, np.int64)

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownCategoricalTree`; parameters are those of `SymmetricGrower.grow`."""
        self._start_tree()
        self._load(g, weight, seed)
        self.l2 = l2
        rows = np.flatnonzero(weight) if len(weight) else np.arange(g.shape[1])
        if not len(rows) or not (len(self.static) or self.original.counted):
            return self._finish([])
        return self._finish(self._find_splits(rows.astype(np.uint32), None, noise, seed))

    def _start_tree(self):
        """Forget the splits of the last tree."""
        self.before, self.splits, self.histograms = 0.0, [], {}

    def _scan_level(self, groups, _noise, _seed):
        """Find the best split of each static candidate and of each statistic."""
        super()._scan_level(groups, _noise, _seed)
        self._scan_statistics(groups, self._projections())

    def _projections(self):
        """Return the projections whose statistics are candidates at this level, list."""
        table = self.original
        bases = self.hashes.in_order(find_bases(self.splits))
        combined = table.extend((base, table.counted) for base in bases)
        return [*table.single_projections(), *combined]

    def _scan_statistics(self, groups, projections):
        """Find the best split of each statistic of some projections."""
        self.level_bins = self.original.bins_of(projections, self.permutation, self.workers)
        kept, self.level_best = {}, []
        for number, (projection, own) in enumerate(zip(projections, self.level_bins, strict=True)):
            planes = self._statistic_planes(projection, own, groups)
            if self._keeps(projection):
                kept[projection] = planes
            self.level_best.append(self._scan_projection(number, own, planes, groups.n_leaves))
        self.histograms = kept

    def _keeps(self, projection):
        """Return whether the histograms of a projection are kept for the next level."""
        return not projection.is_single

    def _statistic_planes(self, projection, own, groups):
        """Return the histograms of a projection's statistics at this level."""
        stride, count, leaves = int(own.n_bins.max()), len(own.statistics), groups.n_leaves
        given = self.g, self.weight, groups.rows, groups.starts, groups.ends
        planes = np.empty((leaves, self.n_outputs, 2, count * stride))
        earlier = self.histograms.get(projection)
        if earlier is None:
            build_all_leaves(own.rows, *given, leaves, stride, planes)
            return planes
        sizes = groups.ends[:leaves] - groups.starts[:leaves]
        is_true = 2 * int(sizes[leaves // 2 :].sum()) <= int(sizes.sum())
        planes[: len(earlier)] = earlier
        build_float_level(own.rows, *given, leaves // 2, is_true, 0, count, stride, planes)
        return planes

    def _scan_projection(self, number, own, planes, leaves):
        """Return the best score and bin of each statistic of a projection.

        Parameters
        ----------
        number : int, place of the projection at this level
        own : StatisticBins
        planes : histograms, as `_statistic_planes` returns them
        leaves : int
        """
        count, stride = len(own.statistics), int(own.n_bins.max())
        score, split = np.empty(count), np.empty(count, np.int64)
        scan_candidates(
            planes, leaves, numeric_candidates(NO_COLUMNS, own.n_bins - 1), 0, count, stride,
            self.l2, SCORES[self.params.score_function], self._statistic_noise(number, count),
            np.empty(WORDS, np.uint64), np.empty((2, stride)), score, split,
        )  # fmt: skip
        return score, split

    def _statistic_noise(self, _number, _count):
        """Return the `Noise` of a projection's statistics."""
        return NO_NOISE

    def _best(self, _usable, _noise, _seed):
        """Return the number of the best split in this tree, and its bin."""
        static = np.arange(len(self.static))
        scores = [score for score, _ in self.level_best]
        return self._choose_best(static, self.best_score[static], scores)

    def _choose_best(self, static, static_scores, statistic_scores):
        """Return the number of the best split in this tree, and its bin.

        Parameters
        ----------
        static : int (n,), numbers of the static candidates
        static_scores : float64 (n,)
        statistic_scores : list of float64 arrays, the scores of each projection's statistics
        """
        best_gain, best_score, chosen = -np.inf, 0.0, None
        static_scores = self._penalized(static, static_scores)
        gains = self._weighted(static, static_scores - self.before)
        for f, score, gain in zip(static.tolist(), static_scores, gains, strict=True):
            if gain > best_gain:
                best_gain, best_score, chosen = gain, score, (f, None)
        most = max([1, *(own.n_levels for own in self.level_bins)])
        penalty = -float(np.float32(self.params.model_size_reg))
        for number, scores in enumerate(statistic_scores):
            own = self.level_bins[number]
            factor, weight = (1.0 + own.n_levels / most) ** penalty, 1.0
            penalized = scores
            if self.penalties is not None:
                columns = [columns_of_source(own.statistics[0])]
                penalized = self.penalties.penalize(scores, columns * len(scores))
                weight = float(self.penalties.weights_of(columns)[0])
            for k, unweighted in enumerate(penalized):
                is_used = own.statistics[k].group in self.used_groups
                score = unweighted if is_used else unweighted * factor
                gain = (score - self.before) * weight
                if gain > best_gain:
                    best_gain, best_score, chosen = gain, score, (number, k)
        self.before = best_score
        split = self._static_split(chosen[0]) if chosen[1] is None else self._statistic(*chosen)
        self._mark_used(split)
        if self.penalties is not None:
            self.penalties.mark_used(columns_of_split(split))
        self.splits.append(split)
        return len(self.splits) - 1, split.bin

    def _static_split(self, f):
        """Return the best split of a static candidate."""
        source, split = self.static.split_of(f, int(self.best_bin[f]))
        if source.kind == FLOATS:
            return self._numeric_split(source.number, split)
        column = (source.bins == split).astype(np.uint8)
        return TreeSplit(column, 0, Indicator(source.number, split))

    def _numeric_split(self, f, split):
        """Return a split of a numeric column."""
        table = self.original.table
        feature = int(table.features[f])
        numeric = feature, table.borders[f][split], bool(table.nan_right[feature])
        return TreeSplit(table.columns[f], split, numeric=numeric)

    def _statistic(self, number, k):
        """Return the best split of a statistic."""
        own = self.level_bins[number]
        column = np.ascontiguousarray(own.rows[:, k])
        return TreeSplit(column, int(self.level_best[number][1][k]), own.statistics[k])

    def _mark_used(self, split):
        """Exempt the statistics of a split's group from `model_size_reg`."""
        if split.is_statistic:
            self.used_groups.add(split.feature.group)

    def _column(self, f):
        """Return the bins of a split's column, uint8 (n_rows,)."""
        return self.splits[f].column

    def leaves_by(self, grown, permutation):
        """Return the leaf of each row by the statistics of a permutation, uint16 (n_rows,)."""
        n_rows = self.original.rows.shape[0]
        columns = [self._column_in(one, permutation) for one in grown.splits]
        columns = np.array(columns, np.uint8).reshape(-1, n_rows)
        leaf_of = np.zeros(n_rows, np.uint16)
        find_leaves(columns, grown.features, grown.bins, leaf_of, 0, n_rows)
        return leaf_of

    def _column_in(self, split, permutation):
        """Return the bins of a split's column in a permutation, uint8 (n_rows,)."""
        if not split.is_statistic or permutation == self.permutation:
            return split.column
        own = self.original.bins(split.feature.projection, permutation)
        return own.rows[:, own.statistics.index(split.feature)]

    def _finish(self, splits):
        """Return the `GrownCategoricalTree` of some splits of this tree.

        The leaves of the rows are those of the last permutation.
        """
        chosen = [self.splits[f] for f, _ in splits]
        bins = np.array([one.bin for one in chosen], np.int64)
        grown = GrownCategoricalTree(np.arange(len(chosen)), bins, None, chosen)
        leaf_of = self.leaves_by(grown, len(self.original.orders) - 1)
        return GrownCategoricalTree(grown.features, bins, leaf_of, chosen)


def categorical_sources(table):
    """Return the `SourceColumn`s of the categorical columns of a `CategoricalTable`, list."""
    return [
        SourceColumn(j, table.codes_of[j], size, j, ONE_HOT if j in table.one_hot else UNUSED)
        for j, size in table.sizes.items()
        if size > 1
    ]
