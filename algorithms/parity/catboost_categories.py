"""Growth of CatBoost's trees on tables with categorical columns, to the order of its sums.

Candidates are the numeric columns with several borders, one-hot columns with three or more levels,
packs of eight columns with one border or two levels, the statistics of each categorical column, and
those of combinations. The statistics of single columns are summed anew at each level; those of a
combination that was a candidate at the last level are summed for one side of its split only.
"""

import numpy as np

from algorithms.parity.catboost_grower import PACK as PACK_SIZE
from algorithms.parity.catboost_grower import CatBoostGrower, pack_bits
from algorithms.parity.kernels.catboost_categories import build_all_leaves, scan_candidates
from algorithms.parity.kernels.catboost_scores import build_float_level
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.grower import SCORES, SymmetricGrower
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.kernels.segment_scores import FLOATS, ONE_HOT, PACK
from algorithms.symmetric.tree_split import GrownCategoricalTree, TreeSplit


class CatBoostCategoryGrower(CatBoostGrower):
    """Grower with float64 histograms of numeric columns, one-hot columns and statistics.

    Parameters
    ----------
    params : the estimator
    table : CategoricalTable
    n_outputs : int
    workers : Workers
    """

    def __init__(self, params, table, n_outputs, workers):
        self.original, self.used_groups = table, set()
        bins = table.table.n_bins
        several, single = np.flatnonzero(bins > 2), np.flatnonzero(bins == 2)
        one_hot = [j for j in table.one_hot if table.sizes[j] > 2]
        binary = [j for j, size in table.sizes.items() if size == 2]
        packed = [(int(f), None) for f in single] + [(None, j) for j in binary]
        self.packs = [packed[i : i + PACK_SIZE] for i in range(0, len(packed), PACK_SIZE)]
        self.candidates = [*several.tolist(), *one_hot, *self.packs]
        self.kinds = np.array(
            [FLOATS] * len(several) + [ONE_HOT] * len(one_hot) + [PACK] * len(self.packs), np.int8
        )
        self.masks = np.array([self._mask(one) for one in self.candidates], np.int64)
        self.n_splits = np.array(
            [*(bins[several] - 1), *(table.sizes[j] for j in one_hot), *map(len, self.packs)],
            np.int64,
        )
        columns = [table.columns[f] for f in several]
        columns += [table.codes_of[j].astype(np.uint8) for j in one_hot]
        columns += [pack_bits(np.array([self._bit(*m) for m in own])) for own in self.packs]
        n_rows = table.rows.shape[0]
        rows = np.array(columns, np.uint8).reshape(-1, n_rows).T
        self.static_rows = np.ascontiguousarray(rows)
        SymmetricGrower.__init__(self, params, table.table, n_outputs, workers)
        self.features = np.arange(len(self.candidates))
        shape = max(len(self.candidates), 1)
        self.best_score, self.best_bin = np.empty(shape), np.empty(shape, np.int64)

    def _bit(self, f, j):
        """Return the bit of a packed column, uint8 (n_rows,)."""
        return self.original.columns[f] if j is None else self.original.codes_of[j].astype(np.uint8)

    def _mask(self, candidate):
        """Return the usable bits of a pack, or 0."""
        if not isinstance(candidate, list):
            return 0
        usable = [j is None or j in self.original.one_hot for _, j in candidate]
        return sum(1 << bit for bit, one in enumerate(usable) if one)

    def _make_histograms(self):
        """Allocate the histograms of the static candidates."""
        self.stride = self._find_stride()
        n_slots = 1 << max(self.depth - 1, 0)
        shape = n_slots, self.n_outputs, 2, max(len(self.kinds), 1) * self.stride
        self.planes = np.empty(shape)

    def _find_stride(self):
        """Return the number of entries of a static candidate in a histogram."""
        widths = (
            1 << int(n) if kind == PACK else int(n) + (kind == FLOATS)
            for n, kind in zip(self.n_splits, self.kinds, strict=True)
        )
        return max(widths, default=1)

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownCategoricalTree`; parameters are those of `SymmetricGrower.grow`."""
        self.before, self.splits, self.histograms = 0.0, [], {}
        self._load(g, weight, seed)
        self.l2 = l2
        rows = np.flatnonzero(weight) if len(weight) else np.arange(g.shape[1])
        if not len(rows) or not (len(self.candidates) or self.original.counted):
            return self._finish([])
        return self._finish(self._find_splits(rows.astype(np.uint32), None, noise, seed))

    def _scan_level(self, groups, _noise, _seed):
        """Find the best split of each static candidate and of each statistic."""
        leaves = groups.n_leaves
        n_before = leaves // 2
        sizes = groups.ends[:leaves] - groups.starts[:leaves]
        side = n_before, 2 * int(sizes[n_before:].sum()) <= int(sizes.sum())
        given = self.g, self.weight, groups.rows, groups.starts, groups.ends
        if len(self.candidates):
            self._scan_static(given, side, leaves)
        table = self.original
        combined = table.combinations(self.splits, table.counted)
        projections = [*table.single_projections(), *combined]
        self.level_bins = table.bins_of(projections, 0, self.workers)
        kept = {}
        self.level_best = []
        for number, own in enumerate(self.level_bins):
            projection = own.statistics[0].projection
            planes = self._statistic_planes(projection, own, given, side, leaves)
            if number >= len(table.counted):
                kept[projection] = planes
            self.level_best.append(self._scan_statistics(own, planes, leaves))
        self.histograms = kept

    def _scan_static(self, given, side, leaves):
        """Build the histograms of the static candidates and scan them."""
        kind = SCORES[self.params.score_function]

        def scan(first, last):
            build_float_level(
                self.static_rows, *given, *side, first, last, self.stride, self.planes
            )
            scan_candidates(
                self.planes, leaves, self.n_splits, self.kinds, self.masks, first, last,
                self.stride, self.l2, kind, np.empty((2, self.stride)), self.best_score,
                self.best_bin,
            )  # fmt: skip

        self.workers.share(scan, len(self.candidates))

    def _statistic_planes(self, projection, own, given, side, leaves):
        """Return the histograms of a projection's statistics at this level."""
        stride, count = int(own.n_bins.max()), len(own.statistics)
        planes = np.empty((leaves, self.n_outputs, 2, count * stride))
        earlier = self.histograms.get(projection)
        if earlier is None:
            build_all_leaves(own.rows, *given, leaves, stride, planes)
        else:
            planes[: len(earlier)] = earlier
            build_float_level(own.rows, *given, *side, 0, count, stride, planes)
        return planes

    def _scan_statistics(self, own, planes, leaves):
        """Return the best score and bin of each statistic of a projection."""
        count, stride = len(own.statistics), int(own.n_bins.max())
        score, split = np.empty(count), np.empty(count, np.int64)
        kinds, masks = np.zeros(count, np.int8), np.zeros(count, np.int64)
        kind = SCORES[self.params.score_function]
        scan_candidates(
            planes, leaves, own.n_bins - 1, kinds, masks, 0, count, stride, self.l2, kind,
            np.empty((2, stride)), score, split,
        )  # fmt: skip
        return score, split

    def _best(self, _usable, _noise, _seed):
        """Return the number of the best split in this tree, and its bin."""
        best_gain, best_score, chosen = -np.inf, 0.0, None
        for f in range(len(self.candidates)):
            gain = self.best_score[f] - self.before
            if gain > best_gain:
                best_gain, best_score, chosen = gain, self.best_score[f], (f, None)
        most = max([1, *(own.n_levels for own in self.level_bins)])
        penalty = -float(np.float32(self.params.model_size_reg))
        for number, (scores, _) in enumerate(self.level_best):
            own = self.level_bins[number]
            factor = (1.0 + own.n_levels / most) ** penalty
            for k, unweighted in enumerate(scores):
                is_used = own.statistics[k].group in self.used_groups
                score = unweighted if is_used else unweighted * factor
                if score - self.before > best_gain:
                    best_gain, best_score, chosen = score - self.before, score, (number, k)
        self.before = best_score
        split = self._static_split(chosen[0]) if chosen[1] is None else self._statistic(*chosen)
        self._mark_used(split)
        self.splits.append(split)
        return len(self.splits) - 1, split.bin

    def _static_split(self, f):
        """Return the best split of a static candidate."""
        table, split = self.original, int(self.best_bin[f])
        candidate = self.candidates[f]
        if self.kinds[f] == FLOATS:
            return self._numeric_split(candidate, split)
        if self.kinds[f] == ONE_HOT:
            column = (table.codes_of[candidate] == split).astype(np.uint8)
            return TreeSplit(column, 0, Indicator(candidate, split))
        f, j = candidate[split]
        if j is None:
            return self._numeric_split(f, 0)
        return TreeSplit(table.codes_of[j].astype(np.uint8), 0, Indicator(j, 1))

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

    def _finish(self, splits):
        """Return the `GrownCategoricalTree` of some splits of this tree."""
        chosen = [self.splits[f] for f, _ in splits]
        n_rows = self.original.rows.shape[0]
        columns = np.array([one.column for one in chosen], np.uint8).reshape(-1, n_rows)
        bins = np.array([one.bin for one in chosen], np.int64)
        features, leaf_of = np.arange(len(chosen)), np.zeros(n_rows, np.uint16)
        find_leaves(columns, features, bins, leaf_of, 0, n_rows)
        return GrownCategoricalTree(features, bins, leaf_of, chosen)
