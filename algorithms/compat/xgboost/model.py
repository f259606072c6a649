"""Estimator behind `Booster`: all objectives in one class, with numbers as labels."""

from dataclasses import dataclass, fields
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval

from algorithms.compat.xgboost.messages import XGBoostError
from algorithms.compat.xgboost.parameters import OBJECTIVES
from algorithms.gbdt.kernels.gradients import L2
from algorithms.model_io.xgboost_reader import margin
from algorithms.newton.base import BaseNewtonBoosting
from algorithms.newton.objectives import (
    BINARY,
    CLASSES,
    REGRESSION,
    SOFTMAX,
    Custom,
    Objective,
    find_objective,
)
from algorithms.newton.params import CONSTRAINTS, filled, read_base
from algorithms.newton.ranking_objectives import KINDS as RANKING
from algorithms.newton.ranking_objectives import RankingObjective, RankingSettings
from algorithms.newton.several_targets import count_targets, make_objective_of_targets
from algorithms.newton.survival import read_bounds
from algorithms.newton.xgboost_interface import XGBoostInterface

HALF = 0.5  # prediction before the first round with an objective of the user


class NativeModel(XGBoostInterface, BaseNewtonBoosting):
    """Estimator for any objective; classes are the numbers 0, 1 and so on.

    `training.Training` trains it round by round, without ``fit``. ``n_native_classes`` is the
    parameter ``num_class``.
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [str, callable, None],
        "learning_rate": [Interval(Real, 0.0, None, closed="left"), None],
    }
    n_native_classes = 0
    ranking = RankingSettings()
    _float32_scores = True

    @property
    def objective_name(self):
        """Name of the objective; with ``num_class`` alone it is "multi:softmax"."""
        if self.objective is None:
            return CLASSES[1] if self.n_native_classes else "reg:squarederror"
        return OBJECTIVES.get(self.objective, self.objective)

    def set_objective(self, function=None, n_targets=None):
        """Set the objective of training and the number of targets.

        Parameters
        ----------
        function : callable, default=None
            The user's objective. It takes y and raw scores, and returns g and h.
        n_targets : int, default=None
            Number of columns of y; None does not change it.

        Raises
        ------
        XGBoostError
            If the objective is unknown, or needs a number of classes.
        """
        name = self.objective_name
        if name in CLASSES and self.n_native_classes < 1:
            raise XGBoostError(f"value 0 for num_class should be greater equal to 1 for {name}")
        if name not in (*CLASSES, *BINARY, *REGRESSION, *RANKING):
            known = ", ".join([*REGRESSION, *BINARY, *CLASSES, *RANKING])
            raise XGBoostError(f"Unknown objective function: `{name}`. Known are {known}")
        if n_targets is not None:
            self._n_targets = n_targets
        self.__dict__.pop("classes_", None)
        self.n_classes_ = 0
        if name in CLASSES:
            self.n_classes_ = n_scores = self.n_native_classes
            found = Objective(CLASSES[0], SOFTMAX, 0.0, n_scores, "softmax")
        elif name in RANKING:  # `rank_queries` replaces it for training
            found = untrained("identity", 1)
        else:
            self.n_classes_ = 2 if name in BINARY else 0
            params = filled(self)
            params.objective = name
            found = find_objective(params, self.n_classes_)
        if self.n_classes_:
            self.classes_ = np.arange(self.n_classes_)
        if function is None:
            given = {one.name: getattr(found, one.name) for one in fields(found)}
            self._objective = NativeObjective(**given)
        else:
            self._objective = NativeCustom(function, found.n_scores, found.link)
        if self._n_targets > 1:
            if name in (*CLASSES, *RANKING):
                raise XGBoostError(f"{name} does not support labels with several columns")
            self._objective = make_objective_of_targets(self._objective, self._n_targets)

    def rank_queries(self, y, bounds, weight, n_rounds):
        """Set the ranking objective after ``n_rounds`` earlier rounds; see `RankingObjective`."""
        given = y, bounds, weight
        self._objective = RankingObjective(self.objective_name, self.ranking, *given)
        self._objective.n_rounds = n_rounds

    def read_targets(self, data):
        """Return the targets of a DMatrix, float64 (n_rows,) or (n_rows, n_targets).

        For "survival:aft" they are the bounds of the times, (n_rows, 2).
        """
        if self.objective_name != "survival:aft":
            return self.read_labels(data.get_label())
        bounds = (data.get_float_info(f"label_{side}_bound") for side in ("lower", "upper"))
        return read_bounds(*bounds)

    def read_labels(self, y):
        """Return the targets of training or evaluation, float64.

        Raises
        ------
        XGBoostError
            If the objective does not allow them.
        """
        y = np.asarray(y, np.float64)
        name = self.objective_name
        if count_targets(y) != self._n_targets:
            raise XGBoostError(f"the model has {self._n_targets} targets, not {count_targets(y)}")
        if name in CLASSES and ((y < 0) | (y >= self.n_native_classes) | (y != np.floor(y))).any():
            raise XGBoostError(
                f"label must be in [0, num_class); num_class is {self.n_native_classes}"
            )
        if name in (*BINARY, "reg:logistic", "binary:logitraw") and ((y < 0) | (y > 1)).any():
            raise XGBoostError("label must be in [0,1] for logistic regression")
        if name == "reg:squaredlogerror" and (y <= -1).any():
            raise XGBoostError(
                "label must be greater than -1 for rmsle so that log(label + 1) can be valid."
            )
        if name == "reg:gamma" and (y <= 0).any():
            raise XGBoostError("label must be positive for gamma regression.")
        if name in ("count:poisson", "reg:tweedie") and (y < 0).any():
            raise XGBoostError("label must be nonnegative for this regression.")
        return y

    def link_scores(self, raw):
        """Return the values or class probabilities of raw scores.

        Parameters
        ----------
        raw : (n_rows, n_scores)

        Returns
        -------
        values (n_rows,) or (n_rows, n_scores); probabilities (n_rows, n_classes)
        """
        return self._join([]).from_raw(np.asarray(raw, np.float32))

    def predict_link(self, raw):
        """Return the predictions of raw scores, float32, with the shapes of `Booster.predict`."""
        found = self.link_scores(raw)
        if self.objective_name == CLASSES[1]:
            return found.argmax(axis=1).astype(np.float32)
        return self.drop_first_class(found)

    def drop_first_class(self, found):
        """Return predictions, float32; with one score, the probability of the second class."""
        if found.ndim == 2 and self._objective.n_scores == 1:
            found = found[:, -1]
        return found.astype(np.float32)


@dataclass(frozen=True)
class NativeObjective(Objective):
    """Objective whose initial scores are stored in XGBoost's files without rounding."""

    def first_scores(self, y, weight, given, workers):
        """Return the initial scores; see `Objective.first_scores`."""
        return storable(super().first_scores(y, weight, given, workers), self.link)


@dataclass(frozen=True)
class NativeCustom(Custom):
    """User-defined objective; the prediction before the first round is ½, as in XGBoost."""

    def first_scores(self, _y, _weight, given, _workers):
        """Return the scores of the given base score, float32 (n_scores,)."""
        mean = read_base(HALF if given is None else given, self.n_scores)
        return storable(untrained(self.link, self.n_scores).margin(mean), self.link)


def storable(scores, link):
    """Return the nearest raw scores that are links of float32 predictions, as in XGBoost."""
    if link not in ("sigmoid", "exp"):
        return scores
    means = (expit(scores) if link == "sigmoid" else np.exp(scores)).astype(np.float32)
    return np.array([margin(mean, link) for mean in means], np.float32)


def untrained(link, n_scores):
    """Return an `Objective` for prediction only."""
    return Objective("", L2, 0.0, n_scores, link)
