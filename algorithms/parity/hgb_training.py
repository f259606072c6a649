"""Training like scikit-learn's HistGradientBoosting with any of its losses, round by round.

`hgb_boosting` trains squared error and log loss with kernels of its own. Here the derivatives and
the leaf values of losses without second derivatives are those of scikit-learn's loss objects.
"""

import numpy as np

from algorithms.gbdt.model import OURS
from algorithms.parity.grown_tree import rows_of_leaves
from algorithms.parity.hgb_binning import find_bins
from algorithms.parity.hgb_grower import Grower
from algorithms.parity.kernels.hgb_arrays import Rules
from algorithms.prediction.predictor import FastPredictor


class ParityTraining:
    """Training with scikit-learn's arithmetic.

    Parameters
    ----------
    params : the estimator, with scikit-learn's parameter names
    rows : encoded rows: X float64, y float64, weight float64 or None
    loss : loss object of scikit-learn
    is_categorical : bool (n_features,)
    seed : int, for the sample of rows from which bins are chosen
    earlier : TreeEnsemble to continue from, or None
    """

    def __init__(self, params, rows, loss, is_categorical, seed, earlier):
        self.params, self.loss, self.earlier = params, loss, earlier
        self.y, self.weight = rows.y, rows.weight
        bins = find_bins(rows.X, is_categorical, params.max_bins, rows.weight, seed)
        rules = Rules(
            num_leaves=int(params.max_leaf_nodes or 2**31),
            max_depth=int(params.max_depth or 0),
            min_child_samples=int(params.min_samples_leaf),
            reg_lambda=float(params.l2_regularization),
        )
        self.grower = Grower(bins, rows.X, int(params.max_bins), rules)
        self.rounds = []
        if earlier is None:
            base = loss.fit_intercept_only(y_true=self.y, sample_weight=self.weight)
            self.base = np.asarray(base, np.float64).reshape(-1)
        else:
            self.base = earlier.base
        self.score = self.predict_start(rows.X)

    def run(self, n_rounds, scores):
        """Add rounds until all are done or the scores stop training; return the TreeEnsemble."""
        if scores is not None:
            scores.begin(self, is_first=self.earlier is None)
        for _ in range(n_rounds):
            self.rounds.append(self.boost())
            if scores is not None and scores.is_over(self):
                break
        return self.ensemble()

    def boost(self):
        """Grow the trees of a round, add them to the scores, and return them."""
        g, h = self.loss.init_gradient_and_hessian(len(self.y), dtype=np.float32, order="F")
        given = {"y_true": self.y, "raw_prediction": self.score, "sample_weight": self.weight}
        is_constant = self.loss.constant_hessian
        if is_constant:
            self.loss.gradient(**given, gradient_out=g)
            h = np.ones(g.shape, np.float32, order="F")
        else:
            self.loss.gradient_hessian(**given, gradient_out=g, hessian_out=h)
        g, h = (a.reshape(len(self.y), -1, order="F") for a in (g, h))
        return [self.grow(k, g[:, k], h[:, k], is_constant) for k in range(g.shape[1])]

    def grow(self, k, g, h, is_constant):
        """Grow the tree of one score, add its values to the score, and return it."""
        nodes, goes_left = self.grower.grow(g, h, is_constant)
        rate, score = self.params.learning_rate, self.score[:, k]
        nodes["value"][nodes["left"] < 0] *= rate
        leaves = rows_of_leaves(self.grower)
        if not self.loss.differentiable:
            for node, rows in leaves:
                residual = self.y[rows] - score[rows]
                weight = None if self.weight is None else self.weight[rows]
                update = self.loss.fit_intercept_only(y_true=residual, sample_weight=weight)
                nodes["value"][node] = rate * update
        for node, rows in leaves:
            score[rows] += nodes["value"][node]
        return self.grower.to_tree(nodes, goes_left)

    def join(self, rounds, base):
        """Return rounds of trees as a TreeEnsemble."""
        from harness import TreeEnsemble

        old = [] if self.earlier is None or rounds is not self.rounds else self.earlier
        trees = [*(old.tree(t) for t in range(old.n_trees))] if old else []
        trees += [tree for trees_of_round in rounds for tree in trees_of_round]
        return TreeEnsemble.join(
            trees,
            n_features=self.params.n_features_in_,
            output=np.tile(np.arange(len(base)), len(trees) // len(base)),
            base=base,
            cover_kind="rows",
            library=OURS,
        )

    def ensemble(self):
        """Return all trees so far."""
        return self.join(self.rounds, self.base)

    def raw_of_training(self):
        """Return the raw scores of the training rows, float64 (n_rows, n_scores)."""
        return self.score.copy(order="F")

    def predict_start(self, X):
        """Return the raw scores of rows before the first new round, in Fortran order."""
        if self.earlier is not None:
            return np.asfortranarray(FastPredictor(self.earlier).raw(X))
        return np.asfortranarray(np.tile(self.base, (len(X), 1)))

    def predict_last(self, X):
        """Return the contribution of the last round to the raw scores of rows."""
        last = self.join(self.rounds[-1:], np.zeros(len(self.base)))
        return FastPredictor(last).raw(X)

    def predict_current(self, X):
        """Return the raw scores of rows with all rounds so far."""
        return FastPredictor(self.ensemble()).raw(X)
