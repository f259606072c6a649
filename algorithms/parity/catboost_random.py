"""Boosting with CatBoost's random numbers: sampled rows, sampled columns and noisy split scores.

A fit has one generator. The numbers that are drawn for a tree, in this order:

    1. a number that chooses the fold, and a seed for derivatives
    2. the weights of the rows: a number for each row (Bernoulli), or one seed (MVS, Bayesian)
    3. for each level: a number for each column (kept if it is at most ``rsm``), one seed for the
       noise of the splits, and a normal number for each candidate
    4. a seed for the folds, and a number for each leaf estimation step of a loss with one score

Numbers without an effect are drawn, too, because later ones depend on how many were drawn.
"""

import numpy as np

from algorithms.parity.catboost_generator import WORDS, RandomNumbers
from algorithms.parity.catboost_grower import CatBoostGrower
from algorithms.parity.catboost_leaves import CatBoostBooster
from algorithms.parity.catboost_ordered import fast_log
from algorithms.parity.kernels.catboost_random import (
    BAYESIAN_BLOCK,
    GRADIENT_BLOCK,
    draw_blocks,
    draw_by_gradients,
    raise_to_power,
)
from algorithms.parity.kernels.catboost_scores import Noise, build_float_level
from algorithms.symmetric.grower import RowGroups
from algorithms.symmetric.kernels.grow_tree import find_redundant_split
from algorithms.symmetric.ordered_grower import FEW_HISTOGRAMS
from algorithms.symmetric.params import needs_shuffled_rows
from algorithms.symmetric.sampling import ALL_ROWS
from algorithms.symmetric.segments import find_block

MIN_WEIGHT = np.finfo(np.float32).eps  # rows of less weight are left out by MVS
MIN_REAL = 1e-100  # added to a number before its logarithm is taken


class SampleDrawer:
    """Weights and rows of a tree, drawn as CatBoost draws them.

    Parameters
    ----------
    params : the estimator, with resolved ``bootstrap_type`` and ``subsample``
    weight : (n_rows,) float32, sample weights; (0,) if all are 1
    random : RandomNumbers
    workers : Workers
    """

    def __init__(self, params, weight, random, workers):
        self.kind, self.share = params.bootstrap_type, np.float32(params.subsample)
        self.temperature = np.float32(params.bagging_temperature)
        self.given_l2 = params.mvs_reg
        self.weight, self.random, self.workers = weight, random, workers

    def draw(self, g, last_leaves):
        """Return the factors of the derivatives, the weights and the rows of a tree.

        Parameters
        ----------
        g : float64 (n_outputs, n_rows), derivatives times sample weights
        last_leaves : (n_leaves, n_outputs) values of the last tree, or None

        Returns
        -------
        float32 (n_rows,) twice, or (0,) where all are 1; uint32 (n_drawn,), ascending
        """
        n_rows = g.shape[1]
        factors, rows = ALL_ROWS, np.arange(n_rows, dtype=np.uint32)
        if self.kind == "Bernoulli" and self.share < 1.0:
            kept = self.random.reals(n_rows) < self.share
            return factors, self.weight, np.flatnonzero(kept).astype(np.uint32)
        if self.kind == "Bayesian" and self.temperature > 0.0:
            factors = self._bayesian_weights(n_rows)
        elif self.kind == "MVS" and self.share < 1.0:
            factors = self._gradient_weights(g, last_leaves)
        if not len(factors):
            return factors, self.weight, rows
        weight = factors * self.weight if len(self.weight) else factors
        if self.kind == "MVS":
            rows = np.flatnonzero(weight > MIN_WEIGHT).astype(np.uint32)
        return factors, weight, rows

    def _bayesian_weights(self, n_rows):
        """Return (−log u) ** temperature for uniform numbers u, by the fast logarithm."""
        seed, reals = self.random.numbers(1)[0], np.empty(n_rows)

        def draw(first, last):
            draw_blocks(seed, np.empty(WORDS, np.uint64), reals, first, last)

        self.workers.share(draw, -(-n_rows // BAYESIAN_BLOCK))
        weights = -fast_log((reals + MIN_REAL).astype(np.float32))
        if self.temperature != 1.0:
            raise_to_power(weights, self.temperature)
        return weights

    def _gradient_weights(self, g, last_leaves):
        """Return the weights of minimal variance sampling."""
        n_rows = g.shape[1]
        weights = np.empty(n_rows, np.float32)
        l2 = self._find_l2(g, last_leaves)
        seed = self.random.numbers(1)[0]

        def draw(first, last):
            scratch = np.empty(GRADIENT_BLOCK), np.empty(WORDS, np.uint64)
            draw_by_gradients(g, self.share, l2, seed, *scratch, weights, first, last)

        self.workers.share(draw, -(-n_rows // GRADIENT_BLOCK))
        return weights

    def _find_l2(self, g, last_leaves):
        """Return λ of minimal variance sampling."""
        if self.given_l2 is not None:
            return float(np.float32(self.given_l2))
        if last_leaves is None:
            mean = mean_in_blocks(norms(g))
        else:
            sizes = norms(np.ascontiguousarray(last_leaves.T))
            mean = np.cumsum(sizes)[-1] / len(sizes)
        return float(mean * mean)


def draw_orders(random, params, n_rows, count):
    """Return permutations of the rows, list of uint32 (n_rows,): the first is their order.

    The others are shuffled in blocks of rows, after the numbers that shuffle the table itself.

    Parameters
    ----------
    random : RandomNumbers
    params : the estimator
    n_rows, count : int
    """
    random.shuffled(n_rows)
    orders = [np.arange(n_rows, dtype=np.uint32)]
    block = find_block(params.fold_permutation_block, n_rows)
    for _ in range(1, count):
        blocks = random.shuffled(-(-n_rows // block))
        order = (blocks[:, None] * block + np.arange(block)).ravel()
        orders.append(order[order < n_rows].astype(np.uint32))
    return orders


def norms(values):
    """Return √Σ v² of each column; squares are added in order."""
    total = np.zeros(values.shape[1])
    for row in values:
        total += row * row
    return np.sqrt(total)


def mean_in_blocks(values, blocks=128):
    """Return the mean; blocks of equal size are summed first."""
    size = -(-len(values) // blocks)
    sums = [np.cumsum(values[i : i + size])[-1] for i in range(0, len(values), size)]
    return np.cumsum(sums)[-1] / len(values)


class SampledLevels:
    """Mixin of CatBoost's growers: sampled rows and columns, and noise.

    Columns are drawn again at each level. The histogram of a candidate that was not drawn at the
    last level is summed for all leaves; the others are summed for one side of the last split.
    """

    random = None  # `RandomNumbers` of the booster

    def _find_sampled_splits(self, rows, noise):
        """Return the splits of a tree: list of features and bins.

        Parameters
        ----------
        rows : uint32, the sampled rows in the order of their sums
        noise : float, standard deviation of the noise of a score
        """
        self.before, self.noise = 0.0, noise
        self.is_built = np.zeros(len(self.static), bool)
        if self.penalties is not None:
            self.penalties.start_tree(len(rows))
        groups = RowGroups(rows, self.depth, self.workers)
        splits, leaf_of = [], np.zeros(self.table.rows.shape[0], np.int64)
        for level in range(self.depth):
            self.workers.check()
            self._draw_candidates()
            seed = self.random.numbers(1)[0]
            if not self._has_candidates():
                break
            self._scan_candidates(groups, seed)
            f, b = self._choose_split()
            splits.append((f, b))
            column = self._column(f)
            groups.split(column, b)
            leaf_of += (column > b).astype(np.int64) << level
            sizes = np.bincount(leaf_of, minlength=2 << level)
            redundant = find_redundant_split(np.zeros_like(sizes), sizes, len(sizes))
            if redundant >= 0:
                del splits[redundant]
                break
        return splits

    def _draw_candidates(self):
        """Draw the columns of a level."""
        kept = self.random.reals(self.static.drawn.shape[1]) <= np.float32(self.params.rsm)
        self.drawn = self.static.keep(kept)
        self.drawn_numbers = np.flatnonzero(self.drawn.masks)

    def _has_candidates(self):
        """Return whether a column was drawn."""
        return len(self.drawn_numbers) > 0

    def _noise_of(self, seed):
        """Return the `Noise` of a level's candidates; drawn ones have consecutive seeds."""
        seeds = np.zeros(len(self.static), np.uint64)
        seeds[self.drawn_numbers] = seed + np.arange(len(self.drawn_numbers), dtype=np.uint64)
        return Noise(float(self.noise), seeds, np.ones(len(seeds), bool))

    def _choose_split(self):
        """Return the column and the bin of the best split; noise is added to each score."""
        drawn = self.drawn_numbers
        scores = self._penalized(drawn, self.best_score[drawn])
        scores = scores + self.random.normals(len(drawn)) * self.noise
        return self._split_of(int(drawn[self._choose_gain(drawn, scores)]))


class SampledCatBoostGrower(SampledLevels, CatBoostGrower):
    """Grower of CatBoost's trees with sampled rows and columns and with noise."""

    def grow_sample(self, g, weight, rows, l2, noise):
        """Return the `GrownTree` of some rows.

        Parameters
        ----------
        g : (n_outputs, n_rows) float64, times the weights
        weight : (n_rows,) float32, or (0,) if all are 1
        rows : uint32, in the order of their sums
        l2 : float, λ
        noise : float, standard deviation of the noise of a score
        """
        self._load(g, weight, None)
        self.l2 = l2
        return self._finish(self._find_sampled_splits(rows, noise))

    def _scan_candidates(self, groups, seed):
        """Build the histograms of a level, and find the best split of each usable candidate."""
        usable, noise = self.drawn.masks > 0, self._noise_of(seed)

        def scan(first, last):
            self._build_candidates(groups, usable, first, last)
            self._scan_static(self.planes, groups.n_leaves, self.drawn, noise, first, last)

        self.workers.share(scan, len(usable))
        is_kept = (1 << self.depth) * self.n_outputs < FEW_HISTOGRAMS
        self.is_built = usable & is_kept

    def _build_candidates(self, groups, usable, first, last):
        """Build the histograms of the usable candidates of first … last − 1."""
        leaves, n_before = groups.n_leaves, groups.n_leaves // 2
        given = self.static.rows, self.g, self.weight, groups.rows
        side = groups.starts, groups.ends, n_before, sums_true_side(groups)
        if usable.all() and (self.is_built.all() or not n_before):
            build_float_level(*given, *side, first, last, self.stride, self.planes)
            return
        for f in np.flatnonzero(usable[first:last]) + first:
            span = f, f + 1, self.stride
            if self.is_built[f]:
                build_float_level(*given, *side, *span, self.planes)
                continue
            for leaf in range(leaves):
                ends = groups.starts[leaf:], groups.ends[leaf:], 0, False
                build_float_level(*given, *ends, *span, self.planes[leaf:])


def sums_true_side(groups):
    """Return whether the true sides of the last split have at most as many rows as the others."""
    leaves, half = groups.n_leaves, groups.n_leaves // 2
    sizes = groups.ends[:leaves] - groups.starts[:leaves]
    return 2 * int(sizes[half:].sum()) <= int(sizes.sum())


class DrawsOfLeaves:
    """Mixin of boosters: the random numbers that CatBoost draws for the leaf values of a tree."""

    def boost(self):
        """Grow one tree; return it."""
        tree = super().boost()
        self.random.numbers(1 + self.leaves.count_random_steps())
        return tree


class SampledCatBoostBooster(DrawsOfLeaves, CatBoostBooster):
    """Plain boosting that builds CatBoost's trees with CatBoost's random numbers."""

    def __init__(self, params, table, grower, objective, y, weight, start, seed):
        super().__init__(params, table, grower, objective, y, weight, start, seed)
        self.random = grower.random = RandomNumbers(seed)
        if needs_shuffled_rows(params, has_categories=table.derived is not None):
            self.random.shuffled(len(y))
        self.drawer = SampleDrawer(params, weight, self.random, self.workers)

    def _grow(self, number):
        """Return the grown tree: its splits, and the leaf of each row."""
        self._differentiate(self.score, self.y, self.weight, self.g)
        self.random.numbers(2)
        last = self.done[-1].values if self.done else None
        factors, weight, rows = self.drawer.draw(self.g, last)
        g = self.g * factors if len(factors) else self.g
        noise = self._noise(self.g, number)
        return self.grower.grow_sample(g, weight, rows, self.leaves.l2, noise)
