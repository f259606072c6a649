"""Evaluation metrics under LightGBM's names.

For the areas under the ROC curve and the precision-recall curve (`auc`, `average_precision`, two
classes) higher is better. All other metrics are means of a loss over rows; lower is better.
"""

import numpy as np

from algorithms.gbdt.objectives import ALIASES, CLASSES
from algorithms.gbdt.ranking_curves import area, area_mu, average_precision, roc_area

TINY = 1e-15  # lower bound of probabilities
MIN_MEAN = 1e-300


def log_loss(y, proba):
    """Return −log p of each row's class; proba (n, n_classes), y class codes."""
    return -np.log(np.clip(proba[np.arange(len(y)), y.astype(np.int64)], TINY, None))


def top_error(k):
    """Return the loss that is 1 unless the row's class is among the k most probable ones.

    Classes as probable as the row's class precede it, as in LightGBM.
    """

    def loss(y, proba):
        own = proba[np.arange(len(y)), y.astype(np.int64)]
        return (proba >= own[:, None]).sum(axis=1) > k

    return loss


def error(y, proba):
    """Return whether the most probable class differs from the row's class."""
    return proba.argmax(axis=1) != y


def cross_entropy(y, p):
    """Return −y log p − (1 − y) log (1 − p); y between 0 and 1."""
    return -y * np.log(np.maximum(p, TINY)) - (1.0 - y) * np.log(np.maximum(1.0 - p, TINY))


def pinball(share):
    """Return the pinball loss of a quantile."""

    def loss(y, found):
        return np.maximum(share * (y - found), (share - 1.0) * (y - found))

    return loss


def huber(alpha):
    """Return Huber's loss."""

    def loss(y, found):
        size = np.abs(y - found)
        return np.where(size <= alpha, size * size / 2.0, alpha * (size - alpha / 2.0))

    return loss


def fair(c):
    """Return the loss c |r| − c² log(1 + |r| / c) of residuals r."""

    def loss(y, found):
        size = np.abs(y - found)
        return c * size - c * c * np.log1p(size / c)

    return loss


def pseudo_huber(slope):
    """Return the loss δ² (√(1 + r²/δ²) − 1) of residuals r."""

    def loss(y, found):
        return slope**2 * (np.hypot(1.0, (y - found) / slope) - 1.0)

    return loss


def tweedie(power):
    """Return the negative log likelihood of the Tweedie distribution, without its constant."""

    def loss(y, mean):
        mean = np.maximum(mean, MIN_MEAN)
        return -y * mean ** (1.0 - power) / (1.0 - power) + mean ** (2.0 - power) / (2.0 - power)

    return loss


def gamma(y, mean):
    """Return the negative log likelihood of the gamma distribution with shape 1."""
    mean = np.maximum(mean, MIN_MEAN)
    return y / mean + np.log(mean)


def gamma_deviance(y, mean):
    """Return the deviance of the gamma distribution."""
    ratio = y / np.maximum(mean, MIN_MEAN)
    return 2.0 * (ratio - 1.0 - np.log(np.maximum(ratio, MIN_MEAN)))


def kullback_leibler(y, p):
    """Return the Kullback-Leibler divergence of p from y; y between 0 and 1."""
    return cross_entropy(y, p) - cross_entropy(y, y)


def shares_of_classes(y, proba):
    """Return the cross entropy of two classes, LightGBM's second name of the log loss."""
    return cross_entropy(y, proba[:, 1])


OF_CLASSES = {
    "binary_logloss": log_loss,
    "multi_logloss": log_loss,
    "binary_error": error,
    "cross_entropy": shares_of_classes,
}
OF_VALUES = {
    "l2": lambda y, found: (y - found) ** 2,
    "rmse": lambda y, found: (y - found) ** 2,
    "l1": lambda y, found: np.abs(y - found),
    "mape": lambda y, found: np.abs(y - found) / np.maximum(1.0, np.abs(y)),
    "poisson": lambda y, mean: mean - y * np.log(np.maximum(mean, MIN_MEAN)),
    "gamma": gamma,
    "cross_entropy": cross_entropy,
    "gamma_deviance": gamma_deviance,
    "kullback_leibler": kullback_leibler,
}
ROOTS = (
    "rmse",
    "l2_root",
    "root_mean_squared_error",
)  # also aliases of the objective "regression", whose metric is l2
CURVES = {"auc": roc_area, "average_precision": average_precision}
OF_OBJECTIVES = {  # metric of each objective, if its name differs
    "binary": "binary_logloss",
    "multiclass": "multi_logloss",
    "multiclassova": "multi_logloss",
    "regression": "l2",
    "regression_l1": "l1",
}


def metrics_of(params, *, is_classifier):
    """Return the losses whose mean is a metric: name → loss (y, prediction) → (n_rows,).

    Parameters
    ----------
    params : the estimator, for constants of losses
    is_classifier : bool
    """
    if is_classifier:
        return {**OF_CLASSES, "multi_error": top_error(params.multi_error_top_k)}
    constants = {
        "quantile": pinball(params.alpha),
        "huber": huber(params.alpha),
        "fair": fair(params.fair_c),
        "pseudo_huber": pseudo_huber(params.huber_slope),
        "tweedie": tweedie(params.tweedie_variance_power),
    }
    return {**OF_VALUES, **constants}


def find_metric(wanted, objective, params):
    """Return the metric of a name: ``metric(y, prediction, weight)`` → (name, value, higher).

    Its ``__name__`` is the metric's standard name. If the metric is a mean of row losses, its
    attribute ``loss`` is the function (y, prediction) → float64 (n_rows,).

    Parameters
    ----------
    wanted : name of the metric, or of an objective
    objective : name of the objective
    params : the estimator, for constants of losses

    Raises
    ------
    ValueError
        If the task has no metric of that name.
    """
    name = standard_name(wanted)
    losses = metrics_of(params, is_classifier=objective in CLASSES)
    curves = curves_of(params, objective)
    if name in curves:
        return curve_metric(name, curves[name])
    loss = losses.get(name)
    if loss is None and objective == "binary":
        loss = of_second(metrics_of(params, is_classifier=False).get(name))
    if loss is None:
        known = sorted([*losses, *curves])
        message = f"there is no eval_metric {wanted!r} for {objective!r}; there are {known}"
        raise UnknownMetricError(message)
    many = name == "multi_error" and params.multi_error_top_k > 1
    shown = f"{name}@{params.multi_error_top_k}" if many else name

    def metric(y, found, weight):
        mean = float(np.average(loss(y, found), weights=weight))
        return shown, mean**0.5 if name == "rmse" else mean, False

    metric.__name__, metric.loss = shown, loss
    return metric


class UnknownMetricError(ValueError):
    """Error: the task has no metric of a name."""


def curves_of(params, objective):
    """Return the metrics of which higher values are better.

    Each is a function of y, predictions and weights, by its name.

    Parameters
    ----------
    params : the estimator
    objective : name of the objective
    """

    def of_curve(curve):
        return lambda y, found, weight: area(curve, y, found, weight)

    def of_values(curve):
        return lambda y, found, weight: area(curve, (y > 0).astype(np.float64), found, weight)

    def mu(y, score, weight):
        return area_mu(y, score, weight, params.auc_mu_weights)

    mu.takes_scores = True
    if objective not in CLASSES:
        return {name: of_values(curve) for name, curve in CURVES.items()} | {"r2": r2}
    curves = {name: of_curve(curve) for name, curve in CURVES.items()}
    return ({"auc_mu": mu} | curves) if objective == "binary" else {"auc_mu": mu}


def curve_metric(name, function):
    """Return the metric of a function of `curves_of`."""

    def metric(y, found, weight):
        return name, float(function(y, found, weight)), True

    metric.__name__ = name
    metric.takes_scores = getattr(function, "takes_scores", False)
    return metric


def r2(y, found, weight):
    """Return the share of the variance of y that is explained; 1 if there is none to explain."""
    mean = np.average(y, weights=weight)
    total = np.average((y - mean) ** 2, weights=weight)
    rest = np.average((y - found) ** 2, weights=weight)
    if total == 0.0:
        return 1.0 if rest == 0.0 else 0.0
    return 1.0 - rest / total


def of_second(loss):
    """Return a regression loss applied to the probability of the second class; None stays None."""
    return None if loss is None else lambda y, proba: loss(y, proba[:, 1])


def standard_name(wanted):
    """Return the standard name of a metric, given any of its LightGBM names."""
    if wanted in ROOTS:
        return "rmse"
    name = ALIASES.get(wanted, wanted)
    return OF_OBJECTIVES.get(name, name)
