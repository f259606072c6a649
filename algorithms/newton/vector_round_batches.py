"""Batches of rounds of trees with vector leaves, each added by one call of the growing kernel."""

import numpy as np

from algorithms.gbdt.round_batches import MAX_BYTES, MAX_ROUNDS
from algorithms.gbdt.sampling import seed_of
from algorithms.newton.kernels.vector_arrays import VectorRoundArrays
from algorithms.newton.kernels.vector_histogram import SUMMED
from algorithms.newton.sampling import Columns
from algorithms.newton.tree import NODE, NewtonTree
from algorithms.newton.vector_grower import DERIVATIVES, ROUNDING, work_arrays


def can_batch(boosting):
    """Return whether the kernel can add rounds: of softmax, with all columns in each node."""
    p = boosting.params
    is_rounded = p._float32_scores  # noqa: SLF001 - same package
    uses_all = min(p.colsample_bylevel, p.colsample_bynode) == 1.0
    return boosting.is_softmax and uses_all and not is_rounded


class VectorRoundBatches:
    """Adds batches of rounds to `VectorRounds` for which `can_batch` holds.

    Parameters
    ----------
    boosting : VectorRounds
    """

    def __init__(self, boosting):
        grower, weight = boosting.grower, boosting.weight
        n_outputs, n_rows = boosting.score.shape
        self.boosting, self.grower = boosting, grower
        self.draws = Columns(boosting.params, boosting.n_features, boosting.seed)
        n_blocks, lanes = -(-n_rows // SUMMED), grower.pairs.shape[1]
        self.given = {
            "learning_rate": float(boosting.params.learning_rate),
            "score": boosting.score,
            "code": np.require(boosting.y, np.float64, ["C", "W"]),  # as the kernel is compiled
            "weight": np.empty(0) if weight is None else weight.copy(),
            "g": boosting.g,
            "h": boosting.h,
            "per_unit": np.ones(lanes),
            "shifts": grower.shifts,
            "g_totals": np.empty((n_blocks, n_outputs)),
            "h_totals": np.empty((n_blocks, n_outputs)),
            **work_arrays(grower.size, n_outputs, lanes),
            "leaf_of": grower.at,
            "added": np.empty((n_outputs, len(grower.growth.nodes))),
            "first_threshold": grower.first_threshold,
            "thresholds": grower.thresholds,
        }

    def add(self, count):
        """Add at most ``count`` rounds.

        Raises
        ------
        ValueError
            If derivatives are not finite.
        """
        grower, boosting = self.grower, self.boosting
        n_nodes, n_outputs = len(grower.growth.nodes), grower.n_outputs
        size = n_nodes * (NODE.itemsize + 4 * n_outputs)
        first, n_rounds = len(boosting.done), max(1, min(count, MAX_ROUNDS, MAX_BYTES // size))
        seeds = [
            seed_of(seed_of(boosting.seed, number, 0), ROUNDING)
            for number in range(first, first + n_rounds)
        ]
        rounds = VectorRoundArrays(
            seeds=np.array(seeds, np.uint32),
            nodes=np.zeros((n_rounds, n_nodes), NODE),
            values=np.empty((n_rounds, n_nodes, n_outputs), np.float32),
            n_nodes=np.zeros(n_rounds, np.int64),
            problem=np.zeros(1, np.int64),
            **self.given,
        )
        grower.run(grower.start_growth(None, self.draws), grower.make_rules(self.draws), rounds)
        sizes = rounds.n_nodes[rounds.n_nodes > 0].tolist()
        for nodes, values, n in zip(rounds.nodes, rounds.values, sizes, strict=False):
            boosting.scale_statistics(nodes[:n])
            boosting.done.append([NewtonTree(nodes[:n].copy(), values=values[:n].copy())])
        if rounds.problem[0]:
            raise boosting.not_finite(DERIVATIVES[rounds.problem[0] - 1])
