"""Estimator behind `Booster`: all objectives in one class, with numbers as labels."""

from functools import partial

import numpy as np

from algorithms.compat.lightgbm.messages import LightGBMError, warn
from algorithms.gbdt.metrics import (
    TINY,
    UnknownMetricError,
    cross_entropy,
    find_metric,
    standard_name,
)
from algorithms.gbdt.objectives import (
    ALIASES,
    CLASSES,
    Objective,
    check_targets,
    find_objective,
    read_watched,
    to_probabilities,
    to_values,
)
from algorithms.gbdt.params import check_together
from algorithms.gbdt.ranking_metrics import NAMES as RANKING_METRICS
from algorithms.gbdt.ranking_objectives import ALIASES as RANKING_ALIASES
from algorithms.gbdt.ranking_objectives import NAMES as RANKING
from algorithms.gbdt.ranking_objectives import check_labels, read_gains
from algorithms.histogram_ranking import HistogramBoostingRanker
from algorithms.model_io.objectives import ROWS

NONE = ("none", "null", "custom", "na")
MANY = ("multi_logloss", "multi_error", "auc_mu")


class NativeModel(HistogramBoostingRanker):
    """Estimator for any objective; classes are the numbers 0, 1 and so on.

    ``fit`` is not used: `training.Training` trains it round by round. ``n_native_classes`` is the
    parameter ``num_class``.
    """

    _objective_names = frozenset(name for name, _, _ in ROWS if name)
    n_native_classes = 1
    reads_categories_as_lightgbm = takes_infinity = True
    _positions = None  # in training: number of each row's position

    @property
    def _family(self):
        """Group of the objective: "custom", "ranking", "classes" or "values"."""
        name = self.objective
        if callable(name) or name in NONE:
            return "custom"
        if RANKING_ALIASES.get(name, name) in RANKING:
            return "ranking"
        return "classes" if ALIASES.get(name, name) in CLASSES else "values"

    def _read_y(self, y, _labels=None):
        """Return the targets: class codes, or float64 values."""
        family = self._family
        if family == "ranking":
            return check_labels(y, len(read_gains(self.label_gain)))
        if family == "classes":
            name = ALIASES.get(self.objective, self.objective)
            n_classes = 2 if name == "binary" else self.n_native_classes
            self.classes_, self.n_classes_ = np.arange(n_classes), n_classes
            return self._encode_y(y)
        y = y.astype(np.float64, copy=False)
        if family == "values":
            check_targets(self.objective, y)
        return y

    def _encode_y(self, y):
        """Return the targets of an evaluation table."""
        family = self._family
        if family == "ranking":
            return check_labels(y, len(read_gains(self.label_gain)), " of valid_sets")
        y = y.astype(np.float64, copy=False)
        if family == "values":
            return read_watched(self.objective, y)
        if family == "custom":
            return y
        if ALIASES.get(self.objective, self.objective) == "binary":
            return (y > 0).astype(np.int64)
        wrong = y[(y < 0) | (y >= self.n_classes_) | (y != np.floor(y))]
        if len(wrong):
            raise LightGBMError(
                f"Label must be in [0, {self.n_classes_}), but found {wrong[0]:g} in label"
            )
        return y.astype(np.int64)

    def _weigh(self, _y, weight):
        """Return the weights, or None if all are 1."""
        return None if weight is None or (weight == 1.0).all() else weight

    def _find_objective(self):
        """Return the `Objective`, or the callable; check the other parameters."""
        family = self._family
        if family == "ranking":
            if self._bounds is None:
                raise LightGBMError("Ranking tasks require query information")
            return super()._find_objective()
        if family == "custom" and not callable(self.objective):
            raise LightGBMError("For customized objective function, please provide it to train")
        objective = self.objective
        if family != "custom":
            n_classes = self.n_classes_ if family == "classes" else 0
            objective = find_objective(self, n_classes)
        check_together(self, objective)
        return objective

    @property
    def _n_scores(self):
        """Number of scores per row."""
        if callable(self._objective):
            return self.n_native_classes
        return self._objective.n_scores

    @property
    def _link(self):
        """Link function from scores to predictions."""
        return "identity" if callable(self._objective) else self._objective.link

    def _metric(self, wanted):
        """Return the metric of a name; an empty name selects the objective's metric."""
        family = self._family
        name = wanted or ("ndcg" if family == "ranking" else "")
        if name in RANKING_METRICS:
            return super()._metric(name)
        if name and (standard_name(name) in MANY) != (self.n_native_classes > 1):
            raise LightGBMError("Multiclass objective and metrics don't match")
        of_objective = "regression" if family in ("ranking", "custom") else self._objective.name
        try:
            if family == "custom":
                return of_scores(name, self)
            return find_metric(name or of_objective, of_objective, self)
        except UnknownMetricError as error:
            if family == "values" and name in ("binary_logloss", "binary_error"):
                return of_scores(name, self)
            warn(f"The metric {wanted!r} is ignored: {error}")
            return None

    def _predict_scores(self, score):
        """Return the predictions of raw scores: probabilities, or values."""
        if hasattr(self, "classes_") and self._link != "identity":
            return to_probabilities(score, self._link)
        return to_values(score, self._link) if score.shape[1] == 1 else score

    def _check_task(self, _path, ensemble):
        """Set the class codes of a model that is loaded."""
        self.__dict__.pop("classes_", None)
        if ensemble.classes:
            self.classes_ = np.array(ensemble.classes)
            self.n_classes_ = len(self.classes_)
        if ensemble.n_outputs > 1:
            self.n_native_classes = ensemble.n_outputs

    def forget_functions(self):
        """Replace a user's objective, so that the model can be pickled."""
        if callable(self._objective):
            self._objective = Objective("", None, 0.0, self.n_native_classes, "identity")
            self.objective = "none"


def of_scores(name, params):
    """Return a metric that takes predictions of a user's objective as they are.

    Parameters
    ----------
    name : name of the metric
    params : NativeModel

    Raises
    ------
    ValueError
        If there is no such metric.
    """
    of_classes = {"binary_logloss": binary_loss, "binary_error": binary_error}
    if params.n_native_classes > 1:
        softmax = {"multi_error": many_error}
        aliases = (*("multi_logloss", "multiclass", "softmax", "multiclassova"),)
        of_classes = softmax | dict.fromkeys((*aliases, "multiclass_ova", "ova", "ovr"), many_loss)
    if name not in of_classes:
        return find_metric(name, "regression", params)
    loss = of_classes[name]
    named = "multi_logloss" if loss is many_loss else name
    metric = partial(weigh_loss, loss, named)
    metric.__name__ = named
    return metric


def weigh_loss(loss, name, y, found, weight):
    """Return the mean of a loss: name, value, and that lower is better."""
    return name, float(np.average(loss(y, found), weights=weight)), False


def binary_loss(y, p):
    """Return −log p of each row's class; p of the second of two classes."""
    return cross_entropy(1.0 * (y > 0), np.clip(p, TINY, 1.0 - TINY))


def binary_error(y, p):
    """Return whether p above 0.5 is wrong."""
    return (p > 0.5) != (y > 0)


def many_loss(y, proba):
    """Return −log p of each row's class."""
    return -np.log(np.clip(proba[np.arange(len(y)), y.astype(np.int64)], TINY, None))


def many_error(y, proba):
    """Return whether another class has a larger score."""
    return proba.argmax(axis=1) != y
