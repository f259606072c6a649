"""Leaf values of a symmetric tree: Newton or gradient steps with backtracking, or quantiles.

    Newton      v = ΣG / (−ΣH + λ′)
    Gradient    v = ΣG / (ΣW + λ′)          λ′ = λ ΣW_all / n
    Exact       the quantile of the residuals of MAE, Quantile and MultiQuantile

Several iterations repeat the step from the scores that the last one led to. With backtracking a
step is halved until the loss falls; each halving counts as an iteration. Sums are taken over
fixed blocks of rows and added in order, so they do not depend on the number of threads.
"""

import numpy as np

from algorithms.symmetric.kernels import leaf_sums as kinds
from algorithms.symmetric.kernels.exponential import exponentiate
from algorithms.symmetric.kernels.leaf_steps import (
    MIN_WEIGHT,
    NOT_PROVEN,
    LeafScratch,
    estimate_leaves,
    largest_log,
    largest_proven_step,
    loss_bound,
)
from algorithms.symmetric.kernels.leaf_sums import (
    DER1,
    DER2,
    WEIGHT,
    add_to_scores,
    sum_class_leaves,
    sum_class_losses,
    sum_leaves,
    sum_losses,
)
from algorithms.symmetric.objectives import weighted_quantile

FEW_ROWS, BLOCKS = 10_000, 128  # fewer rows are one block
SINGULAR = np.finfo(np.float32).eps
NO_WEIGHT = np.empty(0, np.float32)
ROWS = 8192  # rows whose scores one task changes
CLASS_BLOCK = 1000  # rows of a block with several scores


class LeafEstimator:
    """Estimator of leaf values on one table.

    Parameters
    ----------
    params : the estimator, with resolved leaf estimation parameters
    objective : Objective
    y, weight : (n_rows,) float32; weight is (0,) if all are 1
    workers : Workers
    """

    has_single_kernel = True  # whether `estimate_leaves` can do all steps in one thread
    langevin = None  # `LangevinNoise`, or None for values without noise
    has_float64_loss = True  # whether `loss` sums float64 numbers in the blocks of ``self.block``

    def __init__(self, params, objective, y, weight, workers):
        self.params, self.objective, self.workers = params, objective, workers
        self.y, self.weight = y, weight
        total = np.cumsum(weight, dtype=np.float64)[-1] if len(weight) else float(len(y))
        self.l2 = float(np.float32(params.l2_leaf_reg)) * (total / len(y))
        size = -(-len(y) // BLOCKS) if len(y) >= FEW_ROWS else len(y)
        is_softmax = objective.kind == kinds.SOFTMAX
        self.block = CLASS_BLOCK if is_softmax else size
        is_alone = len(y) < FEW_ROWS or workers.threads == 1
        self.uses_single_kernel = self.has_single_kernel and not is_softmax and is_alone

    def estimate(self, score, grown):
        """Return the leaf values before the learning rate, (n_leaves, n_scores), and Σw.

        Parameters
        ----------
        score : (n_scores, n_rows) float64, as stored by the objective
        grown : GrownTree
        """
        if self.params.leaf_estimation_method == "Exact":
            return self._quantiles(score, grown), self._weights(grown)
        iterations = self.params.leaf_estimation_iterations
        if iterations > 1:
            score = score.copy()
        watches = iterations > 1 and self.params.leaf_estimation_backtracking != "No"
        if self.uses_single_kernel and self.langevin is None:
            return self._estimate_alone(score[0], grown, watches)
        proof = DecreaseProof(self, score) if watches else None
        total = np.zeros((grown.n_leaves, len(score)))
        left, weights = iterations, None
        while left > 0:
            sums = self._noisy_sums(score, grown)
            weights = sums[:, -1] if weights is None else weights
            step = self._step(sums)
            left -= 1
            if not watches:
                total += step
                if left:
                    self.add(score, step, grown)
                continue
            if proof.can_skip_loss(score, sums, step):
                total += step
                self.add(score, step, grown)
                continue
            proof.loss, left = self._search(score, step, grown, total, (proof.loss, left))
        return total, weights

    def _estimate_alone(self, score, grown, watches):
        """Return the leaf values and weights, computed by one kernel in the calling thread."""
        params, objective = self.params, self.objective
        n_leaves = grown.n_leaves
        values, weights = np.empty((n_leaves, 1)), np.empty(n_leaves)
        is_newton = params.leaf_estimation_method == "Newton"
        estimate_leaves(
            objective.kind, objective.slope, objective.is_exp, score, self.y, self.weight,
            grown.leaf_of, self.l2, params.leaf_estimation_iterations, is_newton, watches,
            self.block, self.make_scratch(n_leaves), values[:, 0], weights,
        )  # fmt: skip
        return values, weights

    def make_scratch(self, n_leaves):
        """Return the `LeafScratch` for trees with at most ``n_leaves`` leaves."""
        n_rows = len(self.y)
        n_blocks = -(-n_rows // self.block)
        sums, steps = np.empty((n_blocks, n_leaves, 3)), np.empty((3, n_leaves))
        return LeafScratch(sums, np.empty(n_blocks), steps, np.empty(n_rows))

    def _search(self, score, step, grown, total, state):
        """Halve a step until the loss falls; return the loss and the iterations that are left.

        The accepted step is added to ``total`` and to ``score``; none is if no iterations are left.
        """
        loss, left = state
        scale = 1.0
        while left >= 0:
            scaled = step * scale
            now, after = self._try_step(score, scaled, grown)
            if now < loss:
                total += scaled
                score[:] = after
                return now, left
            scale /= 2.0
            left -= 1
        return loss, left

    def _try_step(self, score, step, grown):
        """Return the loss after a step, and the new scores."""
        after = score.copy()
        self.add(after, step, grown)
        return self.loss(after), after

    def add(self, score, values, grown):
        """Add leaf values to the scores of all rows."""
        n_rows, leaf_of = score.shape[1], grown.leaf_of
        for k in range(len(score)):
            own = np.ascontiguousarray(values[:, k])
            if self.objective.is_exp:
                own = own.copy()
                exponentiate(own)

            def add(first, last, k=k, own=own):
                rows = first * ROWS, min(last * ROWS, n_rows)
                add_to_scores(self.objective.is_exp, own, leaf_of, score[k], *rows)

            self.workers.share(add, -(-n_rows // ROWS))

    def loss(self, score):
        """Return the weighted mean loss; NaN counts as infinite."""
        n_rows = len(self.y)
        sums = np.empty(-(-n_rows // self.block))

        def add(first, last):
            for part in range(first, last):
                rows = part * self.block, min((part + 1) * self.block, n_rows)
                if self.objective.kind == kinds.SOFTMAX:
                    work = np.empty(len(score))
                    sums[part] = sum_class_losses(score, self.y, self.weight, work, *rows)
                else:
                    kind = self.objective.kind, self.objective.slope
                    sums[part] = sum_losses(*kind, score[0], self.y, self.weight, *rows)

        self.workers.share(add, len(sums))
        total = float(sums.sum())
        return np.inf if np.isnan(total) else total

    def _noisy_sums(self, score, grown):
        """Return `_sums` with the noise of Langevin boosting, if any."""
        sums = self._sums(score, grown)
        if self.langevin is not None:
            self.langevin.add_to_sums(sums, self._leaf_curvature(sums), self.l2)
        return sums

    def _leaf_curvature(self, sums):
        """Return −ΣH of each score from sums of leaves, float64 (n_leaves, n_scores).

        With several scores, the sums of H are the upper triangle of its matrix.
        """
        k = self.objective.n_scores
        if k == 1:
            return -sums[:, DER2 : DER2 + 1]
        diagonal = [k + row * k - row * (row - 1) // 2 for row in range(k)]
        return -sums[:, diagonal]

    def _sums(self, score, grown):
        """Return the sums of derivatives and weights, (n_leaves, n_sums); weights come last."""
        n_rows, k, objective = len(self.y), len(score), self.objective
        width = k + k * (k + 1) // 2 + 1
        blocks = np.zeros((-(-n_rows // self.block), grown.n_leaves, width))
        given = score, self.y, self.weight, grown.leaf_of

        def add(first, last):
            if objective.kind != kinds.SOFTMAX:
                kind = objective.kind, objective.slope
                sum_leaves(*kind, score[0], *given[1:], self.block, blocks, first, last)
                return
            for part in range(first, last):
                rows = part * self.block, min((part + 1) * self.block, n_rows)
                sum_class_leaves(*given, np.empty(k), blocks[part], *rows)

        self.workers.share(add, len(blocks))
        if objective.kind != kinds.SOFTMAX:
            blocks[blocks[..., WEIGHT] <= MIN_WEIGHT, :WEIGHT] = 0.0
        return np.add.reduce(blocks, axis=0)

    def _step(self, sums):
        """Return the step of each leaf, (n_leaves, n_scores)."""
        weight, is_newton = sums[:, -1:], self.params.leaf_estimation_method == "Newton"
        if self.objective.kind == kinds.SOFTMAX and is_newton:
            return self._class_step(sums)
        n_scores = self.objective.n_scores
        if not is_newton:
            with np.errstate(divide="ignore"):
                inverse = np.where(weight > 0.0, 1.0 / (weight + self.l2), 0.0)
            return sums[:, :n_scores] * inverse
        return sums[:, DER1 : DER1 + 1] / (-sums[:, DER2 : DER2 + 1] + self.l2)

    def _class_step(self, sums):
        """Return the Newton steps of several scores: (−H + λ′ I) v = G.

        H is singular in the direction of equal steps of all classes, so λ′ must not vanish.
        """
        k = self.objective.n_scores
        matrix = np.zeros((k, k, len(sums)))
        matrix[np.triu_indices(k)] = -sums[:, k:-1].T
        matrix = np.ascontiguousarray(matrix.transpose(1, 0, 2))
        diagonal = np.arange(k)
        largest = matrix[diagonal, diagonal].max(axis=0).astype(np.float32)
        l2 = np.maximum(np.float32(self.l2), largest * SINGULAR)
        matrix[diagonal, diagonal] += l2.astype(np.float64)
        return solve_positive(matrix, sums[:, :k].T.copy()).T

    def _quantiles(self, score, grown):
        """Return the quantile of the residuals of each leaf, (n_leaves, n_scores)."""
        weights = self._quantile_weights()
        residual = (self.y.astype(np.float64) - score).astype(np.float32)
        levels = self.objective.levels or (self.objective.parameter,)
        values = np.zeros((grown.n_leaves, len(levels)))
        order = np.argsort(grown.leaf_of, kind="stable")
        ends = np.cumsum(np.bincount(grown.leaf_of, minlength=grown.n_leaves))
        for leaf, rows in enumerate(np.split(order, ends[:-1])):
            weight = weights[rows] if len(weights) else weights
            for k, level in enumerate(levels):
                values[leaf, k] = weighted_quantile(residual[k, rows], weight, level)
        return values

    def _quantile_weights(self):
        """Return the weights of the residuals: none with ``parity``, as in CatBoost."""
        return NO_WEIGHT if self.params.parity else self.weight

    def _weights(self, grown):
        """Return the sum of the weights of each leaf."""
        given = self.weight if len(self.weight) else None
        return np.bincount(grown.leaf_of, given, grown.n_leaves).astype(np.float64)


class DecreaseProof:
    """Proves that steps lower the log loss, and computes the loss only where the proof fails.

    Parameters
    ----------
    estimator : LeafEstimator
    score : float64 (n_scores, n_rows), as stored by the objective
    """

    def __init__(self, estimator, score):
        self.estimator, self.loss, n_rows = estimator, None, len(estimator.y)
        is_logistic = estimator.objective.kind == kinds.LOGISTIC
        has_weights = len(estimator.weight) > 0
        self.is_possible = estimator.has_float64_loss and is_logistic and not has_weights
        if self.is_possible:
            self.n_added = estimator.block + -(-n_rows // estimator.block)
            self.max_abs_score = largest_log(score[0])
            self.bound = loss_bound(n_rows, self.max_abs_score)

    def can_skip_loss(self, score, sums, step):
        """Return whether a step surely lowers the loss; if not, `loss` is that of the scores.

        The caller adds such a step to the scores.
        """
        longest_step = self._longest_step(sums, step) if self.is_possible else NOT_PROVEN
        if longest_step < 0.0 and self.loss is None:
            self.loss = self.estimator.loss(score)
            if self.is_possible:
                self.bound = min(self.bound, self.loss)
                longest_step = self._longest_step(sums, step)
        if longest_step < 0.0:
            if self.is_possible:  # the search may change the scores
                self.max_abs_score += float(np.abs(step).max())
            return False
        self.max_abs_score, self.loss = self.max_abs_score + longest_step, None
        return True

    def _longest_step(self, sums, step):
        """Return the largest |step|, or `NOT_PROVEN`."""
        changes = step[:, 0].copy()
        exponentiate(changes)
        n_rows = len(self.estimator.y)
        return largest_proven_step(
            sums, changes, n_rows, self.n_added, self.max_abs_score, self.bound
        )


def sum_columns(columns, grown):
    """Return the sums of some columns over the rows of each leaf, float64 (n_leaves, n_columns).

    Parameters
    ----------
    columns : list of float (n_rows,)
    grown : GrownTree
    """
    sums = [np.bincount(grown.leaf_of, column, grown.n_leaves) for column in columns]
    return np.stack(sums, axis=1)


def solve_positive(matrix, right):
    """Solve positive definite systems in the order of LAPACK's dppsv; the arguments are written.

    Parameters
    ----------
    matrix : (k, k, n) float64, the lower triangles of n matrices
    right : (k, n) float64

    Returns
    -------
    (k, n) float64
    """
    k = len(matrix)
    for j in range(k):  # Cholesky factor, column by column
        matrix[j, j] = np.sqrt(matrix[j, j])
        matrix[j + 1 :, j] *= 1.0 / matrix[j, j]
        for i in range(j + 1, k):
            matrix[i:, i] += matrix[i:, j] * -matrix[i, j]
    for j in range(k):
        right[j] /= matrix[j, j]
        right[j + 1 :] -= right[j] * matrix[j + 1 :, j]
    for j in range(k - 1, -1, -1):
        for i in range(k - 1, j, -1):
            right[j] -= matrix[i, j] * right[i]
        right[j] /= matrix[j, j]
    return right
