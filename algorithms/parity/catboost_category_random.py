"""Plain boosting on tables with categorical columns, with CatBoost's random numbers.

The rows of the table are shuffled first. There are three learning permutations, the first of which
is the order of the table, and one more, which gives the leaf values. Each has its own target
statistics and its own scores of the rows. Each tree is grown on one learning permutation; then each
of them estimates leaf values for its scores.

At each level, after the numbers of the static candidates, a number is drawn for each categorical
column with target statistics, and for each such column again with each base of combinations. All
statistics of a projection share a generator.
"""

from dataclasses import replace

import numpy as np

from algorithms.parity.catboost_categories import CatBoostCategoryGrower
from algorithms.parity.catboost_generator import RandomNumbers
from algorithms.parity.catboost_leaves import CatBoostBooster, CatBoostLeafEstimator
from algorithms.parity.catboost_ordered import CatBoostSegmentLeaves
from algorithms.parity.catboost_random import (
    DrawsOfLeaves,
    SampledCatBoostGrower,
    SampleDrawer,
    draw_orders,
)
from algorithms.parity.kernels.catboost_scores import Noise
from algorithms.symmetric.categorical_table import PERMUTATIONS, find_bases
from algorithms.symmetric.grower import GrownTree
from algorithms.symmetric.leaf_values import NO_WEIGHT, LeafEstimator
from algorithms.symmetric.ordered_grower import FEW_HISTOGRAMS
from algorithms.symmetric.projections import Projection


class SampledCatBoostCategoryGrower(SampledCatBoostGrower, CatBoostCategoryGrower):
    """Grower of CatBoost's trees with categories, sampled rows and columns and with noise."""

    def grow_sample(self, g, weight, rows, l2, noise):
        """Return the `GrownCategoricalTree`; parameters are those of the base class."""
        self._start_tree()
        return super().grow_sample(g, weight, rows, l2, noise)

    def _draw_candidates(self):
        """Draw the columns of a level, and those of its combinations."""
        super()._draw_candidates()
        singles = [Projection((j,)) for j in self._draw_counted()]
        bases = self.hashes.in_order(find_bases(self.splits))
        combined = self.original.extend((base, self._draw_counted()) for base in bases)
        self.projections = [*singles, *combined]

    def _draw_counted(self):
        """Return the drawn columns with target statistics, list."""
        counted = self.original.counted
        kept = self.random.reals(len(counted)) <= np.float32(self.params.rsm)
        return [j for j, is_kept in zip(counted, kept, strict=True) if is_kept]

    def _has_candidates(self):
        """Return whether a column was drawn."""
        return super()._has_candidates() or len(self.projections) > 0

    def _scan_candidates(self, groups, seed):
        """Find the best split of each drawn candidate and of each statistic."""
        super()._scan_candidates(groups, seed)
        self.seed = seed
        self._scan_statistics(groups, self.projections)

    def _keeps(self, projection):
        """Return whether the histograms of a projection are kept for the next level."""
        is_kept = (1 << self.depth) * self.n_outputs < FEW_HISTOGRAMS
        return is_kept and super()._keeps(projection)

    def _statistic_noise(self, number, count):
        """Return the `Noise` of a projection's statistics."""
        place = np.uint64(len(self.drawn_numbers) + number)
        seeds = np.full(count, self.seed) + place
        return Noise(float(self.noise), seeds, np.arange(count) == 0)

    def _choose_split(self):
        """Return the number of the best split in this tree, and its bin."""
        drawn = self.drawn_numbers
        scores = [self.best_score[drawn], *(score for score, _ in self.level_best)]
        noisy = [own + self.random.normals(len(own)) * self.noise for own in scores]
        return self._choose_best(drawn, noisy[0], noisy[1:])


class CatBoostFoldLeaves(CatBoostSegmentLeaves, CatBoostLeafEstimator):
    """Leaf values of a learning permutation; backtracking evaluates all steps of a tree together.

    Parameters are those of `SegmentLeaves`; the body is the whole permutation.
    """

    sample_weight = NO_WEIGHT  # of the last tree that was grown on this permutation

    def _change(self, score, grown):
        """Return the change of each row's score before the learning rate, or the factor of eᶠ."""
        self.start, self.steps = score, np.zeros(grown.n_leaves)
        return super()._change(score, grown)

    def _try_step(self, _score, step, grown):
        """Return the metric after the steps of this tree and one more."""
        return self._loss_after(self.start, self.steps + step[:, 0], grown.leaf_of), None

    def _shorten(self, step, score, grown, state):
        """Halve a step until the metric falls; parameters are those of the base class."""
        found = super()._shorten(step, score, grown, state)
        if found[0] is not None:
            self.steps += found[0][:, 0]
        return found

    def _quantile_weights(self):
        """Return the weights of the residuals: those of the last sample."""
        return self.sample_weight


class CatBoostFold:
    """A learning permutation and its scores.

    Parameters
    ----------
    booster : SampledCatBoostCategoryBooster
    order : uint32 (n_rows,)
    y, weight : float32 (n_rows,) in the order of the table; weight is (0,) if all are 1
    """

    def __init__(self, booster, order, y, weight):
        self.order, self.y = order, y[order]
        self.weight = weight[order] if len(weight) else weight
        self.score, self.g = booster.score.copy(), np.empty_like(booster.score)
        params, workers = booster.params, booster.workers
        self.leaves = CatBoostFoldLeaves(
            params, booster.objective, self.y, self.weight, len(y), workers
        )
        self.leaves.l2 = booster.leaves.l2
        self.drawer = SampleDrawer(params, self.weight, booster.random, workers)

    def by_row(self, values):
        """Return values in the order of the permutation in that of the table, (…, n_rows)."""
        out = np.empty_like(values)
        if len(values):
            out[..., self.order] = values
        return out


class SampledCatBoostCategoryBooster(DrawsOfLeaves, CatBoostBooster):
    """Plain boosting with target statistics that builds CatBoost's trees without ``has_time``.

    The rows must be in the order of the generator's first shuffle.
    """

    def __init__(self, params, table, grower, objective, y, weight, start, seed):
        self.random = grower.random = RandomNumbers(seed)
        *orders, self.order = draw_orders(self.random, params, len(y), PERMUTATIONS)
        own_weight = weight[self.order] if len(weight) else weight
        super().__init__(params, table, grower, objective, y[self.order], own_weight, start, seed)
        self.leaves.l2 = LeafEstimator(params, objective, y, weight, self.workers).l2
        self.folds = [CatBoostFold(self, order, y, weight) for order in orders]

    def _grow(self, number):
        """Return the splits of the next tree, and the leaf of each row in the last permutation."""
        place = int(self.random.numbers(2)[0] % np.uint64(len(self.folds)))
        fold = self.folds[place]
        self._differentiate(fold.score, fold.y, fold.weight, fold.g)
        last = self.done[-1].values if self.done else None
        factors, weight, places = fold.drawer.draw(fold.g, last)
        fold.leaves.sample_weight = weight
        g = fold.g * factors if len(factors) else fold.g
        noise = self._noise(fold.g, number)
        self.grower.permutation = place
        grown = self.grower.grow_sample(
            fold.by_row(g), fold.by_row(weight), fold.order[places], self.leaves.l2, noise
        )
        return replace(grown, leaf_of=grown.leaf_of[self.order])

    def _update(self, grown):
        """Add a tree to the scores of the learning permutations."""
        for number, fold in enumerate(self.folds):
            self.workers.check()
            leaf_of = self.grower.leaves_by(grown, number)[fold.order]
            own = GrownTree(grown.features, grown.bins, leaf_of)
            fold.leaves.update(fold.score, own, self.rate)
            self.check(fold.score)
