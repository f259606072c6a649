"""Scores of a segment of ordered boosting: leaf values from its body, added to all its rows."""

import numpy as np

from algorithms.symmetric.grower import GrownTree
from algorithms.symmetric.kernels.exponential import exponentiate
from algorithms.symmetric.kernels.segment_leaves import SegmentTargets, step_through_tail
from algorithms.symmetric.leaf_values import LeafEstimator

MIN_EXP, MAX_EXP = 1e-300, 1e300  # range of eᶠ


class SegmentLeaves(LeafEstimator):
    """Leaf values from the body of a segment.

    With `approx_on_full_history` the steps of a tail's rows come from the body and the rows of the
    tail before them.

    Parameters
    ----------
    params, objective, workers : as in `LeafEstimator`
    y, weight : (n_rows,) float32 of the segment; weight is (0,) if all are 1
    body : int, rows before the tail
    """

    def __init__(self, params, objective, y, weight, body, workers):
        super().__init__(params, objective, y[:body], weight[:body], workers)
        self.body, self.all_y, self.all_weight = body, y, weight

    def update(self, score, grown, rate):
        """Add a tree to the scores.

        Parameters
        ----------
        score : float64 (n_scores, n_rows) of the segment, as stored by the objective; written
        grown : GrownTree of the segment's rows
        rate : float, η
        """
        change = self._change(score, grown)
        if self.objective.is_exp:
            score *= self._scaled_factor(change, rate)
            np.clip(score, MIN_EXP, MAX_EXP, out=score)
        else:
            score += change * rate

    def _scaled_factor(self, factor, rate):
        """Return factorʳᵃᵗᵉ."""
        return factor**rate

    def _change(self, score, grown):
        """Return the change of each row's score before the learning rate, or the factor of eᶠ."""
        body = self.body
        of_body = GrownTree(grown.features, grown.bins, grown.leaf_of[:body])
        if self.params.leaf_estimation_method == "Exact":
            return self._quantiles(score[:, :body], of_body).T[:, grown.leaf_of]
        is_exp, left = self.objective.is_exp, self.params.leaf_estimation_iterations
        backtracks = left > 1 and self.params.leaf_estimation_backtracking != "No"
        loss = self.loss(score[:, :body].copy()) if backtracks else 0.0
        change = np.full(score.shape, 1.0 if is_exp else 0.0)
        while left > 0:
            now = score * change if is_exp else score + change
            at_body = now[:, :body].copy()
            sums = self._noisy_sums(at_body, of_body)
            step = self._step(sums)
            left -= 1
            if backtracks:
                step, loss, left = self._shorten(step, at_body, of_body, (loss, left))
            if step is not None:
                self._advance(change, step, now, sums, grown)
        return change

    def _shorten(self, step, score, grown, state):
        """Halve a step until the loss of the body decreases.

        Returns
        -------
        step, loss, left : the step, or None if no iterations are left; the loss; the iterations
            that are left
        """
        loss, left = state
        scale = 1.0
        while left >= 0:
            now, _ = self._try_step(score, step * scale, grown)
            if now < loss:
                return step * scale, now, left
            scale /= 2.0
            left -= 1
        return None, loss, left

    def _advance(self, change, step, score, sums, grown):
        """Add a step to the changes of all rows; ``change`` is written."""
        body = self.body
        if not self.params.approx_on_full_history:
            self.add(change, step, grown)
            return
        self.add(change[:, :body], step, grown)
        steps, objective = np.zeros(score.shape[1]), self.objective
        is_newton = self.params.leaf_estimation_method == "Newton"
        targets = SegmentTargets(self.all_y, self.all_weight, grown.leaf_of, body)
        l2 = float(np.float32(self.params.l2_leaf_reg))
        step_through_tail(
            objective.kind, objective.slope, is_newton, l2, targets, score[0], sums, steps
        )
        if objective.is_exp:
            exponentiate(steps)
            change[0, body:] *= steps[body:]
        else:
            change[0, body:] += steps[body:]
