"""Parameters of symmetric-tree boosting: valid values, and defaults that depend on data."""

import os
from copy import copy
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from algorithms.estimator.library_versions import AS_CATBOOST
from algorithms.gbdt.params import AT_LEAST_0, COUNT, SHARE
from algorithms.symmetric.boosting import NEWTON_SCORES
from algorithms.symmetric.borders import CHOOSERS
from algorithms.symmetric.callable_loss import METRIC_METHODS
from algorithms.symmetric.ctr_options import read_ctrs
from algorithms.symmetric.kernels.leaf_sums import QUANTILE, SOFTMAX
from algorithms.symmetric.langevin import resolve_langevin
from algorithms.symmetric.learning_rate import find_learning_rate
from algorithms.symmetric.objectives import CALLABLE
from algorithms.symmetric.sampling import default_share

MAX_BORDERS, MAX_DEPTH = 255, 16
MAX_LEVELS = 255  # of a one-hot column
COMPLEXITY, FEW_ITERATIONS = 4, 200  # default of max_ctr_complexity; with fewer iterations it is 1
MIN_L2 = 1e-20  # replaces 0, as in CatBoost
GROW_POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
MAX_LEAVES, LEAVES = 1 << 16, 31  # limit and default of max_leaves
MAX_FLOAT32 = float(np.finfo(np.float32).max)
DETECTORS = ("IncToDec", "Iter")
WITHOUT_RANDOM_NUMBERS = {"bootstrap_type": "No", "random_strength": 0, "rsm": 1}
CONSTRAINTS = {
    "iterations": [COUNT],
    "learning_rate": [Interval(Real, 0.0, None, closed="neither"), None],
    "depth": [Interval(Integral, 1, MAX_DEPTH, closed="both")],
    "l2_leaf_reg": [AT_LEAST_0, None],
    "random_strength": [AT_LEAST_0],
    "border_count": [Interval(Integral, 1, MAX_BORDERS, closed="both")],
    "feature_border_type": [StrOptions(set(CHOOSERS))],
    "nan_mode": [StrOptions({"Min", "Max", "Forbidden"})],
    "bootstrap_type": [StrOptions({"MVS", "Bayesian", "Bernoulli", "No"}), None],
    "subsample": [SHARE, None],
    "bagging_temperature": [AT_LEAST_0],
    "mvs_reg": [AT_LEAST_0, None],
    "rsm": [SHARE],
    "grow_policy": [StrOptions(set(GROW_POLICIES))],
    "max_leaves": [Interval(Integral, 2, MAX_LEAVES, closed="both"), None],
    "min_data_in_leaf": [COUNT],
    "score_function": [StrOptions({"Cosine", "L2", *NEWTON_SCORES})],
    "leaf_estimation_method": [StrOptions({"Newton", "Gradient", "Exact"}), None],
    "leaf_estimation_iterations": [COUNT, None],
    "leaf_estimation_backtracking": [StrOptions({"AnyImprovement", "No"}), None],
    "boost_from_average": ["boolean", None],
    "boosting_type": [StrOptions({"Plain", "Ordered"}), None],
    "has_time": ["boolean"],
    "approx_on_full_history": ["boolean"],
    "fold_len_multiplier": [Interval(Real, 1.0, MAX_FLOAT32, closed="right")],
    "fold_permutation_block": [Interval(Integral, 0, None, closed="left")],
    "cat_features": ["array-like", str, Integral, None],
    "one_hot_max_size": [Interval(Integral, 0, MAX_LEVELS, closed="both"), None],
    "max_ctr_complexity": [Interval(Integral, 1, MAX_DEPTH - 1, closed="both"), None],
    "simple_ctr": [str, list, tuple, None],
    "combinations_ctr": [str, list, tuple, None],
    "ctr_target_border_count": [Interval(Integral, 1, MAX_BORDERS, closed="both"), None],
    "model_size_reg": [AT_LEAST_0],
    "monotone_constraints": ["array-like", dict, str, None],
    "feature_weights": ["array-like", dict, str, None],
    "first_feature_use_penalties": ["array-like", dict, str, None],
    "per_object_feature_penalties": ["array-like", dict, str, None],
    "penalties_coefficient": [AT_LEAST_0],
    "loss_function": [str, HasMethods("calc_ders_range"), HasMethods("calc_ders_multi"), None],
    "eval_metric": [str, callable, HasMethods(list(METRIC_METHODS)), None],
    "custom_metric": [str, list, tuple, HasMethods(list(METRIC_METHODS)), None],
    "model_shrink_rate": [AT_LEAST_0, None],
    "model_shrink_mode": [StrOptions({"Constant", "Decreasing"})],
    "langevin": ["boolean", None],
    "diffusion_temperature": [AT_LEAST_0, None],
    "posterior_sampling": ["boolean", None],
    "early_stopping_rounds": [COUNT, None],
    "od_type": [StrOptions(set(DETECTORS)), None],
    "od_wait": [COUNT, None],
    "od_pval": [Interval(Real, 0.0, 1.0, closed="both"), None],
    "use_best_model": ["boolean", None],
    "best_model_min_trees": [COUNT, None],
    "eval_fraction": [Interval(Real, 0.0, 1.0, closed="left"), None],
    "ignored_features": ["array-like", None],
    "class_names": ["array-like", None],
    "class_weights": [dict, "array-like", None],
    "auto_class_weights": [StrOptions({"Balanced", "SqrtBalanced", "None"}), None],
    "scale_pos_weight": [Interval(Real, 0.0, None, closed="neither"), None],
    "random_seed": ["random_state"],
    "thread_count": [Integral, None],
    "verbose": ["boolean", Interval(Integral, 0, None, closed="left"), None],
    "metric_period": [COUNT, None],
    "save_snapshot": ["boolean", None],
    "snapshot_file": [str, os.PathLike, None],
    "snapshot_interval": [AT_LEAST_0],
    "parity": AS_CATBOOST,
}


def resolve(params, objective, shape, *, uses_best):
    """Return a copy of an estimator in which the defaults that depend on data are filled in.

    Parameters
    ----------
    params : the estimator
    objective : Objective
    shape : (n_rows, n_features)
    uses_best : whether the model ends at the best iteration

    Raises
    ------
    ValueError
        If parameters do not fit together.
    """
    found = copy(params)
    n_rows, n_features = shape
    check_boosting(params, objective)
    check_score_function(params, objective)
    check_grow_policy(params)
    if params.max_leaves is None:
        found.max_leaves = LEAVES
    found.learning_rate = find_learning_rate(params, objective.name, n_rows, uses_best=uses_best)
    l2 = objective.default_l2 if params.l2_leaf_reg is None else params.l2_leaf_reg
    found.l2_leaf_reg = MIN_L2 if l2 == 0 else l2
    method = found.leaf_estimation_method = read_method(params, objective)
    resolve_langevin(found, n_rows)
    if params.leaf_estimation_iterations is None:
        found.leaf_estimation_iterations = objective.default_iterations(
            method, params.iterations, n_features
        )
    if not objective.can_backtrack:
        found.leaf_estimation_backtracking = "No"
    if params.boost_from_average is None:
        found.boost_from_average = objective.starts_from_average
    kind = params.bootstrap_type
    if kind is None:
        kind = "Bayesian" if objective.kind == SOFTMAX else "MVS"
        if params.subsample is not None and kind == "Bayesian":
            kind = "Bernoulli"
    if kind == "Bayesian" and params.subsample is not None:
        raise ValueError("subsample does not apply to bootstrap_type='Bayesian'")
    found.bootstrap_type = kind
    if params.subsample is None:
        found.subsample = default_share(kind, n_rows)
    resolve_ctrs(found, objective)
    if params.parity is not None:
        found.random_strength = float(np.float32(params.random_strength))
        check_parity(found, objective)
    return found


def resolve_ctrs(found, objective):
    """Set the parameters of categorical columns to their resolved values."""
    for name in ("simple_ctr", "combinations_ctr"):
        given = getattr(found, name)
        setattr(found, name, read_ctrs(objective.default_ctr if given is None else given, name))
    if found.one_hot_max_size is None:
        found.one_hot_max_size = objective.default_one_hot
    if found.max_ctr_complexity is None:
        found.max_ctr_complexity = 1 if found.iterations < FEW_ITERATIONS else COMPLEXITY


def read_method(params, objective):
    """Return the leaf estimation method; raise ValueError if the loss does not allow it."""
    usual = objective.default_method
    if usual == "Exact" and params.approx_on_full_history:
        usual = "Gradient"
    method = params.leaf_estimation_method or usual
    if method == "Exact" and params.approx_on_full_history:
        raise ValueError("approx_on_full_history needs leaf_estimation_method='Gradient'")
    if method == "Exact" and objective.kind != QUANTILE:
        raise ValueError("leaf_estimation_method='Exact' is for MAE, Quantile and MultiQuantile")
    if method != "Exact" and objective.name == "MultiQuantile":
        raise ValueError("loss_function 'MultiQuantile' needs leaf_estimation_method='Exact'")
    if method == "Newton" and objective.kind == QUANTILE:
        raise ValueError(
            f"leaf_estimation_method='Newton' needs second derivatives; {objective.name} has none"
        )
    return method


def check_score_function(params, objective):
    """Raise ValueError if the training does not support a Newton score."""
    name = params.score_function
    if name not in NEWTON_SCORES:
        return
    if params.parity is not None:
        raise ValueError(f"score_function={name!r} is not supported with parity='catboost'")
    if params.boosting_type == "Ordered":
        raise ValueError(f"score_function={name!r} needs boosting_type='Plain'")
    if objective.kind in (QUANTILE, CALLABLE) or objective.has_several_outputs:
        raise ValueError(
            f"score_function={name!r} needs second derivatives, which are not used for loss "
            f"{objective.name}: use 'L2' or 'Cosine'"
        )


def check_boosting(params, objective):
    """Raise ValueError if the parameters of ordered boosting do not fit together."""
    is_ordered = params.boosting_type == "Ordered"
    is_plain_only = objective.is_pairwise or objective.has_several_outputs
    is_plain_only = is_plain_only or objective.kind == CALLABLE
    if is_plain_only and (is_ordered or params.parity is not None):
        name = "boosting_type='Ordered'" if is_ordered else "parity"
        raise ValueError(f"{name} is not supported for loss {objective.name}")
    if params.approx_on_full_history and not is_ordered:
        raise ValueError("approx_on_full_history needs boosting_type='Ordered'")
    has_classes = objective.kind == SOFTMAX
    if is_ordered and has_classes and (params.approx_on_full_history or params.parity is not None):
        name = "parity" if params.parity is not None else "approx_on_full_history"
        raise ValueError(
            f"boosting_type='Ordered' with {name} is not supported for loss {objective.name}"
        )
    if is_ordered and np.float32(params.fold_len_multiplier) <= 1.0:
        raise ValueError("fold_len_multiplier must be above 1 after rounding to float32")


def check_grow_policy(params):
    """Raise ValueError if the parameters of trees that are not symmetric do not fit together."""
    policy = params.grow_policy
    if policy != "SymmetricTree" and params.boosting_type == "Ordered":
        raise ValueError(f"boosting_type='Ordered' does not support grow_policy={policy!r}")
    if params.max_leaves is not None and policy != "Lossguide":
        raise ValueError("max_leaves is for grow_policy='Lossguide'")
    if params.min_data_in_leaf > 1 and policy == "SymmetricTree":
        raise ValueError(
            "min_data_in_leaf does not apply to symmetric trees: it needs grow_policy='Depthwise' "
            "or 'Lossguide'"
        )


def draws_random_numbers(params):
    """Return whether CatBoost's trees depend on random numbers, on numeric columns."""
    is_sampled = params.bootstrap_type != "No" or params.rsm < 1.0
    return is_sampled or params.random_strength > 0.0 or needs_shuffled_rows(params)


def needs_shuffled_rows(params, *, has_categories=False):
    """Return whether CatBoost shuffles the rows first, and ``parity`` follows it."""
    is_shuffled = has_categories or params.boosting_type == "Ordered"
    return params.parity is not None and is_shuffled and not params.has_time


def check_parity(params, objective):
    """Raise ValueError if ``parity`` does not follow CatBoost with these parameters."""
    wanted = {}
    is_ordered = params.boosting_type == "Ordered"
    if params.leaf_estimation_iterations > 1 and (
        is_ordered or objective.kind in (QUANTILE, SOFTMAX)
    ):
        wanted["leaf_estimation_backtracking"] = "No"
    if params.grow_policy == "Depthwise":
        wanted["min_data_in_leaf"] = 1
    check_wanted(params, wanted, f"loss {objective.name}")


def check_wanted(params, wanted, where):
    """Raise ValueError if parameters differ from those that ``parity`` needs.

    Parameters
    ----------
    params : the estimator
    wanted : dict of the needed values
    where : str, in which case they are needed
    """
    off = [name for name, value in wanted.items() if getattr(params, name) != value]
    if off:
        needed = ", ".join(f"{name}={wanted[name]!r}" for name in off)
        raise ValueError(
            f"parity='catboost' needs {needed} with {where}: on categorical columns it follows "
            "CatBoost's random numbers only in plain boosting of symmetric trees, and it does not "
            "follow backtracking in ordered boosting and for MAE, Quantile and MultiClass, or "
            "CatBoost's subtraction of histograms that belong to another leaf"
        )
