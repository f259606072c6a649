"""Ordered boosting: the gradient of a row comes from a model trained without its target.

Prokhorenkova et al. 2018, Algorithm 2. There are several permutations of the rows; each is cut
into segments (`symmetric/segments.py`) with their own scores. For each tree:

    1. choose a permutation; g = the derivatives of −loss at the scores of its segments
    2. grow the tree: averages come from a segment's body, the score of a split from its tail
    3. in every segment of every permutation: v = leaf values of its body, scores += η v[leaf]
    4. the leaf values of the model come from all rows, as in plain boosting
"""

import numpy as np

from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.boosting import GROWTH, SAMPLE, Booster
from algorithms.symmetric.grower import GrownTree
from algorithms.symmetric.sampling import draw_weights
from algorithms.symmetric.segment_leaves import SegmentLeaves
from algorithms.symmetric.segments import learning_orders, make_fold
from algorithms.symmetric.shrinkage import shrink_scores

FOLD = 100  # salt of seeds, beside those of `Booster`


class FoldScores:
    """Scores of the segments of a fold.

    Parameters
    ----------
    booster : OrderedBooster
    fold : Fold
    start : float64 (n_scores, n_rows), initial scores as stored by the objective
    """

    def __init__(self, booster, fold, start):
        self.fold, self.rows = fold, fold.rows
        self.y = booster.y[self.rows]
        self.weight = booster.weight[self.rows] if len(booster.weight) else booster.weight
        self.score = np.ascontiguousarray(start[:, self.rows])
        self.tails = np.concatenate([np.arange(t.start, t.stop) for t in fold.tails])
        first_body = int(fold.segments[0, 0])
        self.placed = np.concatenate([np.arange(first_body), self.tails])
        self.first_body = first_body
        given = booster.params, booster.objective
        self.leaves = [
            booster.segment_leaves(
                *given, self.y[span], self.weight[span], int(body), booster.workers
            )
            for span, body in zip(fold.spans, fold.segments[:, 0], strict=True)
        ]
        for leaves in self.leaves:
            leaves.langevin = booster.langevin
        self.l2 = np.array([leaves.l2 for leaves in self.leaves])

    def update(self, grown, leaf_of, rate):
        """Add a tree to the scores of all segments.

        Parameters
        ----------
        grown : GrownTree
        leaf_of : uint16 (n_rows,), the leaf of each row in this fold
        rate : float, η
        """
        leaf_of = leaf_of[self.rows]
        for span, leaves in zip(self.fold.spans, self.leaves, strict=True):
            own = GrownTree(grown.features, grown.bins, leaf_of[span])
            score = self.score[:, span]
            leaves.update(score, own, rate)


class OrderedBooster(Booster):
    """Ordered boosting on one table; the parameters are those of `Booster`."""

    segment_leaves = SegmentLeaves

    def __init__(self, params, table, grower, objective, y, weight, start, seed):
        super().__init__(params, table, grower, objective, y, weight, start, seed)
        orders = self._draw_orders(len(y), seed)
        multiplier = float(np.float32(params.fold_len_multiplier))
        folds = [make_fold(order, multiplier) for order in orders]
        self.models = [FoldScores(self, fold, self.score) for fold in folds]

    def _draw_orders(self, n_rows, seed):
        """Return the learning permutations, list of uint32 (n_rows,)."""
        return learning_orders(self.params, n_rows, seed)

    def _grow(self, number):
        """Return the splits of the next tree, and the leaf of each row."""
        fold = seed_of(self.seed, number, FOLD) % len(self.models)
        model = self.models[fold]
        g = np.empty_like(model.score)
        self._differentiate(model.score, model.y, model.weight, g)
        noise = self._noise(g[:, model.tails], number)
        weight = self._sample_tails(model, g, number)
        if self.langevin is not None:
            g = self.langevin.add_to_derivatives(g)
        self.grower.start_tree(fold, model.fold, model.l2)
        return self.grower.grow(g, weight, None, noise, seed_of(self.seed, number, GROWTH))

    def _sample_tails(self, model, g, number):
        """Multiply the tails' derivatives by their sampling weights; return the weights.

        The result is float32 (n_entries,), or (0,) if all are 1; ``g`` is written.
        """
        last = self.done[-1].values if self.done else None
        placed = np.ascontiguousarray(g[:, model.placed])
        seed = seed_of(self.seed, number, SAMPLE)
        drawn = draw_weights(self.params, placed, last, seed, self.workers)
        if not len(drawn):
            return model.weight
        drawn = drawn[model.first_body :]
        weight = model.weight.copy() if len(model.weight) else np.ones(g.shape[1], np.float32)
        g[:, model.tails] *= drawn
        weight[model.tails] *= drawn
        return weight

    def get_state(self):
        """Return the arrays from which a snapshot continues, dict."""
        of_segments = {f"score_{fold}": model.score for fold, model in enumerate(self.models)}
        return super().get_state() | of_segments

    def set_state(self, arrays):
        """Continue from the arrays of a snapshot."""
        super().set_state(arrays)
        for fold, model in enumerate(self.models):
            model.score[:] = arrays[f"score_{fold}"]

    def _multiply_scores(self, factor):
        """Multiply the scores of the model and of all segments by a factor."""
        for model in (self, *self.models):
            shrink_scores(model.score, factor, is_exp=self.objective.is_exp)

    def _update(self, grown):
        """Add a tree to the scores of all segments."""
        for number, model in enumerate(self.models):
            self.workers.check()
            model.update(grown, self.grower.leaves_in(grown, number), self.rate)
            self.check(model.score)
