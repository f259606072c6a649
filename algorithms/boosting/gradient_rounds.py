"""Rounds of gradient boosting: compute gradients, fit a model, find its step, record losses."""

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from algorithms.boosting.boosted_trees import has_missing
from algorithms.boosting.kernels.leaf_sums import draw_mask
from algorithms.boosting.line_search import search_steps
from algorithms.boosting.losses import Groups, KernelLoss, share_in_caller
from algorithms.boosting.round_batches import make_batches
from algorithms.estimator.bootstrap import SEEDS, seeded_clones
from algorithms.estimator.verbose import Report
from algorithms.trees.target_scale import find_target_scale, is_small


class Rounds:
    """The rounds of one fit.

    Parameters
    ----------
    model : BaseGradientBoosting; its estimators_, steps_ and scores are written
    X : (n_rows, n_features) array; float32 and C-contiguous unless trees grow by levels
    y : (n_rows,) float64
    weight : (n_rows,) float64, or None
    raw : (n_rows, n_outputs) float64, Fortran order, the initial scores; updated
    held_out : (X, y, weight) for validation, or None
    workers : Workers
    """

    def __init__(self, model, X, y, weight, raw, held_out, workers):
        self.model = model
        self.X, self.y, self.raw = X, y, raw
        self.weight = None if weight is None or (weight == 1.0).all() else weight
        self.held_out = held_out
        self.loss = model._loss  # noqa: SLF001 - a part of the estimator
        self.random = model._rng  # noqa: SLF001
        self.first = len(model.estimators_)
        self.mask = None
        self.trees = None
        self._scales_trees = model.estimator is None and model.parity is None
        if model._has_trees:  # noqa: SLF001
            self.trees = model.tree_maker(X, workers)

    def run(self, monitor):
        """Train until all rounds are done, or the monitor or the validation loss stops training."""
        model = self.model
        self._extend_arrays()
        report = Report(model, self.first) if model.verbose else None
        early_stopping = EarlyStopping(self) if self.held_out is not None else None
        is_watched = report or monitor is not None or early_stopping is not None
        batches = make_batches(self)
        done = self.first
        while done < model.n_estimators:
            if batches is not None:
                done = batches.add(done, done + 1 if is_watched else model.n_estimators)
            else:
                self._add_round(done)
                done += 1
            i = done - 1
            if report:
                report.print_round(i)
            if monitor is not None and monitor(i, model, self._variables()):
                break
            if early_stopping is not None and early_stopping.ends_at(i):
                break
        self._trim(done)

    def end(self):
        """Return the loss, without references to the fit's threads."""
        if isinstance(self.loss, KernelLoss):
            self.loss.share = share_in_caller
        return self.loss

    def _variables(self):
        return {
            "raw_predictions": self.raw,
            "y": self.y,
            "X": self.X,
            "sample_weight": self.weight,
            "sample_mask": self.mask,
        }

    def _extend_arrays(self):
        """Extend the arrays with one entry per round."""
        model = self.model
        more, width = model.n_estimators - self.first, model.n_trees_per_iteration_
        model.estimators_ = np.vstack([model.estimators_, np.empty((more, width), object)])
        model.steps_ = np.vstack([model.steps_, np.ones((more, width))])
        model.train_score_ = np.append(model.train_score_, np.zeros(more))
        if model.subsample < 1.0:
            for name in ("oob_improvement_", "oob_scores_"):
                known = getattr(model, name, np.zeros(self.first))
                setattr(model, name, np.append(known, np.zeros(more)))

    def _trim(self, done):
        """Shorten these arrays to the trained rounds."""
        model = self.model
        model.n_estimators_ = done
        names = ("estimators_", "steps_", "train_score_", "oob_improvement_", "oob_scores_")
        for name in names:
            if hasattr(model, name):
                setattr(model, name, getattr(model, name)[:done])
        if hasattr(model, "oob_scores_"):
            model.oob_score_ = model.oob_scores_[-1]

    def _add_round(self, i):
        """Add a round, and store the losses after it."""
        if self.model.subsample < 1.0:
            self.mask = self.draw()
        before = self.find_oob_loss(i)
        self._train(i)
        self._record(i, before)

    def draw(self):
        """Return the mask of the rows that are drawn for a round, bool (n_rows,)."""
        mask = np.empty(len(self.y), bool)
        count = max(1, int(self.model.subsample * len(self.y)))
        draw_mask(self.random.uniform(size=len(self.y)), count, mask)
        return mask

    def find_oob_loss(self, i):
        """Return the loss of the rows that are not drawn, before a round; None if all are."""
        if self.mask is None:
            return None
        return self._mean_loss(~self.mask) if i == 0 else self.model.oob_scores_[i - 1]

    def find_limits(self):
        """Return the `Limits` of the next trees, None if they cannot be added in batches."""
        if self.trees is None or self.model.step != "leaf" or self.model.parity is not None:
            return None
        return self.trees.find_limits(self.y, self.weight, self.mask)

    def set_scale(self, gradient):
        """Scale trees if the first gradients are small."""
        if self._scales_trees and is_small(gradient):
            self.trees.scale = replace(find_target_scale(self.y, self.weight), shift=0.0)

    def _mean_loss(self, mask):
        """Return the mean loss of all rows, or of the rows in ``mask``."""
        if mask is None:
            return self.loss(self.y, self.raw, self.weight)
        weight = None if self.weight is None else self.weight[mask]
        return self.loss(self.y[mask], np.asfortranarray(self.raw[mask]), weight)

    def _record(self, i, before):
        """Store the losses after a round."""
        model = self.model
        model.train_score_[i] = self._mean_loss(self.mask)
        if self.mask is not None:
            model.oob_scores_[i] = self._mean_loss(~self.mask)
            model.oob_improvement_[i] = before - model.oob_scores_[i]

    def _train(self, i):
        """Train the models of a round, and add their steps to the scores."""
        model, loss = self.model, self.loss
        if hasattr(loss, "begin_round"):
            loss.begin_round(self.y, self.raw, self.weight)
        gradient = self._gradient(self.raw)
        if i == self.first:
            self.set_scale(gradient)
        for k in range(model.n_trees_per_iteration_):
            seed = self.random.randint(SEEDS)
            gradient_k = np.ascontiguousarray(gradient[:, k])  # g
            if self.trees is not None:
                model.estimators_[i, k] = self._train_tree(gradient_k, gradient, k, seed)
            else:
                model.estimators_[i, k] = member = self._train_other(gradient_k, seed)
                prediction = member.predict(self.X)
                model.steps_[i, k] = self._search_step(prediction, k)
                self.raw[:, k] += model.learning_rate_ * model.steps_[i, k] * prediction

    def _gradient(self, raw):
        """Return the negative gradients, float64 (n_rows, n_outputs)."""
        g = np.asarray(self.loss.negative_gradient(self.y, raw), np.float64)
        return g.reshape(len(self.y), -1)

    def _train_tree(self, gradient_k, gradient, k, seed):
        """Return the tree of an output; add its leaf values to the scores."""
        model = self.model
        tree, leaf = self.trees.grow(gradient_k, self.weight, self.mask, seed)
        means = tree.values[:, 0]
        if model.step == "global":
            values = self._search_step(means[leaf], k) * means  # ρ h
        else:
            groups = Groups(
                leaf, means, self.mask, self.y, self.raw, gradient, k, self.weight,
                model.l2_regularization, model.parity is not None,
            )  # fmt: skip
            find = getattr(self.loss, "leaf_values", self._search_leaves)
            values = find(groups)  # ρ_j
        leaves = tree.children_left < 0
        tree.values[leaves, 0] = values[leaves]
        self.raw[:, k] += model.learning_rate_ * values.take(leaf)  # F + ν ρ
        return model.member(tree)

    def _train_other(self, gradient_k, seed):
        """Return a base learner trained on the negative gradient."""
        member = seeded_clones(self.model.base_learner(), [seed])[0]
        rows = slice(None) if self.mask is None else self.mask
        given = {}
        if self.weight is not None:
            if not has_fit_parameter(member, "sample_weight"):
                raise ValueError(f"{type(member).__name__} does not support sample weights")
            given["sample_weight"] = self.weight[rows]
        return member.fit(self.X[rows], gradient_k[rows], **given)

    def _weigh(self, values):
        """Return values times weight; 0 for rows that were not drawn."""
        if self.weight is not None:
            values = values * self.weight
        return values if self.mask is None else np.where(self.mask, values, 0.0)

    def _search_step(self, prediction, k):
        """Return ρ = argmin Σ w L(y, F + ρ h): the one-variable regression of y on h."""

        def slope(step):
            raw = self.raw.copy(order="F")
            raw[:, k] += step[0] * prediction
            return np.array([self._weigh(self._gradient(raw)[:, k] * prediction).sum()])

        return search_steps(slope, 1)[0]

    def _search_leaves(self, groups):
        """Return the step of each leaf by line search, for a loss without ``leaf_values``."""
        k, n = groups.output, len(groups.means)

        def slope(steps):
            raw = self.raw.copy(order="F")
            raw[:, k] += steps[groups.leaf]
            return np.bincount(groups.leaf, self._weigh(self._gradient(raw)[:, k]), minlength=n)

        return search_steps(slope, n, groups.l2)


class EarlyStopping:
    """Early stopping by the validation loss."""

    def __init__(self, rounds):
        self.model, self.loss = rounds.model, rounds.loss
        self.X, self.y, weight = rounds.held_out
        self.weight = None if rounds.weight is None else weight
        self.raw = self.model._raw(self.X, rounds.first)  # noqa: SLF001 - a part of the estimator
        self.missing = has_missing(self.X)
        self.history = np.full(self.model.n_iter_no_change, np.inf)

    def ends_at(self, i):
        """Return whether the loss has improved by at most the tolerance in the last rounds."""
        self.model._add(i, i + 1, self.X, self.raw, missing=self.missing)  # noqa: SLF001
        loss = self.loss(self.y, self.raw, self.weight)
        if (loss + self.model.tol < self.history).any():
            self.history[i % len(self.history)] = loss
            return False
        return True
