"""Parameters of HistGradientBoosting: allowed values, and their conversion to our own."""

from itertools import combinations
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn._loss.loss import (
    AbsoluteError,
    BaseLoss,
    HalfBinomialLoss,
    HalfGammaLoss,
    HalfMultinomialLoss,
    HalfPoissonLoss,
    HalfSquaredError,
    PinballLoss,
)
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_monotonic_cst

LOSSES = {
    "squared_error": HalfSquaredError,
    "absolute_error": AbsoluteError,
    "poisson": HalfPoissonLoss,
    "gamma": HalfGammaLoss,
    "quantile": PinballLoss,
}
OBJECTIVES = {  # loss → objective of `HistogramBoosting`
    "squared_error": "regression",
    "absolute_error": "regression_l1",
    "poisson": "poisson",
    "gamma": "gamma",
    "quantile": "quantile",
    "log_loss": None,
}
COUNT = Interval(Integral, 1, None, closed="left")
CONSTRAINTS = {
    "loss": [BaseLoss],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [COUNT],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "max_depth": [COUNT, None],
    "min_samples_leaf": [COUNT],
    "l2_regularization": [Interval(Real, 0, None, closed="left")],
    "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
    "n_iter_no_change": [COUNT],
    "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither"), COUNT, None],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "warm_start": ["boolean"],
    "early_stopping": [StrOptions({"auto"}), "boolean"],
    "scoring": [str, callable, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "parity": [StrOptions({"scikit-learn"}), None],
}
MAX_LEAVES = 131072  # of `num_leaves`, which has no "unlimited"
FIXED = {  # parameters of `HistogramBoosting` without a counterpart
    "min_data_in_bin": 1,
    "min_child_weight": 1e-3,
    "poisson_max_delta_step": 0.0,
    "cat_smooth": 10.0,
    "cat_l2": 0.0,
    "max_cat_threshold": 255,
    "max_cat_to_onehot": 1,
    "min_data_per_group": 1,
}


class LossObjective:
    """Objective of `HistogramBoosting` that computes g and h with a loss of scikit-learn.

    Parameters
    ----------
    loss : sklearn._loss.loss.BaseLoss
    """

    def __init__(self, loss):
        self.loss = loss

    def __call__(self, y, raw):
        """Return g and h, each of the shape of the raw scores."""
        return self.loss.gradient_hessian(y_true=y, raw_prediction=raw)


class ColumnConstraints(NamedTuple):
    """Constraints on columns."""

    monotone: np.ndarray  # int8 (n_features,)
    interactions: list | None  # of sets of column numbers; None allows all interactions


def make_loss(params, n_scores, sample_weight):
    """Return the loss object of an estimator.

    Parameters
    ----------
    params : the estimator
    n_scores : int, number of raw scores of a row
    sample_weight : float64 (n_rows,) or None
    """
    if isinstance(params.loss, BaseLoss):
        return params.loss
    if params.loss == "log_loss":
        if n_scores == 1:
            return HalfBinomialLoss(sample_weight=sample_weight)
        return HalfMultinomialLoss(sample_weight=sample_weight, n_classes=n_scores)
    extra = {"quantile": params.quantile} if params.loss == "quantile" else {}
    return LOSSES[params.loss](sample_weight=sample_weight, **extra)


def read_constraints(params, n_scores):
    """Return the `ColumnConstraints` of an estimator.

    Raises
    ------
    ValueError
        If constraints are malformed, or monotonic for a category or more than two classes.
    """
    if params.monotonic_cst is not None and n_scores != 1:
        raise ValueError("monotonic constraints are not supported for multiclass classification.")
    monotone = _check_monotonic_cst(params, params.monotonic_cst)
    if params.is_categorical_ is not None and monotone[params.is_categorical_].any():
        raise ValueError("Categorical features cannot have monotonic constraints.")
    return ColumnConstraints(
        monotone, read_interactions(params.interaction_cst, params.n_features_in_)
    )


def read_interactions(interaction_cst, n_features):
    """Return the sets of columns that may interact, or None if all may.

    Columns in no set form one set of their own.

    Raises
    ------
    ValueError
        If the constraints are not groups of column numbers.
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        size = 2 if interaction_cst == "pairwise" else 1
        interaction_cst = combinations(range(n_features), size)
    try:
        groups = [set(group) for group in interaction_cst]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got: "
            f"{interaction_cst!r}."
        ) from None
    for group in groups:
        if not all(isinstance(f, Integral) and 0 <= f < n_features for f in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] "
                f"= [0, {n_features - 1}], specifying the position of features, got invalid "
                f"indices: {group!r}"
            )
    others = set(range(n_features)).difference(*groups)
    return [*groups, others] if others else groups


def to_histogram_params(params, n_scores, is_categorical, constraints):
    """Return the parameters of `HistogramBoosting` for those of an estimator.

    With K > 2 classes, h is K / (K − 1) times as large as in scikit-learn. The learning rate and
    the L2 regularization are scaled to correct for it.
    """
    scale = n_scores / (n_scores - 1) if n_scores > 2 and isinstance(params.loss, str) else 1.0
    is_monotone = constraints.monotone.any()
    groups = constraints.interactions
    results = FIXED | {
        "objective": OBJECTIVES[params.loss] if isinstance(params.loss, str) else None,
        "learning_rate": params.learning_rate * scale,
        "num_leaves": min(params.max_leaf_nodes or MAX_LEAVES, MAX_LEAVES),
        "max_depth": params.max_depth,
        "min_child_samples": params.min_samples_leaf,
        "reg_lambda": params.l2_regularization * scale,
        "colsample_bytree": float(params.max_features),
        "max_bin": params.max_bins,
        "categorical_feature": np.flatnonzero(is_categorical).tolist(),
        "monotone_constraints": constraints.monotone.tolist() if is_monotone else None,
        "interaction_constraints": None if groups is None else [sorted(group) for group in groups],
    }
    if params.loss == "quantile":
        results["alpha"] = params.quantile
    return results
