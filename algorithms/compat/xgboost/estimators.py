"""Estimators with XGBoost's names and defaults."""

from abc import ABCMeta

import numpy as np
import pandas as pd
from sklearn.utils import get_tags

from algorithms.compat.xgboost.booster import NO_STOPPING, Booster
from algorithms.compat.xgboost.messages import allow_positional
from algorithms.estimator.eval_sets import is_pair
from algorithms.model_io.errors import ModelFileError
from algorithms.newton_boosting import NewtonBoostingClassifier, NewtonBoostingRegressor

__all__ = ["XGBClassifier", "XGBModel", "XGBRFClassifier", "XGBRFRegressor", "XGBRegressor"]
OF_STOPPING = ("best_iteration", "best_score")
N_TREES = 100  # default of n_estimators


class LibraryEstimator:
    """Mixin with XGBoost's constructor and a `Booster` as the model.

    The parameters are those of `NewtonBoostingClassifier`. None means the default.
    """

    _float32_scores = True

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
        tables = options.get("eval_set")
        if isinstance(tables, list | tuple) and all(map(is_pair, tables)):
            options["eval_set"] = [(as_frame(rows), labels) for rows, labels in tables]
        return super().fit(as_frame(X), y, sample_weight, verbose=verbose, **options)

    def get_booster(self):
        """Return the model as a `Booster`."""
        super().get_booster()  # raises NotFittedError
        return Booster.from_estimator(self)

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
    """Return a pandas series as a frame with one column, and other rows unchanged."""
    return X.to_frame() if isinstance(X, pd.Series) else X


class XGBModel(LibraryEstimator, NewtonBoostingRegressor, metaclass=ABCMeta):
    """Base class of the regressors, and a regressor itself.

    Classifiers and rankers are its virtual subclasses, so `isinstance` is as in XGBoost.
    """


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
