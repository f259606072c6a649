"""Estimators with LightGBM's names, constructor and conventions.

Unlike `HistogramBoosting*`, they read the columns of a frame by position, a classifier with a
user-defined objective predicts raw scores, and `booster_` is a `Booster`.
"""

import inspect
from abc import ABCMeta

from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.inputs import as_rows
from algorithms.compat.lightgbm.booster import Booster
from algorithms.compat.lightgbm.dataset import name_as_in_training
from algorithms.compat.lightgbm.messages import LightGBMError, warn
from algorithms.compat.lightgbm.model import NONE, NativeModel
from algorithms.compat.lightgbm.parameters import warn_of_rounds
from algorithms.compat.lightgbm_parameters import LIGHTGBM
from algorithms.compat.parameters import constructor_defaults
from algorithms.gbdt.lightgbm_interface import LightGBMInterface
from algorithms.gbdt.metrics import UnknownMetricError
from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.histogram_ranking import HistogramBoostingRanker

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]
MAIN_NAMES = ("num_leaves", "max_depth", "learning_rate")  # arguments that precede aliases
RAW_SCORES = (
    "Cannot compute class probabilities or labels due to the usage of customized objective "
    "function.\nReturning raw scores instead."
)


class LightGBMEstimator:
    """Mixin with LightGBM's constructor; all other parameters are keyword arguments."""

    _first_constructor = True  # `get_params` leaves out the constructors of the base classes
    reads_categories_as_lightgbm = takes_infinity = True

    def __init__(
        self,
        *,
        boosting_type="gbdt",
        num_leaves=31,
        max_depth=-1,
        learning_rate=0.1,
        n_estimators=100,
        subsample_for_bin=200000,
        objective=None,
        class_weight=None,
        min_split_gain=0.0,
        min_child_weight=1e-3,
        min_child_samples=20,
        subsample=1.0,
        subsample_freq=0,
        colsample_bytree=1.0,
        reg_alpha=0.0,
        reg_lambda=0.0,
        random_state=None,
        n_jobs=None,
        importance_type="split",
        **kwargs,
    ):
        self._set_constructor_params(locals())

    def _given_rows(self):
        """Yield the given parameters without aliases of `MAIN_NAMES`, as in LightGBM."""
        for row, name in super()._given_rows():
            if row.name not in MAIN_NAMES or name == row.name:
                yield row, name

    def _warn_of_aliases(self):
        """Warn of aliases that are ignored because the main name is a constructor argument."""
        if self._resolved().verbosity is not None and self._resolved().verbosity < 0:
            return
        for row, name in super()._given_rows():
            if row.name in MAIN_NAMES and name != row.name:
                value = getattr(self, row.name)
                warn(
                    f"{row.name} is set={value}, {name}={getattr(self, name)} will be ignored. "
                    f"Current value: {row.name}={value}"
                )

    def _validate_params(self):
        """Raise an error if a parameter, under any of its names, has an invalid value."""
        given = {name: getattr(self, name) for name in self._parameter_constraints}
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)

    def _fit(self, rows, *arguments, **options):
        """Warn of conflicting numbers of rounds and of ignored aliases, then train."""
        extra = {name: getattr(self, name) for name in self.__dict__.get("_extra_params", ())}
        warn_of_rounds(extra)
        self._warn_of_aliases()
        return super()._fit(rows, *arguments, **options)

    def _metric(self, wanted):
        """Return the metric of a name; warn and return None if the name is unknown."""
        try:
            return super()._metric(wanted)
        except UnknownMetricError as error:
            warn(f"The metric {wanted!r} is ignored: {error}")
            return None

    def _read_for_prediction(self, X, validate_features, given):
        """Return X for prediction; its columns are matched with those of training by position."""
        check_is_fitted(self, "ensemble_")
        rows = as_rows(X)
        names = getattr(self, "feature_names_in_", None)
        if validate_features:
            check_names(rows, names)
        rows = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
        return super()._read_for_prediction(name_as_in_training(rows, names), False, given)

    def __sklearn_is_fitted__(self):
        """Return True if the estimator is fitted."""
        return "ensemble_" in self.__dict__

    @property
    def objective_(self):
        """Objective used in training: the given name or callable, or the default name."""
        default = super().objective_
        return self._resolved().objective or default

    @property
    def booster_(self):
        """`Booster` of the fitted model."""
        check_is_fitted(self, "ensemble_")
        return Booster.of_estimator(self)

    @property
    def _fitted_objective(self):
        """The user's objective, or None."""
        return self._objective if callable(getattr(self, "_objective", None)) else None


LATER = {
    name: default
    for name, default in constructor_defaults(HistogramBoostingClassifier).items()
    if name not in inspect.signature(LightGBMEstimator.__init__).parameters
}
for _name, _default in LATER.items():
    setattr(LightGBMEstimator, _name, _default)
LightGBMEstimator._more_parameters = frozenset(LATER)  # noqa: SLF001 - its own part


def check_names(rows, names):
    """Raise LightGBMError if a frame's column names are not those of training."""
    columns = getattr(rows, "columns", None)
    if names is None or columns is None:
        return
    for at, (wanted, name) in enumerate(zip(names, columns, strict=False)):
        if wanted.replace(" ", "_") != str(name).replace(" ", "_"):
            raise LightGBMError(f"Expected '{wanted}' at position {at} but found '{name}'")


class LGBMClassifier(LightGBMEstimator, HistogramBoostingClassifier):
    """`HistogramBoostingClassifier` with LightGBM's constructor."""

    def _metric(self, wanted):
        """Return the metric of a name; "logloss" and "error" become binary or multi-class."""
        kind = "multi" if self.n_classes_ > 2 else "binary"
        for short in ("logloss", "error"):
            if wanted in (short, f"binary_{short}", f"multi_{short}"):
                wanted = f"{kind}_{short}"
        return super()._metric(wanted)

    def predict_proba(self, X, raw_score=False, **options):
        """Return class probabilities, float64 (n_rows, n_classes).

        With a user-defined objective the result is raw scores. Parameters are as in
        `HistogramBoostingClassifier.predict_proba`.
        """
        special = options.get("pred_leaf") or options.get("pred_contrib")
        if self._fitted_objective is None or raw_score or special:
            return super().predict_proba(X, raw_score=raw_score, **options)
        warn(RAW_SCORES)
        return super().predict_proba(X, raw_score=True, **options)

    def predict(self, X, raw_score=False, **options):
        """Return the most probable labels, (n_rows,).

        With a user-defined objective the result is raw scores. Parameters are as in
        `HistogramBoostingClassifier.predict_proba`.
        """
        special = raw_score or options.get("pred_leaf") or options.get("pred_contrib")
        if self._fitted_objective is None or special:
            return super().predict(X, raw_score=raw_score, **options)
        return self.predict_proba(X, **options)


class LGBMRegressor(LightGBMEstimator, HistogramBoostingRegressor):
    """`HistogramBoostingRegressor` with LightGBM's constructor."""


class LGBMRanker(LightGBMEstimator, HistogramBoostingRanker):
    """`HistogramBoostingRanker` with LightGBM's constructor."""


class LGBMModel(LightGBMEstimator, NativeModel, metaclass=ABCMeta):
    """Estimator for any objective; class labels are the numbers 0, 1 and so on.

    ``objective`` must be given. ``num_class`` is the number of classes of "multiclass". The other
    estimators are virtual subclasses, so `isinstance` is as in LightGBM.
    """

    num_class = 1

    @property
    def n_native_classes(self):
        """Number of classes: the parameter ``num_class``."""
        extra = self.__dict__.get("_extra_params", {})
        given = [n for n in LIGHTGBM.by_name["num_class"].names if n in extra]
        return int(getattr(self, given[0])) if given else 1

    @n_native_classes.setter
    def n_native_classes(self, number):
        """Set the parameter ``num_class``, for a model that is loaded."""
        self._set_extra("num_class", number)

    def fit(self, X, y, sample_weight=None, *, group=None, **options):
        """Train the model.

        Parameters
        ----------
        X, y, sample_weight : as in `HistogramBoostingClassifier.fit`
        group : array-like of int, default=None
            Number of rows of each query, for a ranking objective.
        **options
            The other arguments of `HistogramBoostingClassifier.fit`, and for ranking of
            `HistogramBoostingRanker.fit`.

        Returns
        -------
        The estimator.
        """
        if self.objective is None or (isinstance(self.objective, str) and self.objective in NONE):
            raise ValueError("Unknown model type.")
        if group is not None:
            return super().fit(X, y, sample_weight, group=group, **options)
        return LightGBMInterface.fit(self, X, y, sample_weight, **options)

    def predict(self, X, *, raw_score=False, **options):
        """Return values, or class probabilities; with two classes those of the second class.

        The shape is (n_rows,), or (n_rows, n_classes) with more than two classes. Parameters are as
        in `HistogramBoostingClassifier.predict_proba`.
        """
        found = super().predict(X, raw_score=raw_score, **options)
        special = raw_score or options.get("pred_leaf") or options.get("pred_contrib")
        is_binary = not special and found.ndim == 2 and self.ensemble_.n_outputs == 1
        return found[:, 1] if is_binary else found


for _class in (LGBMClassifier, LGBMRegressor, LGBMRanker):
    LGBMModel.register(_class)
