"""Estimators with XGBoost's names and defaults."""

import warnings
from abc import ABCMeta

import numpy as np
import pandas as pd
from sklearn.utils import get_tags

from algorithms.compat.inputs import as_rows
from algorithms.compat.parameters import is_same, unknown_parameter
from algorithms.compat.xgboost.booster import NO_STOPPING, Booster
from algorithms.compat.xgboost.column_types import with_types
from algorithms.compat.xgboost.messages import allow_positional
from algorithms.estimator.eval_sets import is_pair
from algorithms.model_io.errors import ModelFileError
from algorithms.newton_boosting import NewtonBoostingClassifier, NewtonBoostingRegressor

__all__ = ["XGBClassifier", "XGBModel", "XGBRFClassifier", "XGBRFRegressor", "XGBRegressor"]
MODEL_PARAMS = ("missing", "enable_categorical", "feature_types", "quantile_alpha")
MODEL_PARAMS += ("rearrange_quantiles", "expectile_alpha")
OF_STOPPING = ("best_iteration", "best_score")
N_TREES = 100  # default of n_estimators


class LibraryEstimator:
    """Mixin with XGBoost's constructor and a `Booster` as the model.

    The parameters are those of `NewtonBoostingClassifier`. None means the default.
    """

    _float32_scores = True
    _allows_unknown = True
    _own_parameters = frozenset({"feature_types"})
    _doc_link_module = "algorithms"
    _doc_link_template = (
        "https://xgboost.readthedocs.io/en/stable/python/python_api.html#xgboost.{estimator_name}"
    )

    @allow_positional
    def __init__(
        self,
        *,
        max_depth=None,
        max_leaves=None,
        max_bin=None,
        grow_policy=None,
        learning_rate=None,
        n_estimators=None,
        verbosity=None,
        objective=None,
        booster=None,
        tree_method=None,
        n_jobs=None,
        gamma=None,
        min_child_weight=None,
        max_delta_step=None,
        subsample=None,
        sampling_method=None,
        colsample_bytree=None,
        colsample_bylevel=None,
        colsample_bynode=None,
        reg_alpha=None,
        reg_lambda=None,
        scale_pos_weight=None,
        base_score=None,
        random_state=None,
        missing=np.nan,
        num_parallel_tree=None,
        monotone_constraints=None,
        interaction_constraints=None,
        importance_type=None,
        device=None,
        validate_parameters=None,
        enable_categorical=False,
        feature_types=None,
        feature_weights=None,
        max_cat_to_onehot=None,
        max_cat_threshold=None,
        multi_strategy=None,
        eval_metric=None,
        early_stopping_rounds=None,
        callbacks=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._set_constructor_params({**locals(), "kwargs": {}})

    @allow_positional
    def fit(self, X, y, *, sample_weight=None, verbose=True, **options):
        """Train the model; see `NewtonBoostingClassifier.fit`.

        Parameters
        ----------
        X, y, sample_weight : as in `NewtonBoostingClassifier.fit`
        verbose : bool or int, default=True
            Whether metrics of the evaluation sets are printed; a number n prints every n-th round.
        **options
            The other arguments of `NewtonBoostingClassifier.fit`.

        Returns
        -------
        The estimator.
        """
        self._check_given(X, y)
        self._warn_of_unknown()
        tables = options.get("eval_set")
        if isinstance(tables, list | tuple) and all(map(is_pair, tables)):
            options["eval_set"] = [(self._frame(rows), labels) for rows, labels in tables]
        options |= {"sample_weight": sample_weight, "verbose": verbose}
        super().fit(self._frame(X), y, **options)
        self._fitted_metric = self.eval_metric
        return self

    def _check_given(self, X, y):
        """Raise TypeError or ValueError if the rows or the labels of training are None."""
        if X is None:
            raise TypeError("X must be a table, not NoneType")
        if y is None:
            what = "Invalid classes" if self._get_type() == "classifier" else "Invalid labels"
            raise ValueError(f"{what}: y is None")

    def _warn_of_unknown(self):
        """Warn of parameters that do not exist, with similar names, as XGBoost does in training."""
        names = self._unknown_parameters()
        if names:
            listed = ", ".join(f'"{name}"' for name in names)
            hints = "; ".join(unknown_parameter(type(self), name) for name in names)
            message = f"Parameters: {{ {listed} }} are not used. {hints}"
            warnings.warn(message, UserWarning, stacklevel=4)

    def _frame(self, X):
        """Return the rows with the column types of the parameter ``feature_types``."""
        return with_types(as_frame(X), self.feature_types)

    def _read_rows(self, X):
        """Return X as the trees read it."""
        return super()._read_rows(self._frame(X))

    def apply(self, X, iteration_range=None):
        """Return the leaf of each row in each tree, int32 (n_rows, n_trees).

        Raises
        ------
        ValueError
            If X has categorical columns and ``enable_categorical`` is False.
        """
        X = self._frame(X)
        if not self.enable_categorical and has_categories(X):
            raise ValueError("X has categorical columns: set `enable_categorical` to True")
        return super().apply(X, iteration_range)

    def get_booster(self):
        """Return the model as a `Booster`.

        As in XGBoost, a metric that is set after ``fit`` is added to those before.
        """
        super().get_booster()  # raises NotFittedError
        booster = Booster.from_estimator(self)
        before = vars(self).get("_fitted_metric", self.eval_metric)
        if not (callable(self.eval_metric) or is_same(before, self.eval_metric)):
            booster.set_param("eval_metric", before)
            booster.set_param("eval_metric", booster.metrics_with(self.eval_metric))
        return booster

    def get_xgb_params(self):
        """Return the parameters for `train`: dict, name → value."""
        found = super().get_xgb_params()
        seed = found.get("random_state")
        draw = getattr(seed, "integers", getattr(seed, "randint", None))
        if draw is not None:
            found["random_state"] = int(draw(np.iinfo(np.int32).max))
        return found

    def save_model(self, path, *, format=None):  # noqa: A002 - the name that users look for
        """Write the model in XGBoost's format: UBJSON for the suffix ".ubj", otherwise JSON.

        Parameters
        ----------
        path : str or path
        format : as in `NewtonBoostingClassifier.save_model`
        """
        super().save_model(path, format=format or "xgboost")

    def _raw(self, X, iteration_range=None, margin=None, *, checks_names=True):
        """Return raw scores; raise ValueError if the column names are not those of training."""
        X = self._frame(X)
        if checks_names and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            names, here = list(self.feature_names_in_), [str(one) for one in X.columns]
            if names != here:
                raise ValueError(f"feature_names mismatch: {names} {here}")
        return super()._raw(X, iteration_range, margin, checks_names=checks_names)

    def _check_task(self, path, ensemble):
        """Raise TypeError if the file holds a model for another task."""
        try:
            super()._check_task(path, ensemble)
        except ModelFileError as error:
            raise TypeError(str(error)) from error

    def _checked_params(self, given):
        """Return the parameters of a file that the model needs; the others are not loaded."""
        return {name: given[name] for name in MODEL_PARAMS if name in given}

    def _more_tags(self):
        """Return the tags of scikit-learn before 1.6, dict, as XGBoost's estimators do."""
        enabled = bool(self.enable_categorical)
        tags = {"allow_nan": True, "no_validation": True, "sparse": True}
        tags |= {"categorical": enabled, "string": enabled}
        if self._get_type() == "classifier":
            return {**tags, "multilabel": True}
        if self._get_type() == "regressor":
            return {**tags, "multioutput": True, "multioutput_only": False}
        return tags

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.input_tags.categorical = bool(self.enable_categorical)
        return tags

    def _get_type(self):
        """Return "classifier" or "regressor", as XGBoost's estimators do."""
        return get_tags(self).estimator_type

    @property
    def _Booster(self):  # noqa: N802 - XGBoost's name
        """The `Booster`, or None before ``fit``."""
        return self.get_booster() if "ensemble_" in vars(self) else None

    def __getattr__(self, name):
        """Raise AttributeError; for a result of early stopping, with the reason."""
        if name in OF_STOPPING:
            raise AttributeError(NO_STOPPING.format(name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def as_frame(X):
    """Return a pandas series as a frame with one column, and other rows as `as_rows` does."""
    return X.to_frame() if isinstance(X, pd.Series) else as_rows(X)


def has_categories(X):
    """Return whether a pandas frame has categorical columns."""
    kinds = X.dtypes if isinstance(X, pd.DataFrame) else ()
    return any(isinstance(kind, pd.CategoricalDtype) for kind in kinds)


class XGBModel(LibraryEstimator, NewtonBoostingRegressor, metaclass=ABCMeta):
    """Base class of the regressors, and a regressor itself.

    Classifiers and rankers are its virtual subclasses, so `isinstance` is as in XGBoost. With
    ``objective="binary:logistic"`` it predicts the probability of the label 1.
    """

    def _resolved(self):
        """Return a copy with supported parameter values."""
        core = super()._resolved()
        if core.objective == "binary:logistic":
            core.objective, core.eval_metric = "reg:logistic", core.eval_metric or "logloss"
        return core


class XGBClassifier(LibraryEstimator, NewtonBoostingClassifier):
    """`NewtonBoostingClassifier` under XGBoost's name.

    Parameters
    ----------
    objective : str or callable, default="binary:logistic"
        With more than two classes it is replaced by "multi:softprob".
    **kwargs
        The parameters of `LibraryEstimator`.
    """

    @allow_positional
    def __init__(self, *, objective="binary:logistic", **kwargs):
        super().__init__(objective=objective, **kwargs)


class XGBRegressor(XGBModel):
    """`NewtonBoostingRegressor` under XGBoost's name.

    Parameters
    ----------
    objective : str or callable, default="reg:squarederror"
    **kwargs
        The parameters of `LibraryEstimator`.
    """

    @allow_positional
    def __init__(self, *, objective="reg:squarederror", **kwargs):
        super().__init__(objective=objective, **kwargs)


XGBModel.register(XGBClassifier)


class RandomForest:
    """Mixin of random forests: one boosting round of ``n_estimators`` trees.

    Parameters
    ----------
    learning_rate : float, default=1.0
    subsample, colsample_bynode : float, default=0.8
        Fraction of the rows of a tree, and of the columns of a node.
    reg_lambda : float, default=1e-5
    **kwargs
        The other parameters of `LibraryEstimator`.
    """

    @allow_positional
    def __init__(
        self, *, learning_rate=1.0, subsample=0.8, colsample_bynode=0.8, reg_lambda=1e-5, **kwargs
    ):
        super().__init__(
            learning_rate=learning_rate,
            subsample=subsample,
            colsample_bynode=colsample_bynode,
            reg_lambda=reg_lambda,
            **kwargs,
        )

    def get_num_boosting_rounds(self):
        """Return the number of boosting rounds: 1."""
        return 1

    def get_xgb_params(self):
        """Return the parameters for `train`: dict, name → value."""
        return {**super().get_xgb_params(), "num_parallel_tree": self.n_estimators or N_TREES}

    def _resolved(self):
        """Return a copy that grows all trees in one round.

        Raises
        ------
        NotImplementedError
            If a parameter needs several rounds.
        """
        for name in ("early_stopping_rounds", "callbacks"):
            if getattr(self, name) is not None:
                raise NotImplementedError(f"{name} is not implemented for a random forest")
        core = super()._resolved()
        core.num_parallel_tree, core.n_estimators = core.n_estimators or N_TREES, 1
        return core


class XGBRFClassifier(RandomForest, XGBClassifier):
    """Random forest classifier of second-order trees."""


class XGBRFRegressor(RandomForest, XGBRegressor):
    """Random forest regressor of second-order trees."""
