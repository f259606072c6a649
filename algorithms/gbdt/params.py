"""Parameters of the histogram booster: allowed values, joint checks and conversion to `Rules`."""

from numbers import Integral, Real
from reprlib import repr as short

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from algorithms.estimator.constraints import read_signs
from algorithms.gbdt.bundles import Layout
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, NOISE, Rules

SHARE = Interval(Real, 0.0, 1.0, closed="right")
AT_LEAST_0 = Interval(Real, 0.0, None, closed="left")
ABOVE_0 = Interval(Real, 0.0, None, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")
MAX_STEP = 10.0  # of log-odds: the largest change by one leaf without `max_delta_step`
MAX_INTEGER = 1 << 62  # larger integers are clipped, because kernels use 64 bits

CONSTRAINTS = {
    "num_leaves": [Interval(Integral, 2, 131072, closed="both")],
    "max_depth": [Integral, None],
    "learning_rate": [ABOVE_0],
    "n_estimators": [COUNT],
    "subsample_for_bin": [COUNT],
    "objective": [str, callable, None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "min_split_gain": [AT_LEAST_0],
    "min_child_weight": [AT_LEAST_0],
    "min_child_samples": [Interval(Integral, 0, None, closed="left")],
    "subsample": [SHARE],
    "subsample_freq": [Interval(Integral, 0, None, closed="left")],
    "colsample_bytree": [SHARE],
    "reg_alpha": [AT_LEAST_0],
    "reg_lambda": [AT_LEAST_0],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "importance_type": [StrOptions({"split", "gain"})],
    "max_bin": [Interval(Integral, 2, MAX_BINS - 1, closed="both")],
    "min_data_in_bin": [COUNT],
    "enable_bundle": ["boolean"],
    "max_conflict_rate": [Interval(Real, 0.0, 1.0, closed="left")],
    "bundle_order": [StrOptions({"count", "degree"})],
    "is_enable_sparse": ["boolean"],
    "data_sample_strategy": [StrOptions({"bagging", "goss"})],
    "top_rate": [SHARE],
    "other_rate": [SHARE],
    "goss_rank": [StrOptions({"gh", "g"})],
    "max_delta_step": [AT_LEAST_0],
    "path_smooth": [AT_LEAST_0],
    "extra_trees": ["boolean"],
    "monotone_constraints": ["array-like", None],
    "interaction_constraints": [list, tuple, None],
    "categorical_feature": [StrOptions({"auto"}), "array-like"],
    "cat_smooth": [AT_LEAST_0],
    "cat_l2": [AT_LEAST_0],
    "max_cat_threshold": [COUNT],
    "max_cat_to_onehot": [COUNT],
    "min_data_per_group": [COUNT],
    "boost_from_average": ["boolean"],
    "early_stopping_round": [COUNT, None],
    "early_stopping_min_delta": [AT_LEAST_0],
    "boosting_type": [StrOptions({"gbdt", "dart", "rf"})],
    "drop_rate": [Interval(Real, 0.0, 1.0, closed="both")],
    "max_drop": [Integral],
    "skip_drop": [Interval(Real, 0.0, 1.0, closed="both")],
    "uniform_drop": ["boolean"],
    "xgboost_dart_mode": ["boolean"],
    "alpha": [ABOVE_0],
    "poisson_max_delta_step": [AT_LEAST_0],
    "tweedie_variance_power": [Interval(Real, 1.0, 2.0, closed="neither")],
    "fair_c": [ABOVE_0],
    "huber_slope": [ABOVE_0],
    "scale_pos_weight": [ABOVE_0],
    "is_unbalance": ["boolean"],
    "linear_tree": ["boolean"],
    "linear_lambda": [AT_LEAST_0],
    "parity": [StrOptions({"lightgbm", "scikit-learn"}), None],
}


def check_together(params, objective):
    """Raise ValueError if parameters that are valid separately are incompatible.

    Parameters
    ----------
    params : the estimator, with its categorical columns set
    objective : Objective or callable
    """
    if params.data_sample_strategy == "goss" and params.top_rate + params.other_rate > 1.0:
        raise ValueError(
            f"top_rate={params.top_rate} and other_rate={params.other_rate} are shares of the same "
            "rows: together they must be at most 1"
        )
    if params.boosting_type == "rf":
        check_forest(params)
    categorical = params._is_categorical  # noqa: SLF001 - its own part
    names = list(getattr(params, "feature_names_in_", []))
    signs = read_signs(params.monotone_constraints, len(categorical), names, every=True)
    refuse_directions(signs, categorical, names)
    check_sides(params, objective)
    if params.bagging_by_query and params._bounds is None:  # noqa: SLF001 - its own part
        raise ValueError("bagging_by_query is for ranking: there are no query groups")
    if params.linear_tree:
        check_linear(params, objective, signs)
    if callable(objective):
        return
    if objective.name == "quantile" and params.alpha >= 1.0:
        raise ValueError(f"objective 'quantile' needs alpha below 1, not {params.alpha}")
    if objective.renewed is not None and signs.any():
        raise ValueError(renewed_refusal(objective.name))


def check_forest(params):
    """Raise ValueError if all trees of boosting_type="rf" would be the same."""
    bags = params.subsample_freq > 0 and params.subsample < 1.0
    bags = bags or min(params.colsample_bytree, params.feature_fraction_bynode) < 1.0
    if not bags and params.data_sample_strategy != "goss":
        raise ValueError(
            "boosting_type='rf' needs bagging (subsample_freq above 0 and subsample below 1) or "
            "colsample_bytree or feature_fraction_bynode below 1: else all trees are the same"
        )


def check_linear(params, objective, signs):
    """Raise ValueError if a parameter cannot be combined with ``linear_tree``."""
    if getattr(objective, "name", None) == "regression_l1":
        raise ValueError(
            "Cannot use regression_l1 objective when fitting linear trees (linear_tree=True)"
        )
    if params.zero_as_missing:
        raise ValueError(
            "zero_as_missing must be false when fitting linear trees (linear_tree=True)"
        )
    if params.parity is not None and getattr(objective, "renewed", None) is not None:
        raise ValueError(
            f"linear_tree=True is not supported with parity={params.parity!r} and objective "
            f"{objective.name!r}"
        )
    if signs.any():
        raise ValueError(
            "monotone_constraints is not supported with linear_tree=True: slopes have no bounds"
        )


def check_sides(params, objective):
    """Raise ValueError if weights of two classes are given twice, or for another objective."""
    is_scaled = params.scale_pos_weight != 1.0
    if is_scaled and params.is_unbalance:
        raise ValueError("give scale_pos_weight or is_unbalance: both weigh the same classes")
    if (is_scaled or params.is_unbalance) and getattr(objective, "name", "") != "binary":
        name = "scale_pos_weight" if is_scaled else "is_unbalance"
        raise ValueError(f"{name} is for objective 'binary'; class_weight is for any classes")


def renewed_refusal(name):
    """Return the error message for monotone constraints with an objective of quantile leaves."""
    return (
        f"monotone_constraints is not supported with objective {name!r}: its leaves are quantiles "
        "of their own rows, which have no bounds"
    )


def refuse_directions(signs, categorical, names):
    """Raise ValueError if a monotone column is categorical.

    Parameters
    ----------
    signs : int64 (n_features,)
    categorical : bool (n_features,)
    names : list of column names, or empty
    """
    both = np.flatnonzero(categorical & (signs != 0)).tolist()
    if both:
        named = [names[f] if names else f for f in both]
        raise ValueError(
            f"monotone_constraints is not supported for categorical columns, which have no order: "
            f"set them to 0 for {named}"
        )


def make_rules(params, monotone, objective=None):
    """Return the `Rules` of the kernels.

    Parameters
    ----------
    params : the estimator
    monotone : int64 (n_features,)
    objective : Objective or callable, optional
        If leaves are quantiles, a leaf whose gradients are all equal is split although no split
        has a gain (rounding selects one), because smaller leaves have quantiles of their own.
    """
    weight = read_feature_contri(params.feature_contri, len(monotone))
    held = params.reg_alpha or params.max_delta_step or params.path_smooth or monotone.any()
    held = held or not np.isin(weight, (0.0, 1.0)).all()
    return Rules(
        num_leaves=int(params.num_leaves),
        max_depth=whole(params.max_depth or -1),
        min_child_samples=whole(params.min_child_samples),
        min_child_weight=float(params.min_child_weight),
        reg_alpha=float(params.reg_alpha),
        reg_lambda=float(params.reg_lambda),
        min_split_gain=float(params.min_split_gain),
        max_delta_step=largest_leaf_value(params, objective),
        path_smooth=float(params.path_smooth),
        cat_smooth=float(params.cat_smooth),
        cat_l2=float(params.cat_l2),
        max_cat_threshold=whole(params.max_cat_threshold),
        max_cat_to_onehot=whole(params.max_cat_to_onehot),
        min_data_per_group=whole(params.min_data_per_group),
        extra_trees=int(params.extra_trees),
        plain=int(not held),
        noise=NOISE if getattr(objective, "renewed", None) is None else 0.0,
        monotone_penalty=float(params.monotone_penalty) if monotone.any() else 0.0,
        feature_fraction_bynode=float(params.feature_fraction_bynode),
    )


def read_feature_contri(given, n_features):
    """Return the weights of the features' gains, float64 (n_features,); negative ones count as 0.

    Parameters
    ----------
    given : sequence of float or None; None or an empty one: all weights are 1

    Raises
    ------
    ValueError
        If their number is wrong, or one is not finite.
    """
    if given is None or np.size(given) == 0:
        return np.ones(n_features)
    try:
        weight = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        weight = np.empty(0)
    if weight.shape != (n_features,) or not np.isfinite(weight).all():
        raise ValueError(
            f"feature_contri must have a finite number for each of the {n_features} columns of X, "
            f"not {short(given)}"
        )
    return np.maximum(weight, 0.0)


def largest_leaf_value(params, objective):
    """Return the bound on absolute leaf values; 0 means none.

    Scores of classes are log-odds. A Newton step is far too large where the hessian is almost 0,
    which happens for rare classes; then the loss grows without bound. Gains are not limited, so
    most trees stay the same.
    """
    if params.max_delta_step:
        return float(params.max_delta_step)
    is_log_odds = getattr(objective, "link", None) in ("sigmoid", "softmax")
    return MAX_STEP / params.learning_rate if is_log_odds else 0.0


def whole(number):
    """Return an integer, clipped to the range of the kernels."""
    return max(-MAX_INTEGER, min(int(number), MAX_INTEGER))


def read_layout(params):
    """Return the `Layout` of columns according to the parameters."""
    return Layout(
        bundles=bool(params.enable_bundle),
        max_conflict_rate=float(params.max_conflict_rate),
        order=params.bundle_order,
        sparse=bool(params.is_enable_sparse),
    )
