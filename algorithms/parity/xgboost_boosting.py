"""Boosting with XGBoost's arithmetic: ``parity="xgboost"``.

The rules are those of XGBoost 3.2.0 on one thread (`docs/decisions/parity-with-xgboost.md`), to
the order and the type of every sum:

    F₀ = the base score
    F_m = F_{m−1} + η · tree_m            float32; tree_m grown on g, h of the loss at F_{m−1}

so every threshold, default direction and leaf is the library's to the bit.
"""

import numpy as np

from algorithms.newton.tree import NewtonTree
from algorithms.parity.xgboost_cuts import find_cuts
from algorithms.parity.xgboost_exact_grower import LEAF, ExactGrower
from algorithms.parity.xgboost_hist_grower import ApproxGrower, HistGrower
from algorithms.parity.xgboost_objectives import Objective
from algorithms.parity.xgboost_parameters import read_settings


def boost_by_xgboost_rules(estimator, X, y, weight=None, cuts=None, stop=None, margin=None):
    """Grow the trees that XGBoost grows.

    Parameters
    ----------
    estimator : object
        Carries XGBoost's parameters by the names of its scikit-learn interface; one that is
        missing or None has the library's default.
    X : (n_rows, n_features) float32
        NaN where missing.
    y : (n_rows,) float
        Targets, or class codes 0 … n_classes − 1.
    weight : (n_rows,) float, optional
    cuts : (indptr, values), optional
        Of ``tree_method="hist"``, as ``QuantileDMatrix.get_quantile_cut()`` gives them; found by
        the library's own sketch where they are not given.
    stop : callable, optional
        Called with the trees of each round; training ends where it returns true.
    margin : (n_rows, n_scores) float, optional
        Raw scores that training starts from; the base score is estimated without them.

    Returns
    -------
    rounds : list of lists of NewtonTree
        One list a round, one tree a score; their values include the learning rate.
    base : (n_scores,) float32
        The raw score that the trees are added to.

    Raises
    ------
    ValueError
        Where a parameter asks for rules that are not followed, or y or the cuts do not fit, or
        where a leaf would be no number.
    """
    X = np.ascontiguousarray(X, np.float32)
    settings = read_settings(estimator, X.shape[1])
    objective = Objective(settings, y, weight)
    grower = make_grower(X, settings, objective, cuts)
    renews = objective.renews and settings.method != "exact"  # of exact trees the library has none
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
    """Raise ValueError where a leaf is no number, as the library's 0 / 0 is."""
    if np.isnan(tree.nodes["value"]).any():
        raise ValueError(
            "parity='xgboost' has come to a leaf whose value is NaN, as the library's would be: "
            "its rows have no hessians, or boosting has diverged. Set reg_lambda or "
            "min_child_weight above 0, or a lower learning_rate"
        )


def make_grower(X, settings, objective, cuts):
    """Return what grows the trees of a tree method."""
    if cuts is not None and settings.method != "hist":
        raise ValueError(f"cuts are for tree_method='hist', not {settings.method!r}")
    if settings.method == "exact":
        return ExactGrower(X, settings)
    if settings.method == "approx":
        return ApproxGrower(X, settings, objective.weight, objective.h_is_constant)
    if cuts is None:
        own = objective.weight if objective.is_weighted else None
        cuts = find_cuts(X, own, settings.max_bin)
    return HistGrower(X, settings, cuts)


def renew(tree, at, objective, k, score, h):
    """Return a tree of score k whose leaves have the quantile of what is left to explain.

    Rows of no weight have no say; a leaf that has no other rows keeps its value, and shrinks it
    once more, as in the library.
    """
    nodes = tree.nodes.copy()
    left = objective.y - score
    for leaf in np.flatnonzero(nodes["left"] == LEAF):
        rows = np.flatnonzero((at == leaf) & (h != 0.0))
        value = nodes["value"][leaf]
        if len(rows):
            value = objective.quantile_of(left[rows], rows, k)
        nodes["value"][leaf] = value * objective.settings.learning_rate
    return NewtonTree(nodes)
