"""The parameters of the histogram booster: what each may be, and the rules they become."""

from numbers import Integral, Real
from operator import index

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from algorithms._common.hist_bundles import Layout
from algorithms._kernels.hist_layout import MAX_BINS, Rules

SHARE = Interval(Real, 0.0, 1.0, closed="right")
AT_LEAST_0 = Interval(Real, 0.0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
WORD = 64  # bits

CONSTRAINTS = {
    "num_leaves": [Interval(Integral, 2, 131072, closed="both")],
    "max_depth": [Integral, None],
    "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
    "n_estimators": [COUNT],
    "subsample_for_bin": [COUNT],
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
    "boosting_type": [StrOptions({"gbdt", "dart"})],
    "drop_rate": [Interval(Real, 0.0, 1.0, closed="both")],
    "max_drop": [Integral],
    "skip_drop": [Interval(Real, 0.0, 1.0, closed="both")],
    "uniform_drop": ["boolean"],
    "xgboost_dart_mode": ["boolean"],
    "alpha": [Interval(Real, 0.0, None, closed="neither")],
    "poisson_max_delta_step": [AT_LEAST_0],
    "tweedie_variance_power": [Interval(Real, 1.0, 2.0, closed="neither")],
    "parity": [StrOptions({"lightgbm", "scikit-learn"}), None],
}


def check_together(params, objective):
    """Raise ValueError where parameters that are right each alone cannot be had together.

    Parameters
    ----------
    params : the estimator
    objective : hist_objectives.Objective
    """
    if params.data_sample_strategy == "goss" and params.top_rate + params.other_rate > 1.0:
        raise ValueError(
            f"top_rate={params.top_rate} and other_rate={params.other_rate} are shares of the same "
            "rows: together they must be at most 1"
        )
    if callable(objective):
        return
    if objective.name == "quantile" and params.alpha >= 1.0:
        raise ValueError(f"objective 'quantile' needs alpha below 1, not {params.alpha}")
    if objective.renewed is not None and np.any(params.monotone_constraints):
        raise ValueError(renewed_refusal(objective.name))


def renewed_refusal(name):
    """Return why monotone constraints cannot be had with an objective whose leaves are renewed."""
    return (
        f"monotone_constraints cannot be had with objective {name!r}: its leaves are quantiles of "
        "their own rows, which know no bounds"
    )


def make_rules(params, monotone):
    """Return the kernels' rules.

    Parameters
    ----------
    params : the estimator
    monotone : int64 (n_features,)
    """
    held = params.reg_alpha or params.max_delta_step or params.path_smooth or monotone.any()
    return Rules(
        num_leaves=int(params.num_leaves),
        max_depth=int(params.max_depth or -1),
        min_rows=int(params.min_child_samples),
        min_h=float(params.min_child_weight),
        alpha=float(params.reg_alpha),
        ridge=float(params.reg_lambda),
        min_gain=float(params.min_split_gain),
        max_step=float(params.max_delta_step),
        smooth=float(params.path_smooth),
        set_smooth=float(params.cat_smooth),
        set_ridge=float(params.cat_l2),
        most_in_set=int(params.max_cat_threshold),
        few_bins=int(params.max_cat_to_onehot),
        min_rows_of_category=int(params.min_data_per_group),
        extra=int(params.extra_trees),
        plain=int(not held),
        seed=0,
    )


def read_layout(params):
    """Return the `Layout` of columns that the parameters ask for."""
    return Layout(
        bundles=bool(params.enable_bundle),
        max_conflict_rate=float(params.max_conflict_rate),
        order=params.bundle_order,
        lists=bool(params.is_enable_sparse),
    )


def read_monotone(wanted, n_features, is_set):
    """Return monotone constraints as int64 (n_features,).

    Parameters
    ----------
    wanted : as the parameter
    is_set : (n_features,) bool, whether values are categories

    Raises
    ------
    ValueError
        Where their number or a value is not right, or one is of categories, which have no order.
    """
    if wanted is None:
        return np.zeros(n_features, np.int64)
    found = np.asarray(wanted)
    if found.shape != (n_features,) or not np.isin(found, (-1, 0, 1)).all():
        raise ValueError(
            f"monotone_constraints needs one of -1, 0, 1 for each of the {n_features} features"
        )
    if found[is_set].any():
        raise ValueError("monotone_constraints cannot be had of a column of categories")
    return found.astype(np.int64)


def all_free(n_features):
    """Return the groups of features that may all interact: no words of bits."""
    return np.zeros((n_features, 0), np.uint64)


def read_groups(wanted, n_features, *, others_alone):
    """Return, as bits, the groups that each feature may interact in: uint64 (n_features, n_words).

    There are no words where all features may interact.

    Parameters
    ----------
    wanted : lists of features, or None: all may interact
    others_alone : bool
        Whether features that no group names are each a group alone, as in XGBoost; else they are
        not used, as in LightGBM.

    Raises
    ------
    ValueError
        Where a group is not one of column numbers, or a feature is not there.
    """
    if wanted is None:
        return all_free(n_features)
    groups = [columns_of(group) for group in wanted]
    named = {f for group in groups for f in group}
    if named and not 0 <= min(named) <= max(named) < n_features:
        raise ValueError("interaction_constraints names a feature that X does not have")
    if others_alone:
        groups += [[f] for f in range(n_features) if f not in named]
    bits = np.zeros((n_features, -(-len(groups) // WORD)), np.uint64)
    for number, group in enumerate(groups):
        word, bit = divmod(number, WORD)
        bits[group, word] |= np.uint64(1 << bit)
    return bits


def columns_of(group):
    """Return the column numbers of a group that may interact, ascending, each once."""
    try:
        return sorted({index(f) for f in group})
    except TypeError:
        raise ValueError(
            f"interaction_constraints needs groups of column numbers, not {group!r}"
        ) from None
