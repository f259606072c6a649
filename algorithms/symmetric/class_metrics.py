"""Metrics of classes under CatBoost's names.

They take class codes, int or float (n_rows,), probabilities, float64 (n_rows, n_classes), and the
weights of the rows, float (n_rows,) or None, and return a float. Those of two classes raise
ValueError if there are more. Precision and recall are those of the second of two classes;
without a predicted or a true row of it they are 1, as in CatBoost.
"""

import numpy as np

from algorithms.newton.metrics import is_misclassified


def accuracy(y, prediction, weight):
    """Return the weighted share of rows whose most probable class is the true one."""
    return float(np.average(~is_misclassified(y, prediction), weights=weight))


def zero_one_loss(y, prediction, weight):
    """Return 1 minus the accuracy."""
    return 1.0 - accuracy(y, prediction, weight)


def confusion(y, prediction, weight):
    """Return the weights of the rows by true and predicted class.

    The result is float64 (n_classes, n_classes).
    """
    n_classes = prediction.shape[1]
    cell = np.asarray(y, np.int64) * n_classes + prediction.argmax(axis=1)
    return np.bincount(cell, weight, n_classes**2).reshape(n_classes, n_classes).astype(float)


def check_two_classes(prediction):
    """Raise ValueError if there are more than two classes."""
    if prediction.shape[1] != 2:
        raise ValueError("this metric is for two classes: use TotalF1, MCC or Accuracy")


def binary_counts(y, prediction, weight):
    """Return the weights of true positives, false positives and false negatives, float64 each.

    Raises
    ------
    ValueError
        If there are more than two classes.
    """
    check_two_classes(prediction)
    (_, false_positive), (false_negative, true_positive) = confusion(y, prediction, weight)
    return true_positive, false_positive, false_negative


def precision(y, prediction, weight):
    """Return the share of rows predicted as the second class that belong to it."""
    right, wrong, _ = binary_counts(y, prediction, weight)
    return right / (right + wrong) if right + wrong > 0.0 else 1.0


def recall(y, prediction, weight):
    """Return the share of rows of the second class that are predicted as it."""
    right, _, missed = binary_counts(y, prediction, weight)
    return right / (right + missed) if right + missed > 0.0 else 1.0


def f1(y, prediction, weight):
    """Return the harmonic mean of precision and recall; 0 without rows of the second class."""
    right, wrong, missed = binary_counts(y, prediction, weight)
    total = 2.0 * right + wrong + missed
    return 2.0 * right / total if total > 0.0 else 0.0


def total_f1(y, prediction, weight):
    """Return the mean of each class's F1, weighted by the rows of the class."""
    table = confusion(y, prediction, weight)
    of_class, predicted, right = table.sum(axis=1), table.sum(axis=0), np.diag(table)
    total = of_class + predicted
    own = np.divide(2.0 * right, total, out=np.zeros_like(total), where=total > 0.0)
    return float((own * of_class).sum() / of_class.sum())


def matthews(y, prediction, weight):
    """Return Matthews' correlation coefficient; 0 if one class alone is true or predicted."""
    table = confusion(y, prediction, weight)
    of_class, predicted, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    covariance = np.trace(table) * n - of_class @ predicted
    spread = (n * n - predicted @ predicted) * (n * n - of_class @ of_class)
    return float(covariance / np.sqrt(spread)) if spread > 0.0 else 0.0


def balanced_accuracy(y, prediction, weight):
    """Return the mean of the shares of rows of each of two classes that are predicted right."""
    check_two_classes(prediction)
    table = confusion(y, prediction, weight)
    total = table.sum(axis=1)
    shares = np.divide(np.diag(table), total, out=np.ones(2), where=total > 0.0)
    return float(shares.mean())


def brier_score(y, prediction, weight):
    """Return the mean squared error of the probability of the second of two classes."""
    check_two_classes(prediction)
    return float(np.average((prediction[:, 1] - y) ** 2, weights=weight))
