"""Growth of CatBoost's Depthwise and Lossguide trees on tables with categorical columns.

The candidates are those of `catboost_categories`, without combinations. The statistics of single
columns are summed and subtracted as the numeric columns are.

The factor of a statistic that no tree uses depends on the largest number of levels. CatBoost's
Depthwise reads this number before it computes the statistics, so it is 1 in the first search.
"""

import numpy as np

from algorithms.parity.catboost_categories import CatBoostCategoryGrower
from algorithms.parity.catboost_grower import NO_NOISE
from algorithms.parity.catboost_leafwise import CatBoostLeafwiseGrower
from algorithms.parity.kernels.catboost_scores import build_float_level
from algorithms.symmetric.feature_penalties import columns_of_source
from algorithms.symmetric.kernels.segment_scores import FLOATS
from algorithms.symmetric.leafwise_categories import CategoricalNodes
from algorithms.symmetric.tree_split import TreeSplit


class CatBoostLeafwiseCategoryGrower(
    CategoricalNodes, CatBoostLeafwiseGrower, CatBoostCategoryGrower
):
    """Grower with float64 histograms, summed in CatBoost's order.

    Parameters
    ----------
    params : the estimator
    table : CategoricalTable
    n_outputs : int
    workers : Workers
    """

    def __init__(self, params, table, n_outputs, workers):
        CatBoostCategoryGrower.__init__(self, params, table, n_outputs, workers)
        found = [table.bins(one) for one in table.single_projections()]
        self.statistics = [one for own in found for one in own.statistics]
        self.levels = [own.n_levels for own in found for _ in own.statistics]
        self.most_levels = 1 if params.grow_policy == "Depthwise" else max([1, *self.levels])
        n_bins = [own.n_bins for own in found]
        self.level_rows = np.hstack([self.static.rows, *(own.rows for own in found)])
        self.candidates = self._append_statistics([own - 1 for own in n_bins])
        self.stride = max([self.stride, *(int(own.max()) for own in n_bins)])
        count = len(self.candidates.kinds)
        self.features = np.arange(count)
        self.best_score, self.best_bin = np.full(count, -np.inf), np.empty(count, np.int64)
        self.plane_shape = 1, n_outputs, 2, max(count, 1) * self.stride

    def _make_histograms(self):
        """Set the stride of the static candidates; histograms are those of the leaves."""
        self._list_features()

    def _append_statistics(self, counts):
        """Return the static `Candidates` and those of the statistics, which have no columns.

        Parameters
        ----------
        counts : list of int64 arrays, the number of splits of each statistic
        """
        static, added = self.static.arrays, len(self.statistics)
        return static._replace(
            n_splits=np.concatenate([static.n_splits, *counts]),
            kinds=np.append(static.kinds, np.full(added, FLOATS, np.int8)),
            masks=np.append(static.masks, np.ones(added, np.int64)),
        )

    def _find_splits(self, rows, _usable, noise, seed):
        """Return the nodes of a tree, list of [split, bin, left child, right child]."""
        return super()._find_splits(rows, self.features, noise, seed)

    def _build_features(self, leaf, ends, first, last):
        """Build the histogram of a leaf for the candidates first … last − 1."""
        build_float_level(
            self.level_rows, self.g, self.weight, leaf.rows, np.zeros(1, np.int64), ends, 0,
            False, first, last, self.stride, leaf.planes,
        )  # fmt: skip

    def _scan(self, planes, _seed, first, last):
        """Find the best split of the candidates first … last − 1 of a leaf."""
        self._scan_static(planes, 1, self.candidates, NO_NOISE, first, last)

    def _columns_of(self, candidates):
        """Return the columns of X of each candidate, list of tuples."""
        n_static = len(self.static)
        static = super()._columns_of(candidates[:n_static])
        return [*((int(one),) for one in static), *map(columns_of_source, self.statistics)]

    def _choose(self, scores, unsplit):
        """Return the best split of a leaf and its gain; parameters are those of the base class."""
        penalty = -float(np.float32(self.params.model_size_reg))
        factors = np.array([(1.0 + n / self.most_levels) ** penalty for n in self.levels])
        self.most_levels = max([1, *self.levels])  # of all further searches
        is_used = [one.group in self.used_groups for one in self.statistics]
        n_static = len(self.static)
        scores = self._penalized(self.features, scores.copy())
        scores[n_static:] = np.where(is_used, scores[n_static:], scores[n_static:] * factors)
        gains = scores - unsplit
        at = int(self._weighted(self.features, gains).argmax())
        if at < n_static:
            split = self._static_split(at)
        else:
            column = self.level_rows[:, at].astype(np.uint8)
            split = TreeSplit(column, int(self.best_bin[at]), self.statistics[at - n_static])
        return self._add_split(split), float(gains[at])
