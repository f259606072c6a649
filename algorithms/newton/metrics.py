"""Evaluation metrics under XGBoost's names."""

from functools import partial

import numpy as np
from scipy.special import gammaln

from algorithms.gbdt.metrics import log_loss, tweedie
from algorithms.gbdt.ranking_curves import area, precision_area, roc_area
from algorithms.newton.expectiles import expectile_loss, read_levels
from algorithms.newton.survival import aft_loss, cox_nloglik, is_within_bounds

TINY = 1e-16


def is_misclassified(y, proba):
    """Return whether the most probable class is not the true class."""
    return proba.argmax(axis=1) != y


def class_error(limit, y, p):
    """Return the error of each row: 1 if the probability is on the wrong side."""
    return np.where(p > limit, 1.0 - y, y)


def binary_log_loss(y, p):
    """Return −y log p − (1 − y) log (1 − p), with p and 1 − p at least `TINY`."""
    return -y * np.log(np.maximum(p, TINY)) - (1.0 - y) * np.log(np.maximum(1.0 - p, TINY))


def poisson(y, mean):
    """Return the negative log likelihood of counts."""
    mean = np.maximum(mean, TINY)
    return mean - y * np.log(mean) + gammaln(y + 1.0)


def gamma(y, mean):
    """Return the negative log likelihood of the gamma distribution with shape 1."""
    mean = np.maximum(mean, TINY)
    return y / mean + np.log(mean)


def gamma_deviance(y, mean):
    """Return the deviance of the gamma distribution."""
    ratio = np.maximum(y, TINY) / np.maximum(mean, TINY)
    return 2.0 * (ratio - 1.0 - np.log(ratio))


def pseudo_huber(slope, y, prediction):
    """Return the pseudo-Huber loss."""
    return slope**2 * (np.sqrt(1.0 + ((y - prediction) / slope) ** 2) - 1.0)


def pinball(shares, y, prediction):
    """Return the pinball loss of each row, averaged over the quantiles, (n_rows,)."""
    left = y[:, None] - prediction.reshape(len(y), -1)
    return np.maximum(shares * left, (shares - 1.0) * left).mean(axis=1)


MEANS = {
    "rmse": lambda y, prediction: (y - prediction) ** 2,
    "mae": lambda y, prediction: np.abs(y - prediction),
    "mape": lambda y, prediction: np.abs((y - prediction) / y),
    "rmsle": lambda y, prediction: (np.log1p(y) - np.log1p(prediction)) ** 2,
    "logloss": binary_log_loss,
    "error": partial(class_error, 0.5),
    "poisson-nloglik": poisson,
    "gamma-nloglik": gamma,
    "gamma-deviance": gamma_deviance,
}
OF_CLASSES = {"mlogloss": log_loss, "merror": is_misclassified}
CURVES = {"auc": roc_area, "aucpr": precision_area}
WITH_CONSTANT = {
    "error": class_error,
    "tweedie-nloglik": lambda power, *rows: tweedie(power)(*rows),
}
RANGES = {"error": (-np.inf, np.inf), "tweedie-nloglik": (1.0, 2.0)}  # allowed constants
ROOTS = ("rmse", "rmsle")
DEFAULT = {
    "reg:squarederror": "rmse",
    "reg:absoluteerror": "mae",
    "reg:pseudohubererror": "mphe",
    "reg:quantileerror": "quantile",
    "reg:expectileerror": "expectile",
    "count:poisson": "poisson-nloglik",
    "reg:gamma": "gamma-nloglik",
    "reg:squaredlogerror": "rmsle",
    "survival:cox": "cox-nloglik",
    "survival:aft": "aft-nloglik",
    "binary:logistic": "logloss",
    "binary:logitraw": "logloss",
    "binary:hinge": "error",
    "multi:softprob": "mlogloss",
}


def find_metrics(wanted, objective, params, n_classes):
    """Return the metrics, a list of (name, metric, higher is better).

    ``metric(y, prediction, weight)`` returns a number; classifiers predict probabilities.

    Parameters
    ----------
    wanted : name, callable (y, prediction) → number, or list of these; None: the objective's own
    objective : name of the objective
    params : the estimator, for constants
    n_classes : int, 0 for regression

    Raises
    ------
    ValueError
        If a name is unknown, or the metric does not support several quantiles.
    """
    if wanted is None:
        power = params.tweedie_variance_power
        own = {"reg:tweedie": f"tweedie-nloglik@{power}"}
        usual = "mlogloss" if n_classes > 2 else "logloss" if n_classes else "rmse"
        wanted = {**DEFAULT, **own}.get(objective, usual)
    given = wanted if isinstance(wanted, list) else [wanted]
    for kind, levels in (
        ("quantile", params.quantile_alpha),
        ("expectile", params.expectile_alpha),
    ):
        others = [one for one in given if not callable(one) and one != kind]
        if objective == f"reg:{kind}error" and np.size(levels) > 1 and others:
            raise ValueError(f"eval_metric {others} does not support several {kind}s: use {kind!r}")
    return [find_metric(one, params, is_classifier=n_classes > 0) for one in given]


def find_metric(wanted, params, *, is_classifier):
    """Return one metric; see `find_metrics`."""
    if callable(wanted):
        kind = params.objective or "" if is_classifier else None
        return wanted.__name__, partial(call_metric, wanted, kind), False
    if not isinstance(wanted, str):
        raise TypeError(f"eval_metric must hold names and callables; {wanted!r} is neither")
    if wanted in CURVES:
        return wanted, partial(area, CURVES[wanted]), True
    if wanted in OF_CLASSES:
        return wanted, partial(mean_loss, OF_CLASSES[wanted], False), False
    if wanted == "cox-nloglik":
        return wanted, partial(cox_nloglik), False
    shares = np.atleast_1d(params.quantile_alpha)
    if wanted == "expectile" or (wanted == "quantile" and len(shares) > 1):
        loss = partial(pinball, shares)
        if wanted == "expectile":
            loss = partial(expectile_loss, read_levels(params.expectile_alpha))
        return wanted, partial(mean_loss, loss, False), False
    own = {
        "mphe": partial(pseudo_huber, params.huber_slope),
        "quantile": partial(pinball, shares),
        "tweedie-nloglik": tweedie(params.tweedie_variance_power),
        "aft-nloglik": partial(
            aft_loss, params.aft_loss_distribution, params.aft_loss_distribution_scale
        ),
        "interval-regression-accuracy": is_within_bounds,
    }
    name, _, constant = wanted.partition("@")
    if constant and name in WITH_CONSTANT:
        loss = partial(WITH_CONSTANT[name], read_constant(wanted, name, constant))
    else:
        loss = {**MEANS, **own}.get(wanted)
    if loss is None:
        examples = ("cox-nloglik", "expectile", "error@0.3", "tweedie-nloglik@1.5")
        known = sorted([*MEANS, *own, *OF_CLASSES, *CURVES, *examples])
        raise ValueError(f"unknown eval_metric {wanted!r}; the known ones are {known}")
    return wanted, partial(mean_loss, partial(one_column_loss, loss), wanted in ROOTS), False


def read_constant(wanted, name, constant):
    """Return the number after the @ of a metric's name.

    Raises
    ------
    ValueError
        If it is not a number, or outside the allowed range of the metric.
    """
    low, high = RANGES[name]
    try:
        value = float(constant)
    except ValueError:
        value = np.nan
    if not low < value < high:
        raise ValueError(
            f"eval_metric {wanted!r} needs a number between {low:g} and {high:g} after the @"
        )
    return value


def one_column_loss(loss, y, prediction):
    """Return the loss of one prediction per row; for two classes, the second's probability."""
    if prediction.ndim == 2 and prediction.shape[1] > 2:
        raise ValueError(
            "this eval_metric does not support more than two classes: use 'merror' or 'mlogloss'"
        )
    return loss(y, prediction[:, 1] if prediction.ndim == 2 else prediction)


def mean_loss(loss, is_root, y, prediction, weight):
    """Return the weighted mean of a loss, or its square root."""
    mean = float(np.average(loss(y, prediction), weights=weight))
    return mean**0.5 if is_root else mean


def call_metric(metric, objective, y, prediction, weight):
    """Return the value of a user-defined metric with scikit-learn's signature.

    ``objective`` is None for regression. Probabilities of two classes are those of the second one;
    with "multi:softmax" the metric takes class codes, as in XGBoost.

    Raises
    ------
    TypeError
        If it does not return a number.
    """
    if objective is not None and prediction.shape[1] == 2:
        prediction = prediction[:, 1]
    elif objective == "multi:softmax":
        prediction = prediction.argmax(axis=1)
    given = {} if weight is None else {"sample_weight": weight}
    value = metric(y, prediction, **given)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"eval_metric must return a number; it returned {value!r}") from error
