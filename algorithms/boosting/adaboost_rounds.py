"""One round of the AdaBoost classifier: train a model on the weights, then update the weights.

`ModelRounds` works with any model. `TreeRounds` works with our own small gini trees: kernels
compute the weight sums, the trees and the new weights on columns that are sorted once.
"""

from warnings import warn

import numpy as np
from sklearn.utils import check_random_state

from algorithms.estimator.bootstrap import SEEDS
from algorithms.levelwise.class_grower import ClassGrower
from algorithms.levelwise.kernels.class_arrays import ClassLimits
from algorithms.trees.cart import rows_or_share

EPSILON = np.finfo(np.float64).eps


class ModelRounds:
    """Rounds with any model.

    Parameters
    ----------
    learner : AnyLearner or TreeLearner
    y : (n_rows,) labels
    weight : (n_rows,) float64, of sum 1
    resample : whether a model is trained on drawn rows instead of weights
    parity : "scikit-learn" or None
        "scikit-learn" rounds new weights as scikit-learn does.
    """

    def __init__(self, learner, y, weight, *, resample, parity):
        self._learner, self._y, self._weight = learner, y, weight
        self._resample, self._parity = resample, parity

    def train(self, model, random):
        """Fit a model to the weights; return its error ε, a share of the weight.

        Parameters
        ----------
        model : estimator
        random : RandomState that draws the rows
        """
        weight = self._weight
        clip(weight)
        rows = None
        if self._resample:
            rows = random.choice(len(weight), len(weight), p=weight / weight.sum())
        self._wrong = self._learner.train(model, weight, rows) != self._y
        return np.average(self._wrong, weights=weight)

    def reweigh(self, vote):
        """Increase the weights of wrongly predicted rows; return False if they became infinite."""
        weight, wrong = self._weight, self._wrong
        with np.errstate(over="ignore", divide="ignore"):
            if self._parity is None:
                weight[wrong] *= np.exp(vote)  # w_i exp(α_t [h_t(x_i) ≠ y_i])
            else:
                np.exp(np.log(weight) + vote * wrong * (weight > 0.0), out=weight)
            total = weight.sum()
        if np.isfinite(total):
            self._weight /= total
        return np.isfinite(total)


class TreeRounds:
    """Rounds with our own trees that `class_grower.fits` accepts.

    Parameters
    ----------
    X : (n_rows, n_features) array of numbers
    y : (n_rows,) labels
    labels : (n_classes,) array, sorted
    weight : (n_rows,) float64, of sum 1; rows of weight 0 are left out
    workers : Workers
    name : name of the ensemble, for error messages
    """

    def __init__(self, X, y, labels, weight, workers, name):
        used = weight > 0.0
        self._n_rows = len(y)
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        self._labels = labels
        codes = np.searchsorted(labels, y)
        self._grower = ClassGrower(X, codes, len(labels), weight, workers, name)
        self._n_features = X.shape[1]

    def train(self, model, random):  # noqa: ARG002 - the signature of `ModelRounds.train`
        """Fit a model to the weights; return its error ε, a share of the weight."""
        grower = self._grower
        limits = ClassLimits(
            max(2, rows_or_share(model.min_samples_split, self._n_rows)),
            model.min_weight_fraction_leaf * grower.total,
            float(model.min_impurity_decrease),
        )
        seed = check_random_state(model.random_state).randint(0, SEEDS)
        model.tree_, self._missed = grower.grow(limits, model.max_depth, seed)
        model.classes_, model.n_classes_ = self._labels, len(self._labels)
        model.n_features_in_ = model.max_features_ = self._n_features
        model.n_outputs_ = 1
        return self._missed / grower.total

    def reweigh(self, vote):
        """Increase the weights of wrongly predicted rows; return False if they became infinite."""
        with np.errstate(over="ignore"):
            factor = np.exp(vote)
            total = self._grower.total - self._missed + self._missed * factor
        if np.isfinite(total):
            self._grower.reweigh(1.0 / total, factor / total)  # w_i exp(α_t [h_t(x_i) ≠ y_i])
        return np.isfinite(total)


def clip(weight):
    """Raise positive weights to at least the machine epsilon, in place, as scikit-learn does."""
    np.clip(weight, EPSILON, None, out=weight, where=weight != 0.0)


def relative_losses(off, loss):
    """Return L of each row from its absolute error, (n_rows,); integer errors work, too."""
    worst = off.max()
    if worst != 0.0:
        off = off / worst
    match loss:
        case "square":
            return off**2
        case "exponential":
            return 1.0 - np.exp(-off)
        case _:
            return off


def warn_of_infinite_weights(t):
    """Warn that the weights after a round are infinite."""
    warn(
        f"Sample weights have reached infinite values, at iteration {t}, causing overflow. "
        "Iterations stopped. Try lowering the learning rate.",
        stacklevel=4,
    )


def check_any_model(models):
    """Raise scikit-learn's error if the first model is no better than chance."""
    if not models:
        raise ValueError(
            "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can not "
            "be fit."
        )
