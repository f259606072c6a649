"""SHAP values of the columns of X as CatBoost computes them.

All statistics and one-hot splits of the same categorical columns are one player, whose value is
divided equally among these columns. The expectation over unknown columns follows the splits of a
symmetric tree from the last one to the first, which matters where a column has several splits.
"""

from dataclasses import replace

import numpy as np

from algorithms.model_io.full_trees import leaf_order
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.model import join_trees
from algorithms.symmetric.tree import SymmetricTree


def explained_trees(trees, start, derived, n_columns):
    """Return the trees that the SHAP values explain, and the players.

    Parameters
    ----------
    trees : list of SymmetricTree or NonSymmetricTree
    start : float64 (n_scores,), initial scores
    derived : DerivedColumns, or None
    n_columns : int, number of columns of the trees

    Returns
    -------
    ensemble : harness.TreeEnsemble
    stands_for : int64 (n_columns,), the column that stands for each column, as in `contributions`
    players : dict, column that stands for a player → its categorical columns, or the numeric one
    """
    players, stands_for = {}, np.arange(n_columns)
    features = [] if derived is None else derived.features
    for number, feature in enumerate(features, n_columns - len(features)):
        is_indicator = isinstance(feature, Indicator)
        columns = (feature.column,) if is_indicator else feature.projection.columns
        stands_for[number] = players.setdefault(columns, number)
    players = {number: columns for columns, number in players.items()}
    players |= {column: (column,) for column in range(n_columns - len(features))}
    trees = [reverse_splits(one) if isinstance(one, SymmetricTree) else one for one in trees]
    return join_trees(trees, start, "identity", None, n_columns), stands_for, players


def reverse_splits(tree):
    """Return a symmetric tree with its splits in reverse order."""
    order = leaf_order(tree.depth)
    features, borders, nan_right = (
        own[::-1] for own in (tree.features, tree.borders, tree.nan_right)
    )
    values, weights = tree.values[order], tree.weights[order]
    return replace(
        tree,
        features=features,
        borders=borders,
        nan_right=nan_right,
        values=values,
        weights=weights,
    )
