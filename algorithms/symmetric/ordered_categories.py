"""Growth of trees of ordered boosting on tables with categorical columns.

A tree is grown on the segments of one of the learning permutations. Its target statistics are those
of the same permutation. The scores of the segments of every permutation are updated with the
statistics of that permutation; the leaf values of the model use the statistics of the last one.
"""

import numpy as np

from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.symmetric.category_grower import CategoryGrower
from algorithms.symmetric.feature_penalties import columns_of_source
from algorithms.symmetric.grower import NORMAL, SCORES, quantiles_of
from algorithms.symmetric.kernels.split_scores import NOISE_BITS
from algorithms.symmetric.ordered_grower import (
    SegmentHistograms,
    SegmentScan,
    numeric_candidates,
)
from algorithms.symmetric.tree_split import GrownCategoricalTree, TreeSplit


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
        kept = {s.projection for f in usable if hasattr(s := self.sources[f], "projection")}
        self.usable_columns = [p.columns[0] for p in self.data.single_projections() if p in kept]
        self.splits = []
        self.combinations = {}  # SegmentCombination by projection
        return super()._find_splits_by_level(rows, usable, noise, seed)

    def _scan_level(self, groups, noise, seed):
        """Find the best split of each static column and of each combination's statistics."""
        super()._scan_level(groups, noise, seed)
        self._scan_combinations(groups, noise, seed)

    def _scan_combinations(self, groups, noise, seed):
        """Find the best split of each combination's statistics."""
        projections = self.data.combinations(self.splits, self.usable_columns)
        found = self.data.bins_of(projections, self.permutation, self.workers)
        earlier, self.combinations = self.combinations, {}
        for projection, own in zip(projections, found, strict=True):
            self.combinations[projection] = earlier.get(projection) or SegmentCombination(own, self)
        scanned = list(self.combinations.values())

        def scan(first, last):
            for number in range(first, last):
                scanned[number].scan(groups, noise, seed_of(seed, number))

        self.workers.share(scan, len(scanned))

    def _combination_candidates(self):
        """Return scores, numbers of categories, and exemptions from the penalty, by statistic."""
        scores, levels, is_exempt = [np.empty(0)], [], []
        for one in self.combinations.values():
            scores.append(one.best_score)
            levels += [one.own.n_levels] * len(one.features)
            is_exempt += [own.group in self.used_groups for own in one.own.statistics]
        return np.concatenate(scores), np.array(levels, np.int64), np.array(is_exempt, bool)

    def _combination_split(self, f):
        """Return the best split of one of these statistics, a `TreeSplit`."""
        for one in self.combinations.values():
            if f < len(one.features):
                break
            f -= len(one.features)
        column = np.ascontiguousarray(one.own.rows[:, f])
        return TreeSplit(column, int(one.best_bin[f]), one.own.statistics[f])

    def _best(self, usable, noise, seed):
        """Return the number of the best split in this tree, and its bin."""
        static = self.best_score, self.levels, self.is_exempt
        if usable is not self.features:
            static = [own[usable] for own in static]
        pairs = zip(static, self._combination_candidates(), strict=True)
        scores, levels, is_exempt = (np.concatenate(pair) for pair in pairs)
        columns = None if self.penalties is None else self._candidate_columns(usable)
        if columns is not None:
            scores = self.penalties.penalize(scores, columns)
        if noise > 0.0:
            drawn = hash_numbers(seed, len(scores)) >> np.uint32(32 - NOISE_BITS)
            scores = scores + noise * NORMAL[drawn]
        scores = scores * self._model_size_factors(levels, is_exempt)
        if columns is None:
            at = int(scores.argmax())
        else:
            at = self.penalties.pick_best_candidate(scores, columns)
        if at < len(usable):
            f = int(usable[at])
            split = self.make_split(f, int(self.best_bin[f]), self.table.columns[f])
        else:
            split = self._combination_split(at - len(usable))
        self.splits.append(split)
        self._mark_used(split)
        return len(self.splits) - 1, split.bin

    def _candidate_columns(self, usable):
        """Return the columns of X of the static columns and of each combination's statistics."""
        statistics = [one for own in self.combinations.values() for one in own.own.statistics]
        return self._columns_of(usable) + [columns_of_source(one) for one in statistics]

    def _column(self, f):
        """Return the bins of a split's column, uint8 (n_rows,)."""
        return self.splits[f].column

    def _find_leaves(self, splits, permutation):
        """Return the leaf of each row by the statistics of a permutation, uint16 (n_rows,)."""
        columns = [self._leaf_column(one, permutation) for one in splits]
        columns = np.array(columns, np.uint8).reshape(-1, len(self.data.X))
        return self._follow_splits(columns, np.array([one.bin for one in splits], np.int64))

    def _finish(self, splits):
        """Return the `GrownCategoricalTree` of some splits of this tree."""
        chosen = [self.splits[f] for f, _ in splits]
        leaf_of = self._find_leaves(chosen, len(self.tables) - 1)
        bins = np.array([one.bin for one in chosen], np.int64)
        return GrownCategoricalTree(np.arange(len(chosen)), bins, leaf_of, chosen)
