"""Boosting rounds: derivatives, the trees of each score, and the update of the scores.

F₀ = best-fitting constant
F_m = F_{m−1} + η mean of the trees of round m      all grown on g, h of the loss at F_{m−1}

A round has ``num_parallel_tree`` trees for each score; they draw rows and columns independently.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from algorithms.gbdt.kernels.score_update import add_leaves
from algorithms.gbdt.sampling import seed_of
from algorithms.newton.objectives import Custom, quantile_of
from algorithms.newton.params import prunes_before
from algorithms.newton.pruning import prune
from algorithms.newton.sampling import Columns, draw_rows, read_feature_weights
from algorithms.newton.several_targets import target_column
from algorithms.newton.tree import NewtonTree
from algorithms.runtime.threads import ALONE

SMALL = 1 << 15  # rows below which several threads are slower than one


@dataclass
class Rounds:
    """Boosting rounds on one table.

    Parameters
    ----------
    params : the estimator
    grower : ExactGrower, HistGrower or ProposalGrower
    objective : newton.objectives.Objective or Custom
    y : (n_rows,) float64, values or class codes; or (n_rows, n_targets)
    weight : (n_rows,) float64, or None
    score : (n_scores, n_rows) float64, F; written to
    n_features : int
    seed : int
    workers : Workers
    done : list of lists of NewtonTree, all rounds so far; those of one score are consecutive
    weight_unit : float, factor of gains and sums of hessians; see
        `sample_weight.split_unit_of_params`
    """

    params: object
    grower: object
    objective: object
    y: np.ndarray
    weight: np.ndarray | None
    score: np.ndarray
    n_features: int
    seed: int
    workers: object
    done: list = field(default_factory=list)
    weight_unit: float = 1.0

    def __post_init__(self):
        self.g = np.empty(self.score.shape, np.float32)
        self.h = np.empty(self.score.shape, np.float32)
        read_feature_weights(self.params.feature_weights, self.n_features)  # ValueError if wrong
        if len(self.y) < SMALL:
            self.workers = ALONE

    def boost(self):
        """Grow one round of trees; return them."""
        number = len(self.done)
        self.differentiate()
        self.check_derivatives()
        used = draw_rows(self.params, len(self.y), seed_of(self.seed, number))
        trees = [tree for k in self.scores_of_trees() for tree in self.grow_score(number, k, used)]
        if self.params._float32_scores:  # noqa: SLF001 - same package
            self.score[:] = self.score.astype(np.float32)
        self.done.append(trees)
        return trees

    def differentiate(self):
        """Write the derivatives at the current scores."""
        self.objective.differentiate(self.score, self.y, self.weight, self.g, self.h, self.workers)

    def scores_of_trees(self):
        """Return the scores for which a round grows trees."""
        return range(len(self.score))

    def derivatives(self, k):
        """Return g and h for the trees of a score, float32 (n_rows,)."""
        return self.g[k], self.h[k]

    def grow_score(self, number, k, used):
        """Grow the trees of one score, add them to the scores and return them."""
        count = self.params.num_parallel_tree or 1
        grown = [self.grow_one((number, k), used)]
        for more in range(1, count):
            own_rows = draw_rows(self.params, len(self.y), seed_of(self.seed, number, k, more))
            grown[-1] = replace(grown[-1], at=grown[-1].at.copy())  # growers reuse this array
            grown.append(self.grow_one((number, k, more), own_rows))
        return [self.add(one, k, self.params.learning_rate / count) for one in grown]

    def grow_one(self, numbers, used):
        """Return a grown and pruned tree before its values are multiplied by η.

        Parameters
        ----------
        numbers : tuple, the number of the round and of the score, and of one of its other trees
        used : bool (n_rows,), rows to grow on, or None for all
        """
        k = numbers[1]
        draws = Columns(self.params, self.n_features, seed_of(self.seed, *numbers))
        grown = self.grower.grow(*self.derivatives(k), used, draws)
        grown = prune(grown, self.params, by_gain=not prunes_before(self.params))
        if self.objective.renewed is not None:
            self.renew(grown, k, used)
        return grown

    def add(self, grown, k, learning_rate):
        """Multiply a tree's values by the learning rate, add it to the scores and return it."""
        nodes, where = grown.nodes, grown.where
        nodes["value"] *= np.float32(learning_rate)  # η w*
        values = nodes["value"].astype(np.float64)
        values = values if where is None else values[where]

        def add(first, last):
            add_leaves(self.score[k], grown.at, values, first, last)

        self.workers.share(add, len(self.y))
        self.scale_statistics(nodes)
        return NewtonTree(nodes, grown.sets)

    def scale_statistics(self, nodes):
        """Multiply the gains and the sums of hessians of a tree by the unit of the weights."""
        if self.weight_unit != 1.0:
            nodes["gain"] *= self.weight_unit
            nodes["cover"] *= np.float32(self.weight_unit)

    def check_derivatives(self):
        """Raise ValueError with the likely cause if a derivative is not finite."""
        finite = (np.isfinite([d.min(), d.max()]).all() for d in (self.g, self.h))
        for is_finite, what in zip(finite, ("gradients", "hessians"), strict=True):
            if not is_finite:
                raise self.not_finite(what)

    def not_finite(self, what):
        """Return the ValueError for gradients or hessians that are not finite."""
        cause = self.why_not_finite(len(self.done))
        return ValueError(f"{what} of the loss are not finite: {cause}")

    def why_not_finite(self, n_done):
        """Return the likely cause of derivatives that are not finite after ``n_done`` rounds."""
        if isinstance(self.objective, Custom):
            return "the objective returned such numbers"
        if not n_done:
            return "targets, weights or initial scores are too large"
        low, high = self.score.min(), self.score.max()
        return (
            f"boosting has diverged: after {n_done} rounds scores range from {low:.3g} to "
            f"{high:.3g}. Set max_delta_step=0.7 or a lower learning_rate"
        )

    def renew(self, grown, k, used):
        """Set each leaf value to the quantile of the residuals of its rows."""
        y = target_column(self.y, k)
        for node, rows in leaf_rows(grown, used):
            weight = None if self.weight is None else self.weight[rows]
            residual = y[rows] - self.score[k, rows]
            value = quantile_of(residual, weight, self.objective.renewed[k])
            grown.nodes["value"][node] = value


def leaf_rows(grown, used):
    """Yield each leaf that has rows, as the number of its node and its rows, ascending.

    Parameters
    ----------
    grown : Grown
    used : (n_rows,) bool, the rows that the tree was grown on, or None for all
    """
    node = grown.at if grown.where is None else grown.where[grown.at]
    rows = np.arange(len(node)) if used is None else np.flatnonzero(used)
    rows = rows[np.argsort(node[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(node[rows])) + 1
    for own in np.split(rows, ends):
        yield node[own[0]], own
