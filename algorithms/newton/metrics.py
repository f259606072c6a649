"""The metrics that evaluation tables are rated by, under XGBoost's names."""

from functools import partial

import numpy as np
from scipy.special import gammaln

from algorithms.gbdt.metrics import log_loss, tweedie
from algorithms.gbdt.ranking_curves import area, precision_area, roc_area

TINY = 1e-16


def wrong(y, proba):
    """Return whether the most probable class is not the row's."""
    return proba.argmax(axis=1) != y


def beyond(limit, y, p):
    """Return the share of the side on which a probability is not."""
    return np.where(p > limit, 1.0 - y, y)


def binary_log_loss(y, p):
    """Return −y log p − (1 − y) log (1 − p), p and 1 − p held above 0."""
    return -y * np.log(np.maximum(p, TINY)) - (1.0 - y) * np.log(np.maximum(1.0 - p, TINY))


def poisson(y, mean):
    """Return the negative log likelihood of counts."""
    mean = np.maximum(mean, TINY)
    return mean - y * np.log(mean) + gammaln(y + 1.0)


def gamma(y, mean):
    """Return the negative log likelihood of gamma's law of shape 1."""
    mean = np.maximum(mean, TINY)
    return y / mean + np.log(mean)


def gamma_deviance(y, mean):
    """Return the deviance of gamma's law."""
    ratio = np.maximum(y, TINY) / np.maximum(mean, TINY)
    return 2.0 * (ratio - 1.0 - np.log(ratio))


def pseudo_huber(slope, y, found):
    """Return the pseudo-Huber loss."""
    return slope**2 * (np.sqrt(1.0 + ((y - found) / slope) ** 2) - 1.0)


def pinball(shares, y, found):
    """Return the mean loss of a row's quantiles, (n_rows,) or (n_rows, n_shares)."""
    left = y[:, None] - found.reshape(len(y), -1)
    return np.maximum(shares * left, (shares - 1.0) * left).mean(axis=1)


MEANS = {
    "rmse": lambda y, found: (y - found) ** 2,
    "mae": lambda y, found: np.abs(y - found),
    "mape": lambda y, found: np.abs((y - found) / y),
    "rmsle": lambda y, found: (np.log1p(y) - np.log1p(found)) ** 2,
    "logloss": binary_log_loss,
    "error": partial(beyond, 0.5),
    "poisson-nloglik": poisson,
    "gamma-nloglik": gamma,
    "gamma-deviance": gamma_deviance,
}
OF_CLASSES = {"mlogloss": log_loss, "merror": wrong}
CURVES = {"auc": roc_area, "aucpr": precision_area}
WITH_CONSTANT = {"error": beyond, "tweedie-nloglik": lambda power, *rows: tweedie(power)(*rows)}
RANGES = {"error": (-np.inf, np.inf), "tweedie-nloglik": (1.0, 2.0)}  # of these constants
ROOTS = ("rmse", "rmsle")
DEFAULT = {
    "reg:squarederror": "rmse",
    "reg:absoluteerror": "mae",
    "reg:pseudohubererror": "mphe",
    "reg:quantileerror": "quantile",
    "count:poisson": "poisson-nloglik",
    "reg:gamma": "gamma-nloglik",
    "binary:logistic": "logloss",
    "multi:softprob": "mlogloss",
}


def find_metrics(wanted, objective, params, n_classes):
    """Return the metrics: a list of (name, metric, higher is better).

    ``metric(y, prediction, weight)`` returns a number; predictions of classes are probabilities.

    Parameters
    ----------
    wanted : name, callable (y, prediction) → number, or list of such; None: the objective's own
    objective : name of the objective
    params : the estimator, for constants
    n_classes : int, 0 for values

    Raises
    ------
    ValueError
        Where there is no metric of a name, or none of several quantiles.
    """
    if wanted is None:
        power = params.tweedie_variance_power
        own = {"reg:tweedie": f"tweedie-nloglik@{power}"}
        usual = "mlogloss" if n_classes > 2 else "logloss" if n_classes else "rmse"
        wanted = {**DEFAULT, **own}.get(objective, usual)
    given = wanted if isinstance(wanted, list) else [wanted]
    several = objective == "reg:quantileerror" and np.size(params.quantile_alpha) > 1
    others = [one for one in given if not callable(one) and one != "quantile"]
    if several and others:
        raise ValueError(f"eval_metric {others} is not for several quantiles: use 'quantile'")
    return [find_metric(one, params, is_classifier=n_classes > 0) for one in given]


def find_metric(wanted, params, *, is_classifier):
    """Return one metric, see `find_metrics`."""
    if callable(wanted):
        return wanted.__name__, partial(ask, wanted, is_classifier), False
    if not isinstance(wanted, str):
        raise TypeError(f"eval_metric holds names and callables; {wanted!r} is neither")
    if wanted in CURVES:
        return wanted, partial(area, CURVES[wanted]), True
    if wanted in OF_CLASSES:
        return wanted, partial(mean_of, OF_CLASSES[wanted], False), False
    shares = np.atleast_1d(params.quantile_alpha)
    if wanted == "quantile" and len(shares) > 1:
        return wanted, partial(mean_of, partial(pinball, shares), False), False
    own = {
        "mphe": partial(pseudo_huber, params.huber_slope),
        "quantile": partial(pinball, shares),
        "tweedie-nloglik": tweedie(params.tweedie_variance_power),
    }
    name, _, constant = wanted.partition("@")
    if constant and name in WITH_CONSTANT:
        loss = partial(WITH_CONSTANT[name], read_constant(wanted, name, constant))
    else:
        loss = {**MEANS, **own}.get(wanted)
    if loss is None:
        known = sorted([*MEANS, *own, *OF_CLASSES, *CURVES, "error@0.3", "tweedie-nloglik@1.5"])
        raise ValueError(f"there is no eval_metric {wanted!r}; there are {known}")
    return wanted, partial(mean_of, partial(of_numbers, loss), wanted in ROOTS), False


def read_constant(wanted, name, constant):
    """Return the number behind the @ of a metric's name.

    Raises
    ------
    ValueError
        Where it is none, or out of the range that the metric is for.
    """
    low, high = RANGES[name]
    try:
        found = float(constant)
    except ValueError:
        found = np.nan
    if not low < found < high:
        raise ValueError(
            f"eval_metric {wanted!r} needs a number between {low:g} and {high:g} behind its @"
        )
    return found


def of_numbers(loss, y, found):
    """Return the loss of one number a row: of two classes, the probability of the second."""
    if found.ndim == 2 and found.shape[1] > 2:
        raise ValueError("this eval_metric is not for many classes: use 'merror' or 'mlogloss'")
    return loss(y, found[:, 1] if found.ndim == 2 else found)


def mean_of(loss, is_root, y, found, weight):
    """Return the mean of a loss, or its root."""
    mean = float(np.average(loss(y, found), weights=weight))
    return mean**0.5 if is_root else mean


def ask(metric, is_classifier, y, found, weight):
    """Return what a metric of the user's says, in scikit-learn's form."""
    if is_classifier and found.shape[1] == 2:
        found = found[:, 1]
    given = {} if weight is None else {"sample_weight": weight}
    return float(metric(y, found, **given))
