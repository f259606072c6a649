"""Evaluation metrics under CatBoost's names."""

from functools import partial

import numpy as np

from algorithms.gbdt.metrics import huber, log_loss, pinball, tweedie
from algorithms.gbdt.ranking_curves import area, roc_area
from algorithms.newton.metrics import (
    MEANS,
    call_metric,
    mean_loss,
    one_column_loss,
)
from algorithms.symmetric import class_metrics, value_metrics
from algorithms.symmetric.callable_loss import is_callable_metric, read_callable_metric
from algorithms.symmetric.objectives import CALLABLE, NORMAL, read_parameter
from algorithms.symmetric.uncertainty import negative_log_likelihood

TINY = 1e-16


def poisson_loss(y, mean):
    """Return the negative log likelihood of counts without the terms that depend on y alone."""
    return mean - y * np.log(np.maximum(mean, TINY))


ONE_COLUMN = {  # name → (loss of a row, whether the root is taken)
    "RMSE": (MEANS["rmse"], True),
    "MAE": (MEANS["mae"], False),
    "MAPE": (lambda y, p: np.abs(y - p) / np.maximum(1.0, np.abs(y)), False),
    "Poisson": (poisson_loss, False),
    "Logloss": (MEANS["logloss"], False),
    "CrossEntropy": (MEANS["logloss"], False),
}


def expectile(alpha):
    """Return the squared loss with the weight α where the target is higher, 1 − α elsewhere."""
    return lambda y, found: (y - found) ** 2 * np.where(y > found, alpha, 1.0 - alpha)


OF_CLASSES = {  # name → (function, whether higher is better)
    "Accuracy": (class_metrics.accuracy, True),
    "AUC": (partial(area, roc_area), True),
    "Precision": (class_metrics.precision, True),
    "Recall": (class_metrics.recall, True),
    "F1": (class_metrics.f1, True),
    "TotalF1": (class_metrics.total_f1, True),
    "MCC": (class_metrics.matthews, True),
    "BalancedAccuracy": (class_metrics.balanced_accuracy, True),
    "ZeroOneLoss": (class_metrics.zero_one_loss, False),
    "BrierScore": (class_metrics.brier_score, False),
}
OF_VALUES = {
    "R2": (value_metrics.r2, True),
    "MSLE": (value_metrics.squared_log_error, False),
    "MedianAbsoluteError": (value_metrics.median_error, False),
    "SMAPE": (value_metrics.symmetric_percentage, False),
}
WITH_PARAMETER = {"Quantile": pinball, "Expectile": expectile, "Huber": huber, "Tweedie": tweedie}


def several_pinball(levels):
    """Return the mean pinball loss of several quantiles, as a function of a row."""
    losses = [pinball(level) for level in levels]

    def loss(y, found):
        return np.mean([one(y, found[:, k]) for k, one in enumerate(losses)], axis=0)

    return loss


def find_output_metric(wanted, objective):
    """Return the metric of a loss of several outputs, as `find_metric` does.

    Raises
    ------
    ValueError
        If another metric is wanted.
    """
    if wanted not in (None, objective.text):
        raise ValueError(
            f"the metric {wanted!r} is not supported for {objective.text}: its metric is the loss"
        )
    if objective.kind == NORMAL:
        return objective.text, partial(mean_loss, negative_log_likelihood, False), False
    return objective.text, partial(mean_loss, several_pinball(objective.levels), False), False


def find_metrics(find, eval_metric, custom_metric, *, has_loss):
    """Return the metrics, list: first ``eval_metric``, then those of ``custom_metric``.

    A metric that is given several times counts once, in its first place.

    Parameters
    ----------
    find : function of a name, an object or None, which returns a metric
    eval_metric : name, object or None
    custom_metric : name or object, or list of these, or None
    has_loss : bool, whether the loss is a metric, too
    """
    wanted = eval_metric, *([None] if has_loss else []), *list_metrics(custom_metric)
    metrics = {}
    for one in wanted:
        metric = read_callable_metric(one) if is_callable_metric(one) else find(without_hints(one))
        metrics.setdefault(metric[0], metric)
    return list(metrics.values())


def list_metrics(custom_metric):
    """Return the names and objects of a ``custom_metric`` as a list."""
    if isinstance(custom_metric, list | tuple):
        return list(custom_metric)
    return [] if custom_metric is None else [custom_metric]


def without_hints(wanted):
    """Return a metric without CatBoost's hints about its output, such as "AUC:hints=..."."""
    if not isinstance(wanted, str):
        return wanted
    name, _, options = wanted.partition(":")
    kept = [one for one in options.split(";") if one and not one.startswith("hints=")]
    return f"{name}:{';'.join(kept)}" if kept else name


def find_metric(wanted, objective, *, is_classifier):
    """Return a metric: (name, function (y, prediction, weight), whether higher is better).

    Parameters
    ----------
    wanted : name, callable (y, prediction) → number, or None for that of the objective
    objective : Objective
    is_classifier : bool

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if callable(wanted):
        return wanted.__name__, partial(call_metric, wanted, is_classifier), False
    if wanted is None and objective.kind == CALLABLE:
        raise ValueError(
            "a loss_function of the user has no metric: give eval_metric, a name or an object with "
            "evaluate, get_final_error and is_max_optimal"
        )
    name = wanted or getattr(objective, "text", objective.name)
    if name in ONE_COLUMN:
        loss, is_root = ONE_COLUMN[name]
        return name, partial(mean_loss, partial(one_column_loss, loss), is_root), False
    kind, _, options = name.partition(":")
    if kind in WITH_PARAMETER:
        is_usual = not options and kind == objective.name
        parameter = objective.parameter if is_usual else read_parameter(kind, options)
        loss = partial(one_column_loss, WITH_PARAMETER[kind](parameter))
        return name, partial(mean_loss, loss, False), False
    if is_classifier and name == "MultiClass":
        return name, partial(mean_loss, log_loss, False), False
    of_task = OF_CLASSES if is_classifier else OF_VALUES
    if name in of_task:
        return name, *of_task[name]
    known = [*ONE_COLUMN, *WITH_PARAMETER, *(["MultiClass"] if is_classifier else []), *of_task]
    raise ValueError(f"the metric {name!r} is not supported here; the known ones are {known}")
