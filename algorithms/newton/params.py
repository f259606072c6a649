"""Parameters of second-order boosting: their valid values, and the limits on trees."""

from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from algorithms.estimator.constraints import read_interactions, read_signs
from algorithms.estimator.library_versions import AS_XGBOOST
from algorithms.gbdt.params import AT_LEAST_0, COUNT, SHARE
from algorithms.newton.survival import DISTRIBUTIONS

WHOLE = Interval(Integral, 0, None, closed="left")
PROBABILITY = Interval(Real, 0.0, 1.0, closed="both")

CONSTRAINTS = {
    "n_estimators": [COUNT],
    "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
    "max_depth": [WHOLE],
    "max_leaves": [WHOLE],
    "max_bin": [Interval(Integral, 2, 256, closed="both")],
    "grow_policy": [StrOptions({"depthwise", "lossguide"})],
    "tree_method": [StrOptions({"exact", "approx", "hist", "auto"})],
    "proposal": [StrOptions({"global", "local", "random"})],
    "sketch_eps": [Interval(Real, 0.0, 1.0, closed="neither"), None],
    "prune": [StrOptions({"post", "pre"}), None],
    "gamma": [AT_LEAST_0],
    "min_child_weight": [AT_LEAST_0],
    "max_delta_step": [AT_LEAST_0, None],
    "subsample": [SHARE],
    "colsample_bytree": [SHARE],
    "colsample_bylevel": [SHARE],
    "colsample_bynode": [SHARE],
    "reg_alpha": [AT_LEAST_0],
    "reg_lambda": [AT_LEAST_0],
    "scale_pos_weight": [Interval(Real, 0.0, None, closed="neither")],
    "base_score": [Real, "array-like", None],
    "random_state": ["random_state"],
    "missing": [Real],
    "monotone_constraints": ["array-like", dict, str, None],
    "interaction_constraints": [list, tuple, str, None],
    "importance_type": [StrOptions({"gain", "weight", "cover", "total_gain", "total_cover"})],
    "max_cat_to_onehot": [COUNT],
    "max_cat_threshold": [COUNT],
    "eval_metric": [str, callable, list, None],
    "early_stopping_rounds": [COUNT, None],
    "warm_start": ["boolean"],
    "huber_slope": [Interval(Real, 0.0, None, closed="neither")],
    "quantile_alpha": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
    "rearrange_quantiles": ["boolean"],
    "expectile_alpha": [PROBABILITY, "array-like"],
    "tweedie_variance_power": [Interval(Real, 1.0, 2.0, closed="neither")],
    "num_parallel_tree": [COUNT, None],
    "multi_strategy": [StrOptions({"one_output_per_tree", "multi_output_tree"}), None],
    "booster": [StrOptions({"gbtree", "dart", "gblinear"}), None],
    "feature_weights": ["array-like", None],
    "rate_drop": [PROBABILITY],
    "skip_drop": [PROBABILITY],
    "one_drop": ["boolean", Interval(Integral, 0, 1, closed="both")],
    "aft_loss_distribution": [StrOptions(set(DISTRIBUTIONS))],
    "aft_loss_distribution_scale": [Interval(Real, 0.0, None, closed="neither")],
    "sample_type": [StrOptions({"uniform", "weighted"})],
    "normalize_type": [StrOptions({"tree", "forest"})],
    "parity": AS_XGBOOST,
    "n_jobs": [Integral, None],
    "callbacks": [list, tuple, None],
    "validate_parameters": ["boolean", None],
    "verbosity": [Interval(Integral, 0, 3, closed="both"), None],
    "enable_categorical": ["boolean"],
}
NEVER_NONE = ("missing", "warm_start", "enable_categorical")
CONSTRAINTS = {
    name: allowed if None in allowed or name in NEVER_NONE else [*allowed, None]
    for name, allowed in CONSTRAINTS.items()
}
MIN_GAIN = 1e-6  # minimum gain of a split, as in XGBoost
EXTRA_DEFAULTS = {  # of parameters that are not arguments of the constructor
    "aft_loss_distribution": "normal",
    "aft_loss_distribution_scale": 1.0,
}
LINEAR_DEFAULTS = {"learning_rate": 0.5, "reg_lambda": 0.0}  # as in XGBoost
POISSON_STEP = 0.7  # default max_delta_step of count:poisson, as in XGBoost


@dataclass(frozen=True)
class Limits:
    """Limits on the size of a tree, and the regularization of its leaf values."""

    max_depth: int  # 0: any
    min_child_weight: float
    reg_lambda: float  # λ
    reg_alpha: float
    max_delta_step: float
    least_gain: float  # minimum gain of a split; γ if it stops growth
    monotone: np.ndarray  # int64 (n_features,)
    groups: (
        np.ndarray
    )  # uint64 (n_features, n_words), bit sets; no words: all features may interact

    @property
    def is_plain(self):
        """Whether the score of a side is G² / (H + λ): no bound, α or monotone constraint."""
        return not (self.reg_alpha or self.max_delta_step or self.monotone.any())

    def weigh(self, g, h, lower=-np.inf, upper=np.inf):
        """Return w* = −T(G) / (H + λ), float64, within its bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -self.shrink(g) / (h + self.reg_lambda)
        value = np.where(h > 0.0, value, 0.0)
        if self.max_delta_step:
            value = np.clip(value, -self.max_delta_step, self.max_delta_step)
        return np.clip(value, lower, upper)

    def gain_of(self, g, h, value):
        """Return −(2 G w + 2 α |w| + (H + λ) w²), see `gbdt/kernels/node_score.py`."""
        first = g * value + self.reg_alpha * np.abs(value)
        return -(2.0 * first + (h + self.reg_lambda) * value * value)

    def shrink(self, g):
        """Return T(G)."""
        return np.sign(g) * np.maximum(np.abs(g) - self.reg_alpha, 0.0)


def is_linear(params):
    """Return whether the model is linear instead of a sum of trees."""
    return params.booster == "gblinear"


def filled(estimator):
    """Return a copy of an estimator in which parameters that are None have their defaults."""
    copied = copy(estimator)
    defaults = {**EXTRA_DEFAULTS, **estimator._default_values()}  # noqa: SLF001 - same package
    if is_linear(estimator):
        defaults |= LINEAR_DEFAULTS
    for name, default in defaults.items():
        if getattr(copied, name, None) is None:
            setattr(copied, name, default)
    return copied


def make_limits(params, n_features, names, least_gain=MIN_GAIN):
    """Return the `Limits` of an estimator's parameters.

    Parameters
    ----------
    params : the estimator
    n_features : int
    names : list of the column names, or empty
    least_gain : float, minimum gain of any split

    Raises
    ------
    ValueError
        If a constraint is invalid or names an unknown column.
    """
    asked = params.interaction_constraints
    return Limits(
        max_depth=int(params.max_depth),
        min_child_weight=float(params.min_child_weight),
        reg_lambda=float(params.reg_lambda),
        reg_alpha=float(params.reg_alpha),
        max_delta_step=max_delta_step(params),
        least_gain=max(least_gain, float(params.gamma) if prunes_before(params) else 0.0),
        monotone=read_signs(params.monotone_constraints, n_features, names),
        groups=read_interactions(asked, n_features, names, others_alone=True),
    )


def max_delta_step(params):
    """Return the bound on the absolute leaf value; 0 means no bound."""
    if params.max_delta_step is None:
        return POISSON_STEP if params.objective == "count:poisson" else 0.0
    return float(params.max_delta_step)


def read_base(given, n_scores):
    """Return the base score, float64 (1,) or (n_scores,).

    Raises
    ------
    ValueError
        If it is not one finite float32 number, or one per score.
    """
    try:
        found = np.asarray(given, np.float64).ravel()
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if not (np.abs(found) <= np.finfo(np.float32).max).all():
        raise ValueError(f"base_score={given!r} must be finite, within the range of float32")
    if len(found) not in (1, n_scores):
        raise ValueError(f"base_score has {len(found)} values; the model has {n_scores}")
    return found


def prunes_before(params):
    """Return whether γ stops growth; by default the exact method prunes grown trees instead."""
    if params.prune is not None:
        return params.prune == "pre"
    return params.tree_method != "exact"
