"""Gradient boosting losses for classification; `losses` describes the interface of a loss."""

import numpy as np
from scipy.special import logit, softmax

from algorithms.boosting.kernels import losses as kernels
from algorithms.boosting.losses import HALF, KernelLoss, newton_steps
from algorithms.prediction.binary_probabilities import logistic_of_two


def clip(p):
    """Return probabilities clipped away from 0 and 1, so that their logits are finite."""
    eps = np.finfo(np.float64).eps
    return np.clip(p, eps, 1.0 - eps)


def shares(y, weight, n_classes=2):
    """Return the share of each class, float64 (n_classes,)."""
    counts = np.bincount(y.astype(np.int64), weight, n_classes)
    return counts / counts.sum()


class Binomial(KernelLoss):
    """The logarithmic loss of two classes; F is the logit of the second one."""

    kind = kernels.BINOMIAL
    inverse = "sigmoid"
    scale = 2.0

    def curvature(self, y, gradient):
        """Return h = p (1 − p)."""
        p = y - gradient
        return p * (1.0 - p)

    def start(self, y, weight):
        """Return the logit of the second class's share."""
        return logit(clip(shares(y, weight)[1:]))

    def link(self, p):
        """Return the scores (n_rows, 1) of probabilities (n_rows, 2)."""
        return logit(clip(p[:, 1:]))

    def leaf_values(self, groups):
        """Return one Newton step of each leaf."""
        return newton_steps(self, groups)

    def predict_proba(self, raw):
        """Return the probabilities of both classes, float64 (n_rows, 2)."""
        return logistic_of_two(raw[:, 0])


class Exponential(KernelLoss):
    """AdaBoost's loss e^(−y' F) with y' = ±1; F is half the logit of the second class."""

    kind = kernels.EXPONENTIAL
    inverse = "sigmoid"
    temperature = 0.5

    def curvature(self, y, gradient):
        """Return h = |g|."""
        return np.where(y == 0.0, -gradient, gradient)

    def start(self, y, weight):
        """Return half the logit of the second class's share."""
        return HALF * logit(clip(shares(y, weight)[1:]))

    def link(self, p):
        """Return the scores (n_rows, 1) of probabilities (n_rows, 2)."""
        return HALF * logit(clip(p[:, 1:]))

    def leaf_values(self, groups):
        """Return one Newton step of each leaf."""
        return newton_steps(self, groups)

    def predict_proba(self, raw):
        """Return the probabilities of both classes, float64 (n_rows, 2)."""
        return logistic_of_two(2.0 * raw[:, 0])


class Multinomial(Binomial):
    """The logarithmic loss of several classes, one score per class, with softmax."""

    scale = 1.0
    inverse = "softmax"

    def __init__(self, n_classes):
        super().__init__()
        self.n_outputs = n_classes
        self.factor = (n_classes - 1) / n_classes

    def start(self, y, weight):
        """Return the logarithms of the classes' shares, centered."""
        return self.link(shares(y, weight, self.n_outputs)[None])[0]

    def link(self, p):
        """Return the scores of probabilities, both (n_rows, n_classes)."""
        p = clip(p)
        return np.log(p / np.exp(np.mean(np.log(p), axis=1))[:, None])

    def leaf_values(self, groups):
        """Return one Newton step of each leaf, times (K − 1) / K as in Friedman's paper."""
        return newton_steps(self, groups, groups.output)

    def predict_proba(self, raw):
        """Return the probabilities of the classes, float64 (n_rows, n_classes)."""
        return softmax(raw, axis=1)
