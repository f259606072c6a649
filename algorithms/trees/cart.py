"""Conversion of the parameters of trees and ensembles of trees to the kernels' rules."""

from math import ceil
from numbers import Integral, Real
from warnings import warn

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from algorithms.estimator.library_versions import AS_SKLEARN
from algorithms.trees.categorical_columns import CATEGORICAL
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.kernels.criteria import tabulate_x_log_x

CRITERIA = {
    "gini": tree_arrays.GINI,
    "entropy": tree_arrays.ENTROPY,
    "log_loss": tree_arrays.ENTROPY,
    "gain_ratio": tree_arrays.ENTROPY,
    "misclassification": tree_arrays.MISCLASSIFICATION,
    "squared_error": tree_arrays.SQUARED_ERROR,
    "absolute_error": tree_arrays.ABSOLUTE_ERROR,
    "poisson": tree_arrays.POISSON,
}
UNLIMITED = 2**31 - 1
TWO = 2
LONGEST_TABLE = 1 << 24  # maximum number of entries of the table of x log x

TREE_CONSTRAINTS = {
    "splitter": [StrOptions({"best", "random"})],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "random_state": ["random_state"],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "monotonic_cst": ["array-like", None],
    "n_jobs": [Integral, None],
    "categorical_features": CATEGORICAL,
    "parity": AS_SKLEARN,
}


def name_criterion(given):
    """Return a regressor's criterion; warn for "friedman_mse" and replace it.

    As in scikit-learn 1.9, where "friedman_mse" is another name of "squared_error".
    """
    if not isinstance(given, str) or given != "friedman_mse":
        return given
    warn(
        'Value `"friedman_mse"` for `criterion` is deprecated: it means `"squared_error"`.',
        FutureWarning,
        stacklevel=3,
    )
    return "squared_error"


def count_features(max_features, n_features):
    """Return the number of features sampled in a node."""
    match max_features:
        case None:
            return n_features
        case "sqrt":
            return max(1, int(np.sqrt(n_features)))
        case "log2":
            return max(1, int(np.log2(n_features)))
        case Integral():
            return int(max_features)
        case _:
            return max(1, int(max_features * n_features))


def rows_or_share(value, n_rows):
    """Return a number of rows that is given as an integer, or as a share of all rows."""
    return int(value) if isinstance(value, Integral) else ceil(value * n_rows)


def monotonic_signs(given, n_features, n_classes):
    """Return each feature's constraint, on the value or on the share of the first class.

    Raises
    ------
    ValueError
        As in scikit-learn, if the signs or their number are invalid, or with several classes.
    """
    if given is None:
        return np.empty(0, np.int8)
    signs = np.asarray(given)
    if signs.shape[0] != n_features:
        raise ValueError(
            f"monotonic_cst has shape {signs.shape[0]} but the input data X has {n_features} "
            "features."
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(signs)}"
        )
    if n_classes > TWO:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification"
        )
    return np.asarray(signs * (-1 if n_classes else 1), np.int8)


def make_rules(tree, target, n_rows, n_features):
    """Return the `tree_arrays.Rules` of a tree's parameters.

    Parameters
    ----------
    tree : the estimator, with its parameters
    target : Target
    n_rows, n_features : of X, including rows of weight 0
    """
    weight = target.weight
    total = float(n_rows) if weight is None else float(np.sum(weight))
    min_samples_leaf = rows_or_share(tree.min_samples_leaf, n_rows)
    min_samples_split = max(2, rows_or_share(tree.min_samples_split, n_rows))
    criterion = CRITERIA[tree.criterion]
    return tree_arrays.Rules(
        criterion=criterion,
        n_classes=target.n_classes,
        max_depth=UNLIMITED if tree.max_depth is None else min(tree.max_depth, UNLIMITED),
        min_samples_split=max(min_samples_split, 2 * min_samples_leaf),
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=tree.min_weight_fraction_leaf * total,
        min_impurity_decrease=float(tree.min_impurity_decrease),
        max_features=count_features(tree.max_features, n_features),
        max_leaf_nodes=tree.max_leaf_nodes or 0,
        total_weight=total,
        filtered=int(weight is None or bool((weight >= 0).all())),
        big=0,
        x_log_x=entropy_table(criterion, total, n_rows),
        monotonic=monotonic_signs(tree.monotonic_cst, n_features, target.n_classes),
        by_ratio=int(tree.criterion == "gain_ratio"),
        at_random=int(tree.splitter == "random"),
    )


def entropy_table(criterion, total, n_rows):
    """Return i log₂ i up to the total weight; empty if it is not used, or too long."""
    if (
        criterion != tree_arrays.ENTROPY
        or total != int(total)
        or total > min(16 * n_rows, LONGEST_TABLE)
    ):
        return np.empty(0)
    table = np.empty(int(total) + 1)
    tabulate_x_log_x(table)
    return table
