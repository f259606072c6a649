"""Batches of rounds of second-order boosting, each added by one call of the growing kernel.

The kernel and its batches are those of the histogram booster (`gbdt.round_batches`), or those of
vector leaves. A batch gives the same bits as its rounds one by one.
"""

import numpy as np

from algorithms.gbdt.binned import Binned
from algorithms.gbdt.boosting import Booster, Target, TreeWorkspace
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels import gradients as kinds
from algorithms.gbdt.resident_threads import NO_ROUNDS
from algorithms.gbdt.round_batches import RIGHT, RoundBatches
from algorithms.gbdt.thread_choice import ROWS_TO_MARK, round_threads
from algorithms.newton.histogram_grower import ROUNDING, HistGrower, as_nodes
from algorithms.newton.objectives import SOFTMAX, Objective
from algorithms.newton.params import prunes_before
from algorithms.newton.rounds import Rounds
from algorithms.newton.tree import NewtonTree
from algorithms.newton.vector_round_batches import VectorRoundBatches
from algorithms.newton.vector_round_batches import can_batch as can_batch_vectors
from algorithms.newton.vector_rounds import VectorRounds
from algorithms.runtime.threads import ALONE

KINDS = (kinds.L2, kinds.LOGISTIC, *kinds.LOGARITHMIC, SOFTMAX)  # losses of the kernel


def add_in_batches(boosting, count):
    """Add rounds to `Rounds` in batches, if that is supported; return whether it is.

    Raises
    ------
    ValueError
        If derivatives are not finite.
    """
    batches, last = make_batches(boosting), len(boosting.done) + count
    if batches is None:
        return False
    while len(boosting.done) < last:
        batches.add(last - len(boosting.done))
    return True


def make_batches(boosting):
    """Return an object whose ``add`` adds a batch of rounds to `Rounds`, or None.

    The loss must be one of `KINDS`, and one tree is grown on all rows and columns for each score
    and round, or for all scores. `gamma` must be applied during growth, and `max_leaves` only with
    `lossguide`.
    """
    p, objective = boosting.params, boosting.objective
    keeps_splits = not p.max_leaves or (p.grow_policy == "lossguide" and p.max_leaves > 1)
    keeps_splits = keeps_splits and (prunes_before(p) or not p.gamma)
    if (
        not isinstance(objective, Objective)
        or objective.kind not in KINDS
        or not keeps_splits
        or min(p.subsample, p.colsample_bytree) < 1.0
        or (p.num_parallel_tree or 1) > 1
    ):
        return None
    if type(boosting) is VectorRounds:
        return VectorRoundBatches(boosting) if can_batch_vectors(boosting) else None
    return NewtonRoundBatches(boosting) if can_batch(boosting) else None


def can_batch(boosting):
    """Return whether the kernel of the histogram booster can grow the trees of `Rounds`.

    Trees are grown by `HistGrower` on fewer than `ROWS_TO_MARK` rows and without columns of more
    categories than bins.
    """
    if type(boosting) is not Rounds:
        return False
    grower = boosting.grower
    return (
        type(grower) is HistGrower
        and grower.others is None
        and not grower.categories.high_cardinality
        and len(boosting.y) < ROWS_TO_MARK
    )


def make_booster(boosting):
    """Return a `Booster` that shares the arrays and the list of rounds of `Rounds`.

    It has one grower for each thread that grows whole trees.
    """
    own, n_scores = boosting.grower.grower, len(boosting.score)
    binned = Binned(own.bins, own.binner, IN_ORDER, [], own.rules)
    workers = boosting.grower.workers
    threads = round_threads(binned, workers, n_scores)
    others = [Grower(own.bins, own.binner, own.rules, ALONE) for _ in range(threads - 1)]
    target = Target(boosting.objective, np.atleast_2d(boosting.y), boosting.weight)
    given = boosting.params, [own, *others], workers, target, boosting.score, boosting.seed
    booster = Booster(*given, rounds=boosting.done)
    booster.workspaces[0] = TreeWorkspace(own, boosting.grower.records)
    booster.g = boosting.g
    if booster.h.size:
        booster.h = boosting.h
    return booster


class NewtonRoundBatches(RoundBatches):
    """Adds batches of rounds to a `newton.rounds.Rounds` for which `can_batch` holds.

    Parameters
    ----------
    boosting : Rounds
    """

    rounding, side = ROUNDING, RIGHT

    def __init__(self, boosting):
        super().__init__(make_booster(boosting))
        self.boosting = boosting

    def _rounds(self, n_rounds):
        """Return the `RoundArrays` of the next batch."""
        rounds, factor = super()._rounds(n_rounds), self.boosting.objective.h_factor
        is_rounded = int(self.boosting.params._float32_scores)  # noqa: SLF001 - same package
        return rounds._replace(is_newton=1, h_factor=factor, float32_scores=is_rounded)

    def _check_steps(self, steps, n_done):
        """Raise ValueError with the likely cause if a step is NaN."""
        for of_scores, what in zip(steps.T, ("gradients", "hessians"), strict=True):
            if np.isnan(of_scores).any():
                cause = self.boosting.why_not_finite(len(self.boosting.done) + n_done)
                raise ValueError(f"{what} of the loss are not finite: {cause}")

    def _make_trees(self, nodes, n_leaves):
        """Return a list of trees, one for each row of ``nodes``, without category sets."""
        sizes = 2 * np.array(n_leaves) - 1
        is_used = np.arange(nodes.shape[1]) < sizes[:, None]
        found = as_nodes(nodes[is_used], self.grower.binner)
        self.boosting.scale_statistics(found)
        ends = np.cumsum(sizes).tolist()
        return [NewtonTree(found[a:b], {}) for a, b in zip([0, *ends], ends, strict=False)]

    def _collect_categories(self):
        """Return `CategoryBins` without columns.

        Columns of more categories than bins are not batched.
        """
        return NO_ROUNDS.categories

    def _codes(self, _categories, _n_done):
        """Return the codes and their bins of each categorical feature, as in `add_sets`."""
        categories = self.boosting.grower.categories
        return list(zip(categories.codes, categories.bins, strict=True))
