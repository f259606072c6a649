"""Boosting rounds: derivatives, one symmetric tree, its leaf values, and the new scores.

F₀ = the initial score
F_m = F_{m−1} + η tree_m            tree_m grown on the derivatives of the loss at F_{m−1}
"""

import math

import numpy as np
from scipy.special import softmax

from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.kernels.leaf_sums import (
    DER2,
    SOFTMAX,
    differentiate,
    differentiate_classes,
    sum_leaves,
)
from algorithms.symmetric.kernels.row_sampling import sum_squares
from algorithms.symmetric.langevin import make_noise
from algorithms.symmetric.leaf_values import LeafEstimator
from algorithms.symmetric.sampling import draw_weights
from algorithms.symmetric.shrinkage import shrink_factor, shrink_scores

ROWS = 8192  # rows whose derivatives one task computes
SAMPLE, GROWTH = range(2)  # salts of seeds
MIN_CURVATURE = 1e-30  # of a row, so that a row without curvature counts with its gradient
NEWTON_SCORES = ("NewtonL2", "NewtonCosine")  # with curvatures as weights


class Booster:
    """Boosting on one table.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    table : BinnedTable or CategoricalTable
    grower : SymmetricGrower
    objective : Objective
    y, weight : (n_rows,) float32; weight is (0,) if all are 1
    start : float64 (n_scores,) or (n_scores, n_rows), initial scores
    seed : int
    """

    leaf_estimator = LeafEstimator

    def __init__(self, params, table, grower, objective, y, weight, start, seed):
        self.params, self.table, self.grower, self.objective = params, table, grower, objective
        self.y, self.weight, self.seed, self.workers = y, weight, seed, grower.workers
        self.langevin = make_noise(params, seed)
        self.leaves = self.leaf_estimator(params, objective, y, weight, self.workers)
        self.leaves.langevin = self.langevin
        self.rate = float(np.float32(params.learning_rate))
        self.score = np.empty((len(start), len(y)))
        self.score.T[:] = (np.exp(start) if objective.is_exp else start).T
        self.g = np.empty_like(self.score)
        self.done = []

    def boost(self):
        """Grow one tree; return it."""
        self.workers.check()
        number = len(self.done)
        grown = self._grow(number)
        values, weights = self.leaves.estimate(self.score, grown)
        values = values * self.rate
        self.check(values)
        self.leaves.add(self.score, values, grown)
        self._update(grown)
        tree = grown.tree(self.table, values, weights)
        self.done.append(tree)
        return tree

    def shrink(self):
        """Shrink the scores before the next tree; return the factor."""
        factor = shrink_factor(self.params, len(self.done))
        if factor != 1.0:
            self._multiply_scores(factor)
        return factor

    def _multiply_scores(self, factor):
        """Multiply the scores of all rows by a factor."""
        shrink_scores(self.score, factor, is_exp=self.objective.is_exp)

    def get_state(self):
        """Return the arrays from which a snapshot continues, dict."""
        draws = 0 if self.langevin is None else self.langevin.draws
        return {"score": self.score, "langevin_draws": np.array(draws)}

    def set_state(self, arrays):
        """Continue from the arrays of a snapshot."""
        self.score[:] = arrays["score"]
        if self.langevin is not None:
            self.langevin.draws = int(arrays["langevin_draws"])

    def _grow(self, number):
        """Return the grown tree: its splits, and the leaf of each row."""
        self._differentiate(self.score, self.y, self.weight, self.g)
        g, weight = self._sample(seed_of(self.seed, number, SAMPLE))
        noise = self._noise(self.g, number)
        seed = seed_of(self.seed, number, GROWTH)
        return self.grower.grow(g, weight, self.leaves.l2, noise, seed)

    def _update(self, grown):
        """Add a tree to the scores of the segments; plain boosting has no segments."""

    def _differentiate(self, score, y, weight, g):
        """Write the derivatives of −loss at some scores.

        Parameters
        ----------
        score : float64 (n_scores, n_rows), as stored by the objective
        y, weight : float32 (n_rows,); weight is (0,) if all are 1
        g : float64 (n_scores, n_rows), written
        """
        objective, n_rows = self.objective, len(y)

        def share(first, last):
            rows = first * ROWS, min(last * ROWS, n_rows)
            if objective.kind == SOFTMAX:
                work = np.empty(len(score))
                differentiate_classes(score, y, weight, work, g, *rows)
            else:
                for k, slope in enumerate(objective.slopes):
                    differentiate(objective.kind, slope, score[k], y, weight, g[k], *rows)

        self.workers.share(share, -(-n_rows // ROWS))

    def _sample(self, seed):
        """Return the derivatives and weights of the sampled rows."""
        last = self.done[-1].values if self.done else None
        drawn = draw_weights(self.params, self.g, last, seed, self.workers)
        g, weight = self.g, self._score_weight()
        if len(drawn):
            g, weight = g * drawn, drawn * weight if len(weight) else drawn
        if self.langevin is not None:
            g = self.langevin.add_to_derivatives(g)
        return g, weight

    def _score_weight(self):
        """Return the weights of the rows in split scores, before sampling.

        They are those of the training, or the curvatures of the loss for Newton scores: float32
        (n_rows,), with several scores (n_scores, n_rows); or (0,) if all are 1.
        """
        if self.params.score_function not in NEWTON_SCORES:
            return self.weight
        found = self._row_curvature(np.empty(self.score.shape, np.float32))
        return found if len(found) > 1 else found[0]

    def _row_curvature(self, out):
        """Return the curvature of the loss in each score of each row, at least `MIN_CURVATURE`.

        Parameters
        ----------
        out : float32 (n_scores, n_rows), written
        """
        objective = self.objective
        if objective.kind == SOFTMAX:
            p = softmax(self.score, axis=0)
            weight = self.weight if len(self.weight) else 1.0
            return np.maximum((p * (1.0 - p) * weight).astype(np.float32), MIN_CURVATURE)

        n_rows, kind = len(self.y), (objective.kind, objective.slope)

        def share(first, last):
            for start in range(first * ROWS, min(last * ROWS, n_rows), ROWS):
                rows = slice(start, min(start + ROWS, n_rows))
                y, weight = self.y[rows], self.weight[rows]
                leaf_of = np.arange(len(y), dtype=np.uint16)  # a leaf for each row
                sums = np.zeros((1, len(y), 3))
                given = self.score[0, rows], y, weight, leaf_of, len(y)
                sum_leaves(*kind, *given, sums, 0, 1)
                out[0, rows] = np.maximum(-sums[0, :, DER2], MIN_CURVATURE)

        self.workers.share(share, -(-len(self.y) // ROWS))
        return out

    def _noise(self, g, number):
        """Return the standard deviation of the noise of split scores.

        Parameters
        ----------
        g : float64 (n_scores, n_rows), derivatives
        number : int, trees so far
        """
        strength = self.params.random_strength
        if strength == 0.0:
            return 0.0
        left = self.noise_decay(number)
        deviation = math.sqrt(sum_squares(g.ravel(order="K")) / max(g.shape[1], 1))
        if self.langevin is not None:  # that of the noisy derivatives
            deviation = math.hypot(deviation, self.langevin.sigma * math.sqrt(len(g)))
        return strength * deviation * left / (1.0 + left)

    def noise_decay(self, number):
        """Return a: the noise is multiplied by a / (1 + a) after ``number`` trees."""
        return math.exp(math.log(len(self.y)) - number * self.rate)

    def check(self, values):
        """Raise ValueError if a leaf value is not finite."""
        if not np.isfinite(values).all():
            raise ValueError(
                "boosting has diverged: a leaf value is not finite. Set a lower learning_rate or a "
                "higher l2_leaf_reg, or give targets and weights in another unit"
            )
