"""Parsing of XGBoost's parameters: names, defaults, float32 values, unsupported values."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from algorithms.estimator.constraints import read_signs
from algorithms.newton.params import POISSON_STEP
from algorithms.parity.kernels.xgboost_arrays import Rules
from algorithms.parity.xgboost_releases import Release, find_release

DEFAULTS = MappingProxyType(
    {
        "n_estimators": 100,
        "learning_rate": 0.3,
        "max_depth": 6,
        "max_leaves": 0,
        "max_bin": 256,
        "grow_policy": "depthwise",
        "tree_method": "auto",
        "gamma": 0.0,
        "min_child_weight": 1.0,
        "max_delta_step": None,
        "reg_alpha": 0.0,
        "reg_lambda": 1.0,
        "scale_pos_weight": 1.0,
        "tweedie_variance_power": 1.5,
        "huber_slope": 1.0,
        "quantile_alpha": None,
    }
)
# Unsupported parameters, and the only value that is allowed.
REFUSED = MappingProxyType(
    {
        "subsample": 1.0,
        "colsample_bytree": 1.0,
        "colsample_bylevel": 1.0,
        "colsample_bynode": 1.0,
        "interaction_constraints": None,
        "num_parallel_tree": 1,
        "booster": "gbtree",
        "multi_strategy": "one_output_per_tree",
        "proposal": "global",  # this and the next two are not parameters of XGBoost
        "sketch_eps": None,
        "prune": None,
    }
)
METHODS = {"exact": "exact", "approx": "approx", "hist": "hist", "auto": "hist"}


@dataclass(frozen=True)
class Settings:
    """Resolved parameters of a training.

    Attributes
    ----------
    rules : Rules, the parameters of leaf weights and split gains
    release : Release, the rules of the XGBoost version that is followed
    gamma, learning_rate : float32
    n_estimators, max_depth, max_leaves, max_bin : int; max_depth, max_leaves 0 mean no limit
    lossguide : bool, whether the node with the best split is split next
    method : "exact", "approx" or "hist"
    objective : str
    base_score : float, sequence of floats, or None if it is estimated
    scale_pos_weight, tweedie_variance_power, huber_slope : float32
    quantile_alpha : float32 (n,), or (0,) if not given
    """

    rules: Rules
    release: Release
    gamma: np.float32
    learning_rate: np.float32
    n_estimators: int
    max_depth: int
    max_leaves: int
    max_bin: int
    lossguide: bool
    method: str
    objective: str
    base_score: object
    scale_pos_weight: np.float32
    tweedie_variance_power: np.float32
    huber_slope: np.float32
    quantile_alpha: np.ndarray


def read_settings(estimator, n_features):
    """Return the `Settings` of any object with XGBoost's parameters as attributes.

    A parameter that is missing or None has XGBoost's default.

    Raises
    ------
    ValueError
        If a parameter has an unsupported value.
    """
    refuse_categories(estimator)
    for name, only in REFUSED.items():
        value = getattr(estimator, name, None)
        if value is not None and value != only:
            raise ValueError(f"parity='xgboost' does not support {name}={value!r}: use {only!r}")
    given = {name: read(estimator, name, default) for name, default in DEFAULTS.items()}
    method = METHODS.get(given["tree_method"])
    if method is None:
        raise ValueError(
            f"parity='xgboost' does not support tree_method={given['tree_method']!r}: use 'exact', "
            "'approx' or 'hist'"
        )
    if given["grow_policy"] not in ("depthwise", "lossguide"):
        raise ValueError(f"grow_policy={given['grow_policy']!r} is not 'depthwise' or 'lossguide'")
    if method == "exact" and given["max_depth"] < 1:
        raise ValueError("tree_method='exact' does not support max_depth=0 (no limit)")
    objective = read_objective(estimator)
    step = given["max_delta_step"]
    if step is None:
        step = POISSON_STEP if objective == "count:poisson" else 0.0
    numbers = (given["reg_lambda"], given["reg_alpha"], given["min_child_weight"], step)
    alpha = given["quantile_alpha"]
    release = find_release()
    orders = read_orders(estimator, n_features)
    if release.gain_by_weight and not orders.any():
        orders = orders[:0]
    rules = Rules(*map(np.float32, numbers), orders, release.gain_by_weight)
    return Settings(
        rules=rules,
        release=release,
        gamma=np.float32(given["gamma"]),
        learning_rate=np.float32(given["learning_rate"]),
        n_estimators=int(given["n_estimators"]),
        max_depth=int(given["max_depth"]),
        max_leaves=int(given["max_leaves"]),
        max_bin=int(given["max_bin"]),
        lossguide=given["grow_policy"] == "lossguide",
        method=method,
        objective=objective,
        base_score=getattr(estimator, "base_score", None),
        scale_pos_weight=np.float32(given["scale_pos_weight"]),
        tweedie_variance_power=np.float32(given["tweedie_variance_power"]),
        huber_slope=np.float32(given["huber_slope"]),
        quantile_alpha=np.array(alpha if alpha is not None else [], np.float32, ndmin=1),
    )


def read(estimator, name, default):
    """Return an attribute, or its default if it is missing or None."""
    value = getattr(estimator, name, None)
    return default if value is None else value


def read_objective(estimator):
    """Return the objective; for a classifier it depends on the number of classes, as in XGBoost."""
    objective = getattr(estimator, "objective", None)
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes > 2 and objective in (None, "binary:logistic"):
        return "multi:softprob"
    if objective is None:
        return "binary:logistic" if n_classes else "reg:squarederror"
    if n_classes == 2 and isinstance(objective, str) and objective.startswith("multi:"):
        raise ValueError(
            f"parity='xgboost' supports only 'binary:logistic' for two classes, not {objective!r}"
        )
    if isinstance(objective, str):
        return objective
    raise ValueError(f"parity='xgboost' does not support objective={objective!r}: use a name")


def read_orders(estimator, n_features):
    """Return the monotone constraints, int32 (n_features,), or (0,) if there are none.

    Constraints that are all zero are kept: before 3.4, XGBoost computes gains by another formula
    with them.
    """
    given = getattr(estimator, "monotone_constraints", None)
    if given is None or len(given) == 0 or (isinstance(given, str) and is_empty(given)):
        return np.empty(0, np.int32)
    names = list(getattr(estimator, "feature_names_in_", []))
    return read_signs(given, n_features, names).astype(np.int32)


def is_empty(text):
    """Return whether constraints given as text, such as "(1,-1)", are empty."""
    return not text.strip("() ")


def refuse_categories(estimator):
    """Raise ValueError if there are categorical columns."""
    names = list(getattr(estimator, "categories_", ()))
    if names:
        raise ValueError(
            "parity='xgboost' does not support categorical splits: convert these columns to "
            f"numbers: {names}"
        )
