"""The metrics that evaluation tables are rated by, under XGBoost's names."""

from functools import partial

import numpy as np
from scipy.special import gammaln
from sklearn.metrics import roc_auc_score

from algorithms._common.hist_metrics import log_loss, pinball, tweedie

TINY = 1e-16


def wrong(y, proba):
    """Return whether the most probable class is not the row's."""
    return proba.argmax(axis=1) != y


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


MEANS = {
    "rmse": lambda y, found: (y - found) ** 2,
    "mae": lambda y, found: np.abs(y - found),
    "mape": lambda y, found: np.abs((y - found) / y),
    "rmsle": lambda y, found: (np.log1p(y) - np.log1p(found)) ** 2,
    "logloss": log_loss,
    "mlogloss": log_loss,
    "error": wrong,
    "merror": wrong,
    "poisson-nloglik": poisson,
    "gamma-nloglik": gamma,
    "gamma-deviance": gamma_deviance,
}
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


def find_metrics(wanted, objective, params, *, is_classifier):
    """Return the metrics: a list of (name, metric, higher is better).

    ``metric(y, prediction, weight)`` returns a number; predictions of classes are probabilities.

    Parameters
    ----------
    wanted : name, callable (y, prediction) → number, or list of such; None: the objective's own
    objective : name of the objective
    params : the estimator, for constants
    is_classifier : bool

    Raises
    ------
    ValueError
        Where there is no metric of a name.
    """
    if wanted is None:
        power = params.tweedie_variance_power
        own = {"reg:tweedie": f"tweedie-nloglik@{power}"}
        usual = "logloss" if is_classifier else "rmse"
        wanted = {**DEFAULT, **own}.get(objective, usual)
    given = wanted if isinstance(wanted, list) else [wanted]
    return [find_metric(one, params) for one in given]


def find_metric(wanted, params):
    """Return one metric, see `find_metrics`."""
    if callable(wanted):
        return wanted.__name__, partial(ask, wanted), False
    if wanted == "auc":
        return wanted, area, True
    loss = MEANS.get(wanted)
    if wanted == "mphe":
        loss = partial(pseudo_huber, params.huber_slope)
    elif wanted == "quantile":
        loss = pinball(params.quantile_alpha)
    elif wanted.startswith("tweedie-nloglik"):
        power = wanted.partition("@")[2]
        loss = tweedie(float(power) if power else params.tweedie_variance_power)
    if loss is None:
        known = [*MEANS, "auc", "mphe", "quantile", "tweedie-nloglik"]
        raise ValueError(f"there is no eval_metric {wanted!r}; there are {sorted(known)}")
    return wanted, partial(mean_of, loss, wanted in ROOTS), False


def mean_of(loss, is_root, y, found, weight):
    """Return the mean of a loss, or its root."""
    mean = float(np.average(loss(y, found), weights=weight))
    return mean**0.5 if is_root else mean


def area(y, proba, weight):
    """Return the area under the curve: of one class against the rest each, where there are many."""
    if proba.shape[1] == 2:
        return float(roc_auc_score(y, proba[:, 1], sample_weight=weight))
    return float(roc_auc_score(y, proba, sample_weight=weight, multi_class="ovr"))


def ask(metric, y, found, weight):
    """Return what a metric of the user's says, in scikit-learn's form."""
    if found.ndim == 2 and found.shape[1] == 2:
        found = found[:, 1]
    given = {} if weight is None else {"sample_weight": weight}
    return float(metric(y, found, **given))
