"""Predictions of the single members of an ensemble: the votes and values of its trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.diagnostics import InapplicableError

if TYPE_CHECKING:
    from harness.trees.ensemble import TreeEnsemble


def member_predictions(ensemble: TreeEnsemble, X: Any) -> np.ndarray:
    """Return the prediction of each tree.

    Parameters
    ----------
    X
        As :meth:`harness.trees.ensemble.TreeEnsemble.predict` takes it, n rows.

    Returns
    -------
    (n_trees, n) array
        int64 class codes (the class of the largest value, the first if several are equal), or
        float64 values of a regression.

    Raises
    ------
    InapplicableError
        If the trees are terms of a sum, so a single one is not a prediction, or there is one tree.
    """
    if ensemble.combination == "sum" and ensemble.n_trees > 1:
        raise InapplicableError("its trees are terms of a sum, and one tree is not a prediction")
    if ensemble.n_trees < 2:
        raise InapplicableError("it is a single tree")
    value = ensemble.value[ensemble.leaves(X)]  # (n, n_trees, n_values)
    if not ensemble.classes:
        return np.ascontiguousarray(value[:, :, 0].T)
    codes = np.asarray(ensemble.classes, np.int64)
    return np.ascontiguousarray(codes[value.argmax(axis=2)].T)


def tallies(votes: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the share of the total weight that each class gets, float64 (n, n_classes).

    Parameters
    ----------
    votes : (n_trees, n) int
        Class codes.
    weight : (n_trees,)
        Weights of the trees; their absolute values are normalized to sum to 1.

    Raises
    ------
    InapplicableError
        If all weights are zero.
    """
    total = float(np.abs(weight).sum())
    if not total > 0:
        raise InapplicableError("the weights of its members are all zero")
    shares = np.zeros((votes.shape[1], n_classes))
    rows = np.arange(votes.shape[1])
    for vote, share in zip(votes, weight / total, strict=True):
        shares[rows, vote] += share
    return shares


def against(tally: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin of the true class over the best other class, and that class.

    Parameters
    ----------
    tally : (n, n_classes) shares of the vote, n_classes ≥ 2
    y : (n,) int class codes

    Returns
    -------
    margin : float64 (n,), from -1 to 1
    rival : int64 (n,)
        The first if several have the same share.
    """
    rows = np.arange(len(y))
    others = tally.copy()
    others[rows, y] = -np.inf
    rival = others.argmax(axis=1)
    return tally[rows, y] - tally[rows, rival], rival
