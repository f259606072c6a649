"""Ordered boosting with CatBoost's random numbers.

Without ``has_time`` the rows of the whole table are shuffled first. The first learning permutation
is that order; two more are shuffled in blocks of rows. Each tree is grown on one of them. The
weights of the sampled rows apply to tails only, but rows that are left out are missing in bodies,
too.
"""

import numpy as np

from algorithms.parity.catboost_generator import WORDS, RandomNumbers
from algorithms.parity.catboost_leaves import CatBoostLeafEstimator
from algorithms.parity.catboost_ordered import CatBoostOrderedBooster, CatBoostOrderedGrower
from algorithms.parity.catboost_random import (
    DrawsOfLeaves,
    SampledLevels,
    SampleDrawer,
    draw_orders,
    sums_true_side,
)
from algorithms.parity.kernels.catboost_scores import scan_noisy_segments
from algorithms.symmetric.grower import SCORES
from algorithms.symmetric.kernels.segment_scores import LeafRows, SegmentRows
from algorithms.symmetric.segments import LEARNING_FOLDS


class SampledCatBoostOrderedGrower(SampledLevels, CatBoostOrderedGrower):
    """Grower of CatBoost's ordered trees with sampled rows and columns and with noise."""

    def grow_sample(self, g, weight, rows, noise):
        """Return the `GrownTree` of some rows; `start_tree` must be called before.

        Parameters
        ----------
        g : float64 (n_scores, n_entries), times the weights
        weight : float32 (n_entries,), or (0,) if all are 1
        rows : uint32, in the order of the permutation
        noise : float, standard deviation of the noise of a score
        """
        self.segment_rows = SegmentRows(
            self.fold.position, self.fold.segments, self.segment_l2, g, weight
        )
        return self._finish(self._find_sampled_splits(rows, noise))

    def _scan_candidates(self, groups, seed):
        """Build the histograms of a level, and find the best split of each usable candidate."""
        own, usable, noise = self.segment_scan, self.drawn.masks > 0, self._noise_of(seed)
        side = int(sums_true_side(groups))
        sides = np.where(self.is_built & own.keeps, side, -1)
        leaf_rows = LeafRows(groups.rows, groups.starts, groups.ends)
        kind = SCORES[self.params.score_function]

        def scan(first, last):
            scan_noisy_segments(
                self.drawn, leaf_rows, self.segment_rows, kind, noise, np.empty(WORDS, np.uint64),
                groups.n_leaves, sides, own.planes, first, last, np.empty((2, own.stride)),
                own.best_score, own.best_split,
            )  # fmt: skip

        self.workers.share(scan, len(usable))
        self.is_built = usable
        self.best_score, self.best_bin = own.best_score, own.best_split


class SampledCatBoostOrderedBooster(DrawsOfLeaves, CatBoostOrderedBooster):
    """Ordered boosting that builds CatBoost's trees with CatBoost's random numbers.

    Without ``has_time`` the rows must be in the order of the generator's first shuffle.
    """

    leaf_estimator = CatBoostLeafEstimator

    def __init__(self, params, table, grower, objective, y, weight, start, seed):
        self.random = grower.random = RandomNumbers(seed)
        super().__init__(params, table, grower, objective, y, weight, start, seed)
        self.drawers = [
            SampleDrawer(params, weight[m.fold.order] if len(weight) else weight, self.random,
                         self.workers)
            for m in self.models
        ]  # fmt: skip

    def _draw_orders(self, n_rows, _seed):
        """Return the learning permutations, list of uint32 (n_rows,)."""
        if self.params.has_time:
            return [np.arange(n_rows, dtype=np.uint32)]
        return draw_orders(self.random, self.params, n_rows, LEARNING_FOLDS)

    def _grow(self, number):
        """Return the splits of the next tree, and the leaf of each row."""
        fold = int(self.random.numbers(2)[0] % np.uint64(len(self.models)))
        model = self.models[fold]
        g = np.empty_like(model.score)
        self._differentiate(model.score, model.y, model.weight, g)
        noise = self._noise(g[:, model.tails], number)
        weight, places = self._draw_tails(fold, g)
        self.grower.start_tree(fold, model.fold, model.l2)
        return self.grower.grow_sample(g, weight, model.fold.order[places], noise)

    def _draw_tails(self, fold, g):
        """Multiply the tails' derivatives by their factors; return all weights and the places."""
        model = self.models[fold]
        last = self.done[-1].values if self.done else None
        placed = np.ascontiguousarray(g[:, model.placed])
        factors, _, places = self.drawers[fold].draw(placed, last)
        if not len(factors):
            return model.weight, places
        factors = factors[model.first_body :]
        weight = model.weight.copy() if len(model.weight) else np.ones(g.shape[1], np.float32)
        g[:, model.tails] *= factors
        weight[model.tails] *= factors
        return weight, places
