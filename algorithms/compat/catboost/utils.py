"""CatBoost's module `utils`: metrics of predictions, curves, and thresholds."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import confusion_matrix, roc_curve

from algorithms.compat.catboost.model_methods import drop_single_score
from algorithms.compat.catboost.pool import CatBoostError
from algorithms.symmetric.fitted_model import ValuePredictions
from algorithms.symmetric.metrics import OF_CLASSES, find_metric, without_hints
from algorithms.symmetric.objectives import KINDS, Objective
from algorithms.symmetric.query_pairs import read_group_id
from algorithms.symmetric.ranking_metrics import NAMES, QueryLabels, find_ranking_metric

CLASS_METRICS = ("Logloss", "CrossEntropy", "MultiClass", *OF_CLASSES)


def eval_metric(label, approx, metric, weight=None, group_id=None, **others):
    """Return metrics of raw scores, list of float.

    Parameters
    ----------
    label : array-like (n_rows,), numbers or class codes
    approx : array-like (n_rows,), (n_rows, n_classes) or (n_classes, n_rows)
        Raw scores.
    metric : str
    weight : array-like (n_rows,), optional
    group_id : array-like (n_rows,), optional
        Id of the query of each row, for metrics of rankings.
    **others
        CatBoost's other arguments; they must be None, and ``thread_count`` has no effect.

    Raises
    ------
    CatBoostError, ValueError
        If the metric is unknown, or the arguments do not fit together.
    """
    given = [name for name, value in others.items() if value is not None and name != "thread_count"]
    if given:
        raise CatBoostError(f"eval_metric does not support {given[0]}")
    y, raw = np.asarray(label, np.float64).ravel(), np.asarray(approx, np.float64)
    raw = raw[:, None] if raw.ndim == 1 else raw
    raw = drop_single_score(raw if len(raw) == len(y) else raw.T)
    if len(raw) != len(y):
        raise CatBoostError(f"approx has scores of {len(raw)} rows, label has {len(y)}")
    wanted = without_hints(metric)
    name = wanted.partition(":")[0]
    if name in NAMES:
        if group_id is None:
            raise CatBoostError(f"{name} needs group_id")
        _, function, _ = find_ranking_metric(wanted, None)
        return [float(function(QueryLabels(y, read_group_id(group_id, len(y))), raw))]
    weight = None if weight is None else np.asarray(weight, np.float64)
    is_classifier = name in CLASS_METRICS
    objective = Objective("RMSE", *KINDS["RMSE"], 1)
    _, function, _ = find_metric(wanted, objective, is_classifier=is_classifier)
    return [float(function(y, as_prediction(raw, name, is_classifier=is_classifier), weight))]


def as_prediction(raw, name, *, is_classifier):
    """Return probabilities of the classes, means of a Poisson or Tweedie loss, or the scores."""
    if not is_classifier:
        return np.exp(raw) if name in ("Poisson", "Tweedie") else raw
    if raw.ndim == 1:
        p = expit(raw)
        return np.stack([1.0 - p, p], axis=1)
    return softmax(raw, axis=1)


def get_confusion_matrix(model, data, thread_count=-1):
    """Return the confusion matrix of a classifier on a Pool, float64 (n_classes, n_classes)."""
    del thread_count
    labels = model.classes_
    found = confusion_matrix(np.asarray(data.label), np.ravel(model.predict(data)), labels=labels)
    return found.astype(np.float64)


def get_roc_curve(model, data, thread_count=-1, plot=False):
    """Return false positive rates, true positive rates and thresholds of the probability.

    Parameters
    ----------
    model : classifier of two classes
    data : Pool, or list of Pools
    thread_count, plot
        Have no effect.

    Raises
    ------
    CatBoostError
        If the model has no two classes.
    """
    del thread_count, plot
    if isinstance(model, ValuePredictions) or len(model.classes_) != 2:
        raise CatBoostError("a ROC curve needs a classifier of two classes")
    pools = data if isinstance(data, list | tuple) else [data]
    score = np.concatenate([model.predict_proba(one)[:, 1] for one in pools])
    is_true = np.concatenate([np.asarray(one.label) == model.classes_[1] for one in pools])
    fpr, tpr, thresholds = roc_curve(is_true, score, drop_intermediate=False)
    thresholds[0] = 1.0
    return fpr, tpr, thresholds


def get_fpr_curve(model=None, data=None, curve=None, thread_count=-1, plot=False):
    """Return thresholds and false positive rates; give model and data, or a ROC curve."""
    fpr, _, thresholds = curve or get_roc_curve(model, data, thread_count, plot)
    return thresholds, fpr


def get_fnr_curve(model=None, data=None, curve=None, thread_count=-1, plot=False):
    """Return thresholds and false negative rates; give model and data, or a ROC curve."""
    _, tpr, thresholds = curve or get_roc_curve(model, data, thread_count, plot)
    return thresholds, 1.0 - tpr


def select_threshold(model=None, data=None, curve=None, FPR=None, FNR=None, thread_count=-1):
    """Return the threshold of the probability at which an error rate is reached.

    Parameters
    ----------
    model, data, curve : as in `get_fpr_curve`
    FPR, FNR : float, optional
        Largest false positive or false negative rate; by default both rates are nearly equal.
    thread_count
        Has no effect.

    Raises
    ------
    CatBoostError
        If both rates are given, or the model has no two classes.
    """
    if FPR is not None and FNR is not None:
        raise CatBoostError("give one of FPR and FNR")
    fpr, tpr, thresholds = curve or get_roc_curve(model, data, thread_count)
    fpr, fnr, thresholds = np.asarray(fpr), 1.0 - np.asarray(tpr), np.asarray(thresholds)
    if FPR is not None:
        return float(thresholds[np.flatnonzero(fpr <= FPR)[-1]])
    if FNR is not None:
        return float(thresholds[np.flatnonzero(fnr <= FNR)[0]])
    return float(thresholds[np.abs(fpr - fnr).argmin()])
