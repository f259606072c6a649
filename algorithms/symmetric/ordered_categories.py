"""Growth of trees of ordered boosting on tables with categorical columns.

A tree is grown on the segments of one of the learning permutations. Its target statistics are those
of the same permutation. The scores of the segments of every permutation are updated with the
statistics of that permutation; the leaf values of the model use the statistics of the last one.
"""

import numpy as np

from algorithms.symmetric.category_grower import CategoryGrower
from algorithms.symmetric.grower import SCORES, quantiles_of
from algorithms.symmetric.ordered_grower import (
    SegmentHistograms,
    SegmentScan,
    numeric_candidates,
)


class SegmentCombination:
    """Histograms on segments, and best splits, of the statistics of one combination in a tree."""

    def __init__(self, own, grower):
        self.own, self.grower = own, grower
        self.candidates = numeric_candidates(np.ascontiguousarray(own.rows.T), own.n_bins - 1)
        self.segments = SegmentScan(own.n_bins, grower)
        self.features = np.arange(len(own.statistics))

    def scan(self, groups, noise, seed):
        """Build the histograms of a level, and find the best split of each statistic."""
        kind = SCORES[self.grower.params.score_function]
        scoring = kind, quantiles_of(noise), np.uint32(seed)
        self.segments.scan(self.candidates, groups, scoring, (0, len(self.features)))
        self.segments.is_new = False
        self.best_score, self.best_bin = self.segments.best_score, self.segments.best_split


class OrderedCategoryGrower(SegmentHistograms, CategoryGrower):
    """Grower of ordered boosting for a `CategoricalTable`, without parity."""

    combination = SegmentCombination

    def _candidates(self):
        """Return the `Candidates` that are the same at all levels."""
        self.permutation = min(self.fold_number, len(self.tables) - 1)
        self.table = self.tables[self.permutation]
        return numeric_candidates(self.table.columns, self.table.n_bins - 1)

    def leaves_in(self, grown, number):
        """Return the leaf of each row by the statistics of a fold, uint16 (n_rows,)."""
        return self._find_leaves(grown.splits, min(number, len(self.tables) - 1))

    def _find_splits_by_level(self, rows, usable, noise, seed):
        """Return the splits of a tree: list of (number in ``self.splits``, bin)."""
        self._start_search(usable)
        return super()._find_splits_by_level(rows, usable, noise, seed)

    def _scan_level(self, groups, noise, seed):
        """Find the best split of each static column and of each combination's statistics."""
        super()._scan_level(groups, noise, seed)
        self._scan_combinations(groups, noise, seed)
