"""Batches of gradient boosting rounds, each added by one call of the kernel `add_rounds`.

A batch gives the same bits as its rounds one by one.
"""

import numpy as np

from algorithms.boosting import classification_losses, losses
from algorithms.boosting.kernels.boosting_rounds import RoundArrays, add_rounds
from algorithms.estimator.bootstrap import SEEDS
from algorithms.runtime.batch_size import BatchSize
from algorithms.trees.kernels.tree_arrays import NODE
from algorithms.trees.tree import Tree

LOSSES = (  # losses of the kernel
    losses.SquaredError,
    losses.Poisson,
    classification_losses.Binomial,
    classification_losses.Exponential,
    classification_losses.Multinomial,
)
MAX_ROUNDS = 128  # rounds in a batch
MAX_BYTES = 1 << 24  # size of the trees and masks of a batch


def make_batches(rounds):
    """Return the `RoundBatches` of `gradient_rounds.Rounds`, None if the kernel lacks a step.

    The loss must be one of `LOSSES`, with a step per leaf, and trees must grow level by level.
    """
    if rounds.trees is None or type(rounds.loss) not in LOSSES:
        return None
    rounds.set_scale(rounds.loss.negative_gradient(rounds.y, rounds.raw))
    if rounds.find_limits() is None:
        return None
    n_sums = losses.count_blocks(rounds.y) * count_nodes(rounds)
    return RoundBatches(rounds) if n_sums <= losses.MAX_SUMS else None


def count_nodes(rounds):
    """Return the maximum number of nodes of a tree."""
    return (2 << rounds.trees.depth) - 1


class RoundBatches:
    """Adds batches of rounds to the model of `gradient_rounds.Rounds`.

    Parameters
    ----------
    rounds : Rounds, for which `make_batches` returns this
    """

    def __init__(self, rounds):
        n, n_scores = rounds.raw.shape
        self._rounds = rounds
        self._y = np.require(rounds.y, np.float64, ["C", "W"])  # as the kernel is compiled
        self._weight = rounds.weight
        if self._weight is not None:
            self._weight = np.require(self._weight, np.float64, ["C", "W"])
        self._gradient = np.empty((n_scores, n))
        self._value = self._gradient[0] if n_scores == 1 else np.empty(n)
        self._draws = rounds.model.subsample < 1.0
        self._size = BatchSize(MAX_ROUNDS)

    def add(self, first, last):
        """Add some of the rounds first … last − 1; return the number of rounds of the model."""
        rounds, model = self._rounds, self._rounds.model
        masks = self._draw(min(last - first, self._max_rounds()))
        rounds.mask = masks[0] if self._draws else None
        before, limits = rounds.find_oob_loss(first), rounds.find_limits()
        wanted = np.empty_like(rounds.mask) if self._draws else None
        grower = rounds.trees.grower
        level = grower.prepare(self._value, self._weight, rounds.trees.depth, wanted)
        arrays = self._arrays(masks)
        self._size.run(len(masks), grower.run, add_rounds, limits, level, arrays)
        last = first + len(masks)
        model.train_score_[first:last] = arrays.train_scores
        if self._draws:
            rounds.mask, after = masks[-1], arrays.oob_scores
            model.oob_scores_[first:last] = after
            model.oob_improvement_[first:last] = np.append(before, after[:-1]) - after
        for members, *trees in zip(
            model.estimators_[first:last],
            arrays.nodes,
            arrays.values,
            arrays.n_nodes.tolist(),
            arrays.depth.tolist(),
            strict=True,
        ):
            for k, tree in enumerate(zip(*trees, strict=True)):
                members[k] = model.member(self._make_tree(*tree))
        return last

    def _make_tree(self, nodes, values, n_nodes, depth):
        """Return a grown tree."""
        return Tree(
            nodes[:n_nodes].copy(),
            values[:n_nodes, None].copy(),
            n_features=self._rounds.X.shape[1],
            is_classifier=False,
            max_depth=depth,
        )

    def _draw(self, count):
        """Return the masks of the next rounds, bool (count, n_rows), or (count, 0) for all rows."""
        rounds = self._rounds
        masks = np.empty((count, len(rounds.y) if self._draws else 0), bool)
        for mask in masks:
            if self._draws:
                mask[:] = rounds.draw()
            for _ in range(len(self._gradient)):
                rounds.random.randint(SEEDS)  # a tree's seed, as if it were grown node by node
        return masks

    def _max_rounds(self):
        """Return the maximum number of rounds in a batch."""
        if self._draws and self._weight is not None:
            return 1  # the total weight of the drawn rows limits a tree
        n, n_trees = len(self._y), len(self._gradient)
        n_bytes = n_trees * count_nodes(self._rounds) * (NODE.itemsize + 8) + n * self._draws
        return max(1, min(self._size.wanted, MAX_BYTES // n_bytes))

    def _arrays(self, masks):
        """Return the `RoundArrays` of a batch."""
        rounds, loss, model = self._rounds, self._rounds.loss, self._rounds.model
        n_rounds, n_trees, n_nodes = len(masks), len(self._gradient), count_nodes(rounds)
        n_blocks, n_drawn = losses.count_blocks(self._y), np.count_nonzero(masks[0])
        return RoundArrays(
            kind=int(loss.kind),
            parameter=float(loss.parameter),
            scale=float(loss.scale),
            factor=float(loss.factor),
            l2=float(model.l2_regularization),
            learning_rate=float(model.learning_rate_),
            y=self._y,
            raw=rounds.raw.T,
            gradient=self._gradient,
            masks=masks,
            drawn=np.empty(n_drawn, np.uint32),
            others=np.empty(masks.shape[1] - n_drawn, np.uint32),
            newton_sums=np.empty((n_blocks, n_nodes, 2)),
            loss_sums=np.empty((n_blocks, 2)),
            nodes=np.empty((n_rounds, n_trees, n_nodes), NODE),
            values=np.empty((n_rounds, n_trees, n_nodes)),
            n_nodes=np.empty((n_rounds, n_trees), np.int64),
            depth=np.empty((n_rounds, n_trees), np.int64),
            train_scores=np.empty(n_rounds),
            oob_scores=np.empty(n_rounds),
        )
