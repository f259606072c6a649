"""Boosting like scikit-learn's HistGradientBoosting: ``parity="scikit-learn"``.

The rules are those of scikit-learn 1.9.1 (`estimator.library_versions`), from the bins to the order
in which scores are summed. So the model is bitwise that of scikit-learn. `SAME_AS` maps our
parameter names to those of scikit-learn.
"""

import numpy as np
from scipy.special import expit, logit
from scipy.stats import gmean
from sklearn.utils import check_random_state
from sklearn.utils.extmath import softmax

from algorithms.gbdt.kernels import gradients as kinds
from algorithms.parity.grown_tree import rows_of_leaves
from algorithms.parity.hgb_binning import find_bins
from algorithms.parity.hgb_grower import Grower
from algorithms.parity.kernels.hgb_arrays import Rules
from algorithms.parity.kernels.hgb_gradient import (
    differentiate_by_hgb,
    differentiate_classes_by_hgb,
)

SAME_AS = {  # our parameter → HistGradientBoosting's
    "learning_rate": "learning_rate",
    "n_estimators": "max_iter",
    "num_leaves": "max_leaf_nodes",
    "max_depth": "max_depth",  # −1 and None: unlimited
    "min_child_samples": "min_samples_leaf",
    "reg_lambda": "l2_regularization",
    "max_bin": "max_bins",
    "categorical_feature": "categorical_features",
    "random_state": "random_state",
    "class_weight": "class_weight",
}
FOLLOWED_PARAMS = tuple(SAME_AS)
FOLLOWED = ("regression", "binary", "multiclass")


def train(params, X, y, weight):
    """Return the rounds of trees, each a list of `harness.Tree`, and the base scores.

    Parameters
    ----------
    params : the estimator
    X : (n_rows, n_features) float32 or float64, NaN where missing
    y : (n_rows,) class codes or values
    weight : (n_rows,) float64 or None
    """
    objective = params._objective  # noqa: SLF001 - its own part
    X = X.astype(np.float64, copy=False)
    seed = check_random_state(params.random_state).randint(np.iinfo(np.uint32).max, dtype="u8")
    is_categorical = params._is_categorical  # noqa: SLF001 - its own part
    bins = find_bins(X, is_categorical, params.max_bin, weight, seed)
    rules = Rules(
        num_leaves=int(params.num_leaves),
        max_depth=max(int(params.max_depth or 0), 0),
        min_child_samples=int(params.min_child_samples),
        reg_lambda=float(params.reg_lambda),
    )
    grower = Grower(bins, X, int(params.max_bin), rules)
    y = y.astype(np.float64)
    weight = None if weight is None else weight.copy()  # writeable, for numba
    base = first_scores(objective, y, weight)
    score = np.zeros((len(base), len(y))) + base[:, None]
    rounds = [
        boost(objective, grower, score, y, weight, params.learning_rate)
        for _ in range(params.n_estimators)
    ]
    return rounds, base


def first_scores(objective, y, weight):
    """Return the initial scores, float64 (n_scores,)."""
    if objective.kind is None:
        eps = np.finfo(np.float64).eps
        shares = [np.average(y == k, weights=weight) for k in range(objective.n_scores)]
        shares = np.clip(shares, eps, 1 - eps)[None]
        return np.log(shares / gmean(shares, axis=1)[:, None])[0]
    mean = np.average(y, weights=weight)
    if objective.kind == kinds.LOGISTIC:
        eps = 10 * np.finfo(np.float64).eps
        mean = logit(np.clip(mean, eps, 1 - eps))
    return np.array([mean])


def boost(objective, grower, score, y, weight, rate):
    """Grow the trees of a round, add them to the scores, and return them.

    Parameters
    ----------
    score : (n_scores, n_rows) float64, added to
    rate : learning rate
    """
    weights = np.empty(0) if weight is None else weight
    g, h = np.empty((2, *score.shape), np.float32)
    if objective.kind is None:
        differentiate_classes_by_hgb(score, y, weights, np.empty(len(score)), g, h)
    else:
        is_binary = objective.kind == kinds.LOGISTIC
        differentiate_by_hgb(is_binary, score[0], y, weights, g[0], h[0])
    trees = []
    for k in range(len(score)):
        nodes, goes_left = grower.grow(g[k], h[k], objective.constant_h and weight is None)
        leaf = nodes["left"] < 0
        nodes["value"][leaf] *= rate
        for node, rows in rows_of_leaves(grower):
            score[k, rows] += nodes["value"][node]
        trees.append(grower.to_tree(nodes, goes_left))
    return trees


def to_probabilities(score, link):
    """Return the probabilities of raw scores, float64 (n_rows, n_scores)."""
    if link == "softmax":
        return softmax(np.asfortranarray(score))  # the memory order decides the order of sums
    return expit(score)
