"""Losses and metrics of the user, with the methods that CatBoost calls.

A loss has ``calc_ders_range(approxes, targets, weights)``, which returns a pair (first, second
derivative) for each row of one score, or ``calc_ders_multi(approx, target, weight)``, which returns
the gradient and the matrix of second derivatives of one row with a score for each class. They are
derivatives of the function to be maximized, so the first one is the negative gradient of a loss;
both are multiplied by the weights. ``weights`` is None without sample weights.

A metric has ``evaluate(approxes, target, weight)``, which returns (sum of errors, sum of weights)
for a list with the raw scores of each output, ``get_final_error(error, weight)`` and
``is_max_optimal()``.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.boosting import Booster
from algorithms.symmetric.kernels import leaf_sums as kinds
from algorithms.symmetric.leaf_values import LeafEstimator, sum_columns
from algorithms.symmetric.objectives import CALLABLE, Objective

OF_RANGE, OF_CLASSES = "calc_ders_range", "calc_ders_multi"
METRIC_METHODS = ("evaluate", "get_final_error", "is_max_optimal")


@dataclass(frozen=True)
class CallableObjective(Objective):
    """A loss of the user."""

    function: object = None

    can_backtrack = False

    @property
    def has_classes(self):
        """Whether a row has a score for each class."""
        return hasattr(self.function, OF_CLASSES) and not hasattr(self.function, OF_RANGE)

    @property
    def default_method(self):
        """Default of ``leaf_estimation_method``."""
        return "Newton"

    def default_iterations(self, _method, _iterations, _n_features):
        """Return the default of ``leaf_estimation_iterations``."""
        return 1

    def derivatives(self, score, y, weight):
        """Return the derivatives of the rows.

        Parameters
        ----------
        score : float64 (n_scores, n_rows)
        y, weight : float32 (n_rows,); weight is (0,) if all are 1

        Returns
        -------
        g : float64 (n_scores, n_rows)
        h : float64 (n_rows,), or (n_rows, n_scores, n_scores) with a score for each class

        Raises
        ------
        ValueError
            If the function returns another number of derivatives.
        """
        if self.has_classes:
            return self._class_derivatives(score, y, weight)
        weights = weight if len(weight) else None
        found = self.function.calc_ders_range(score[0].copy(), y, weights)
        found = np.array([tuple(pair) for pair in found], np.float64)
        if found.shape != (len(y), 2):
            raise ValueError(
                f"{OF_RANGE} must return a pair of derivatives for each of {len(y)} rows; it "
                f"returned an array of shape {found.shape}"
            )
        return found[None, :, 0], found[:, 1]

    def _class_derivatives(self, score, y, weight):
        """Return the derivatives of the rows with a score for each class."""
        n_scores, n_rows = score.shape
        g, h = np.empty((n_rows, n_scores)), np.empty((n_rows, n_scores, n_scores))
        weights = weight.tolist() if len(weight) else [1.0] * n_rows
        for row, given in enumerate(zip(score.T, y.tolist(), weights, strict=True)):
            first, second = self.function.calc_ders_multi(*given)
            if np.shape(first) != (n_scores,) or np.shape(second) != (n_scores, n_scores):
                raise ValueError(
                    f"{OF_CLASSES} must return {n_scores} first derivatives and a matrix of "
                    f"{n_scores} × {n_scores} second ones; it returned shapes {np.shape(first)} "
                    f"and {np.shape(second)}"
                )
            g[row], h[row] = first, second
        return np.ascontiguousarray(g.T), h


def find_callable_objective(function, n_classes):
    """Return the `CallableObjective` of a loss of the user.

    Parameters
    ----------
    function : object with ``calc_ders_range`` or ``calc_ders_multi``
    n_classes : int, 0 for regression

    Raises
    ------
    ValueError
        If it does not fit the task.
    """
    name = type(function).__name__
    if hasattr(function, OF_RANGE):
        if n_classes > 2:
            raise ValueError(f"{n_classes} classes need a loss_function with {OF_CLASSES}")
        return CallableObjective(
            name, CALLABLE, "sigmoid" if n_classes else "identity", 1, function=function
        )
    if not n_classes:
        raise ValueError(f"{OF_CLASSES} is for classes: regression needs {OF_RANGE}")
    return CallableObjective(name, CALLABLE, "softmax", n_classes, function=function)


class CallableLeafEstimator(LeafEstimator):
    """Estimator of the leaf values of a `CallableObjective`."""

    has_single_kernel = False

    def _sums(self, score, grown):
        """Return the sums of derivatives and weights, as `LeafEstimator` does.

        With one score the columns are ΣG, ΣH and Σw; else ΣG of each score, the upper triangle of
        ΣH, and Σw.
        """
        g, h = self.objective.derivatives(score, self.y, self.weight)
        if self.objective.has_classes:
            h = h[(slice(None), *np.triu_indices(len(g)))].T
        weight = self.weight if len(self.weight) else np.ones(len(self.y))
        return sum_columns([*g, *np.atleast_2d(h), weight], grown)

    def _step(self, sums):
        """Return the step of each leaf, (n_leaves, n_scores); 0 without rows."""
        is_newton = self.params.leaf_estimation_method == "Newton"
        if not is_newton:
            return super()._step(sums)
        if self.objective.has_classes:
            return self._class_step(sums)
        empty, curvature = sums[:, -1] <= 0.0, -sums[:, kinds.DER2] + self.l2
        if (curvature[~empty] <= 0.0).any():
            raise ValueError(
                "the second derivatives of loss_function are positive: return those of the function"
                " to be maximized, or set leaf_estimation_method='Gradient'"
            )
        return np.where(empty, 0.0, sums[:, kinds.DER1] / curvature)[:, None]


class CallableBooster(Booster):
    """Boosting of a `CallableObjective`; the parameters are those of `Booster`."""

    leaf_estimator = CallableLeafEstimator

    def _differentiate(self, score, y, weight, g):
        """Write the derivatives of −loss, as `Booster._differentiate` does."""
        g[:] = self.objective.derivatives(score, y, weight)[0]
        if not np.isfinite(g).all():
            raise ValueError("loss_function returned a derivative that is not finite")


class CallableMetric:
    """A metric of the user, as a function of labels, raw scores and weights.

    Parameters
    ----------
    metric : object with the methods `METRIC_METHODS`
    """

    takes_scores = True  # instead of predictions, see `newton.early_stopping.EvaluationSet`

    def __init__(self, metric):
        self.metric = metric

    def __call__(self, y, scores, weight):
        """Return the value, float.

        Parameters
        ----------
        y : (n_rows,), labels or class codes, or `QueryLabels`
        scores : float64 (n_rows, n_scores), raw
        weight : (n_rows,), or None
        """
        columns = list(np.ascontiguousarray(np.asarray(scores, np.float64).T))
        y = np.asarray(getattr(y, "label", y), np.float32)
        error, total = self.metric.evaluate(columns, y, weight)
        return float(self.metric.get_final_error(error, total))


def is_callable_metric(wanted):
    """Return whether a metric has CatBoost's methods."""
    return all(hasattr(wanted, name) for name in METRIC_METHODS)


def read_callable_metric(metric):
    """Return a metric of the user as `metrics.find_metric` does."""
    return type(metric).__name__, CallableMetric(metric), bool(metric.is_max_optimal())
