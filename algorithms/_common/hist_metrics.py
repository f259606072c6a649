"""The metrics that early stopping watches: each objective's own, under LightGBM's names."""

from functools import partial

import numpy as np

TINY = 1e-15  # of a probability
LEAST_MEAN = 1e-300


def log_loss(y, proba):
    """Return −log p of each row's class; proba (n, n_classes), y codes."""
    return -np.log(np.clip(proba[np.arange(len(y)), y.astype(np.int64)], TINY, None))


def pinball(share):
    """Return the loss of a quantile."""

    def loss(y, found):
        return np.maximum(share * (y - found), (share - 1.0) * (y - found))

    return loss


def huber(alpha):
    """Return Huber's loss."""

    def loss(y, found):
        size = np.abs(y - found)
        return np.where(size <= alpha, size * size / 2.0, alpha * (size - alpha / 2.0))

    return loss


def tweedie(power):
    """Return the negative log likelihood of Tweedie's law, without its constant."""

    def loss(y, mean):
        mean = np.maximum(mean, LEAST_MEAN)
        return -y * mean ** (1.0 - power) / (1.0 - power) + mean ** (2.0 - power) / (2.0 - power)

    return loss


def gamma(y, mean):
    """Return the negative log likelihood of the gamma law of shape 1."""
    mean = np.maximum(mean, LEAST_MEAN)
    return y / mean + np.log(mean)


SIMPLE = {
    "binary_logloss": log_loss,
    "multi_logloss": log_loss,
    "binary_error": lambda y, proba: proba.argmax(axis=1) != y,
    "multi_error": lambda y, proba: proba.argmax(axis=1) != y,
    "l2": lambda y, found: (y - found) ** 2,
    "rmse": lambda y, found: (y - found) ** 2,
    "l1": lambda y, found: np.abs(y - found),
    "poisson": lambda y, mean: mean - y * np.log(np.maximum(mean, LEAST_MEAN)),
    "gamma": gamma,
}
DEFAULT = {
    "binary": "binary_logloss",
    "multiclass": "multi_logloss",
    "multiclassova": "multi_logloss",
    "regression": "l2",
    "regression_l1": "l1",
}


def find_metric(wanted, objective, params):
    """Return a metric: ``metric(y, prediction, weight)`` → (name, value, higher is better).

    Parameters
    ----------
    wanted : name, callable (y, prediction) → (name, value, higher is better), or None
    objective : name of the objective
    params : the estimator, for constants

    Raises
    ------
    ValueError
        Where there is no metric of that name.
    """
    if callable(wanted):
        return partial(ask, wanted)
    if not isinstance(wanted, str | None):
        raise TypeError(f"eval_metric is one name or one callable, not {wanted!r}")
    name = wanted or DEFAULT.get(objective, objective)
    constants = {
        "quantile": pinball(params.alpha),
        "huber": huber(params.alpha),
        "tweedie": tweedie(params.tweedie_variance_power),
    }
    loss = {**SIMPLE, **constants}.get(name)
    if loss is None:
        raise ValueError(f"there is no eval_metric {name!r}; there are {sorted(SIMPLE)}")

    def metric(y, found, weight):
        mean = float(np.average(loss(y, found), weights=weight))
        return name, mean**0.5 if name == "rmse" else mean, False

    return metric


def ask(metric, y, found, _weight):
    """Return what a metric of the user's says, as Python's own values."""
    name, value, higher = metric(y, found)
    return name, float(value), bool(higher)
