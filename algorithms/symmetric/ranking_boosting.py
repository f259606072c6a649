"""Boosting on the pairs of a ranking.

The derivatives and the weight of a row are sums over its pairs. A tree's leaf values are shifted so
that their mean over the rows is 0: the same number added to all scores changes no ranking.
"""

import numpy as np

from algorithms.symmetric.boosting import MIN_CURVATURE, Booster
from algorithms.symmetric.kernels.leaf_sums import DER1, DER2, WEIGHT
from algorithms.symmetric.leaf_values import MIN_WEIGHT, LeafEstimator
from algorithms.symmetric.query_pairs import query_weights
from algorithms.symmetric.ranking_objectives import PAIRLOGIT, PairDerivatives

EMPTY_LEAF = 1e-9  # a leaf whose rows have a smaller weight in all has the value 0


class PairLeafEstimator(LeafEstimator):
    """Estimator of leaf values from the pairs of a ranking.

    Parameters
    ----------
    derivatives : PairDerivatives
    seed : int
    others : those of `LeafEstimator`
    """

    has_single_kernel = False

    def __init__(self, derivatives, seed, *others):
        super().__init__(*others)
        self.derivatives, self.seed = derivatives, seed
        self.sums = np.empty((3, len(self.y)))

    def estimate(self, score, grown):
        """Return the leaf values before the learning rate, (n_leaves, 1), and Σw.

        The parameters are those of `LeafEstimator.estimate`.
        """
        values, _ = super().estimate(score, grown)
        weights = self._weights(grown)
        values = values - values[:, 0] @ weights / weights.sum()
        values[weights <= EMPTY_LEAF] = 0.0
        return values, weights

    def loss(self, score):
        """Return the mean loss of the pairs; NaN counts as infinite."""
        loss = self.derivatives.loss(score[0], self.workers)
        return np.inf if np.isnan(loss) else loss

    def _sums(self, score, grown):
        """Return Σg, Σh and the sum of the weights of the pairs of each leaf, (n_leaves, 3)."""
        self.derivatives.write(score[0], self.sums, self.seed, self.workers)
        sums = [np.bincount(grown.leaf_of, one, grown.n_leaves) for one in self.sums]
        found = np.array(sums).T
        found[found[:, WEIGHT] <= MIN_WEIGHT, :WEIGHT] = 0.0
        return found


class RankingBooster(Booster):
    """Boosting on one table of queries.

    Parameters
    ----------
    queries : TrainingQueries
    params, table, grower, objective, y, weight, start, seed : as in `Booster`
    """

    def __init__(self, queries, params, table, grower, objective, y, weight, start, seed):
        of_query = query_weights(weight, queries.bounds)
        pairs = queries.find_pairs(y, of_query) if objective.name == PAIRLOGIT else None
        self.derivatives = PairDerivatives(objective, y, queries.bounds, of_query, pairs)
        self.seed, self.sums = seed, np.empty((3, len(y)))
        super().__init__(params, table, grower, objective, y, weight, start, seed)

    def get_state(self):
        """Return the arrays from which a snapshot continues, dict."""
        return super().get_state() | {"draws": np.array(self.derivatives.draws)}

    def set_state(self, arrays):
        """Continue from the arrays of a snapshot."""
        super().set_state(arrays)
        self.derivatives.draws = int(arrays["draws"])

    def leaf_estimator(self, *given):
        """Return the `PairLeafEstimator`; the parameters are those of `LeafEstimator`."""
        return PairLeafEstimator(self.derivatives, self.seed, *given)

    def _row_curvature(self, out):
        """Return the sums of the curvatures of the pairs of each row, as in the base class."""
        out[0] = np.maximum(-self.sums[DER2], MIN_CURVATURE)
        return out

    def _differentiate(self, score, y, weight, g):
        """Write the derivatives of −loss; the weights of the tree's rows are those of their pairs.

        The parameters are those of `Booster._differentiate`.
        """
        del y, weight
        self.derivatives.write(score[0], self.sums, self.seed, self.workers)
        g[0] = self.sums[DER1]
        self.weight = self.sums[WEIGHT].astype(np.float32)
