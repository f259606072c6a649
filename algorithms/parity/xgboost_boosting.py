"""Boosting with XGBoost's arithmetic: ``parity="xgboost"``.

The rules are those of the installed XGBoost (`xgboost_releases`) on one thread, including the order
and the dtype of all sums (`docs/decisions/parity-with-xgboost.md`):

    F₀ = the base score
    F_m = F_{m−1} + η · tree_m            float32; tree_m grown on g, h of the loss at F_{m−1}

So all thresholds, default directions and leaf values are bitwise those of XGBoost.
"""

import numpy as np

from algorithms.newton.tree import NewtonTree
from algorithms.parity.xgboost_cuts import find_cuts
from algorithms.parity.xgboost_exact_grower import LEAF, ExactGrower
from algorithms.parity.xgboost_hist_grower import ApproxGrower, HistGrower
from algorithms.parity.xgboost_objectives import Objective
from algorithms.parity.xgboost_parameters import read_settings


def boost_by_xgboost_rules(estimator, X, y, weight=None, cuts=None, stop=None, margin=None):
    """Train a model that equals XGBoost's.

    Parameters
    ----------
    estimator : object
        Its attributes are XGBoost's parameters, with the names of the scikit-learn interface. A
        parameter that is missing or None has XGBoost's default.
    X : (n_rows, n_features) float32
        NaN where missing.
    y : (n_rows,) float
        Targets, or class codes 0 … n_classes − 1.
    weight : (n_rows,) float, optional
    cuts : (indptr, values), optional
        Cuts for ``tree_method="hist"``, as returned by ``QuantileDMatrix.get_quantile_cut()``. By
        default they are computed by XGBoost's sketch.
    stop : callable, optional
        Called with the trees of each round; training stops if it returns True.
    margin : (n_rows, n_scores) float, optional
        Initial raw scores. The estimate of the base score does not depend on them.

    Returns
    -------
    rounds : list of lists of NewtonTree
        One list per round, one tree per score; values include the learning rate.
    base : (n_scores,) float32
        Raw score to which the trees are added.

    Raises
    ------
    ValueError
        If a parameter is not supported, y or the cuts are invalid, or a leaf value is NaN.
    """
    X = np.ascontiguousarray(X, np.float32)
    settings = read_settings(estimator, X.shape[1])
    objective = Objective(settings, y, weight)
    grower = make_grower(X, settings, objective, cuts)
    renews = objective.renews and settings.method != "exact"  # not supported by XGBoost
    base = objective.base()
    score = np.repeat(base[:, None], len(X), axis=1)
    if margin is not None:
        score[:] = margin.T
    g, h = np.empty((2, *score.shape), np.float32)
    rounds = []
    for _ in range(settings.n_estimators):
        objective.differentiate(score, g, h)
        trees = []
        for k in range(objective.n_scores):
            tree, at = grower.grow(g[k], h[k])
            if renews:
                tree = renew(tree, at, objective, k, score[k], h[k])
            check_leaves(tree)
            score[k] += tree.nodes["value"][at]
            trees.append(tree)
        rounds.append(trees)
        if stop is not None and stop(trees):
            break
    return rounds, base


def check_leaves(tree):
    """Raise ValueError if a leaf value is NaN, such as 0 / 0."""
    if np.isnan(tree.nodes["value"]).any():
        raise ValueError(
            "parity='xgboost' computed a leaf value that is NaN, as XGBoost would: the hessians of "
            "its rows are 0, or boosting has diverged. Set reg_lambda or min_child_weight above 0, "
            "or a lower learning_rate"
        )


def make_grower(X, settings, objective, cuts):
    """Return the grower for the tree method."""
    if cuts is not None and settings.method != "hist":
        raise ValueError(f"cuts are for tree_method='hist', not {settings.method!r}")
    if settings.method == "exact":
        return ExactGrower(X, settings)
    if settings.method == "approx":
        return ApproxGrower(X, settings, objective.weight, objective.h_is_constant)
    if cuts is None:
        weight = objective.weight if objective.is_weighted else None
        cuts = find_cuts(X, weight, settings.max_bin, settings.release)
    return HistGrower(X, settings, cuts)


def renew(tree, at, objective, k, score, h):
    """Return a tree of score k with leaf values replaced by quantiles of the residuals.

    Rows of weight 0 are ignored. A leaf without other rows keeps its value, multiplied by the
    learning rate once more, as in XGBoost.
    """
    nodes = tree.nodes.copy()
    residuals = objective.y - score
    for leaf in np.flatnonzero(nodes["left"] == LEAF):
        rows = np.flatnonzero((at == leaf) & (h != 0.0))
        value = nodes["value"][leaf]
        if len(rows):
            value = objective.quantile_of(residuals[rows], rows, k)
        nodes["value"][leaf] = value * objective.settings.learning_rate
    return NewtonTree(nodes)
