"""Trees, rows and feature names of fitted models: our estimators, views, and the libraries' models.

A model with columns derived from those of X, such as target statistics, has trees on more columns
than X has. SHAP values and importances of a derived column are divided among its source columns, by
the shares that the model gives.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from algorithms.compat.views import BoosterView
from algorithms.prediction.shap_values import Explainer
from algorithms.reference.trees_of import TAKE, trees_of
from algorithms.runtime.threads import count_threads, threads_of
from harness import TreeEnsemble


@dataclass(frozen=True)
class TreeModel:
    """Trees of a fitted model, its feature names, and the reader of its rows."""

    ensemble: TreeEnsemble
    names: list[str] | None  # of the columns of X
    read_rows: Callable = field(default=lambda X: X)  # X → rows for the ensemble
    mixing: np.ndarray | None = None  # float64 (n_features, columns of the trees), or None
    estimator: object = None  # our estimator, or None

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.ensemble.n_features if self.mixing is None else len(self.mixing)

    def feature_names(self):
        """Return the names of the columns, or Column_0, Column_1 and so on."""
        return self.names or [f"Column_{number}" for number in range(self.n_features)]

    def threads(self, n_jobs):
        """Return the number of threads; None uses the estimator's ``n_jobs``."""
        if n_jobs is None and hasattr(self.estimator, "n_jobs"):
            return threads_of(self.estimator)
        return count_threads(n_jobs)

    def explainer(self):
        """Return the `Explainer` of the trees."""
        if hasattr(self.estimator, "_explained_trees"):  # SHAP values as in CatBoost
            ensemble, stands_for, _ = self.estimator._explained_trees()  # noqa: SLF001 - our estimator
            return Explainer(ensemble, stands_for)
        return Explainer(self.ensemble)

    def mix(self, values):
        """Return SHAP values by column of X: the last axis without the base."""
        values = values[..., :-1]
        return values if self.mixing is None else values @ self.mixing.T

    def mix_pairs(self, values):
        """Return interaction values by columns of X: the last two axes without the base."""
        values = values[..., :-1, :-1]
        return values if self.mixing is None else self.mixing @ values @ self.mixing.T


def read_model_trees(model):
    """Return the `TreeModel` of a fitted model.

    Parameters
    ----------
    model : fitted estimator or Booster of ours, `harness.TreeEnsemble`, or a model that `trees_of`
        takes

    Raises
    ------
    TypeError
        If it is not a model of trees.
    """
    if isinstance(model, TreeEnsemble):
        return TreeModel(model, None)
    if isinstance(model, BoosterView):
        return read_booster(model)
    if type(model).__module__.partition(".")[0] in TAKE:
        return TreeModel(trees_of(model), library_names(model))
    return read_estimator(model)


def read_booster(booster):
    """Return the `TreeModel` of a view or Booster of ours."""
    found = read_estimator(booster.estimator)
    read_rows = found.read_rows
    if hasattr(booster, "_named_as_in_training"):

        def read_rows(X):
            named = booster._named_as_in_training(X, validate=False)  # noqa: SLF001 - its own part
            return found.read_rows(named)

    names = booster_names(booster) or found.names
    return replace(found, names=names, read_rows=read_rows)


def read_estimator(model):
    """Return the `TreeModel` of a fitted estimator of ours."""
    try:
        ensemble = model.ensemble_
    except AttributeError as error:
        raise TypeError(
            f"{type(model).__name__} has no trees to inspect: a fitted model of trees is needed"
        ) from error
    names = getattr(model, "feature_names_in_", None)
    names = getattr(model, "feature_name_", None) if names is None else names
    names = None if names is None else [str(one) for one in names]
    return TreeModel(ensemble, names, row_reader(model), mixing_of(model), model)


def row_reader(model):
    """Return a function that reads X as the trees of an estimator read it."""
    from algorithms.sklearn_hgb.base import BaseHistGradientBoosting
    from algorithms.sklearn_hgb.features import encode
    from algorithms.trees.base_tree import BaseDecisionTree

    if isinstance(model, BaseDecisionTree):
        return lambda X: model._read_rows(X, check_input=True)  # noqa: SLF001 - its own part
    if isinstance(model, BaseHistGradientBoosting):
        return lambda X: encode(model, X)
    if hasattr(model, "_read_for_prediction"):
        return lambda X: model._read_rows(model._read_for_prediction(X, False, {}))  # noqa: SLF001
    for name in ("_extended", "_read_rows"):
        if hasattr(model, name):
            return getattr(model, name)
    return lambda X: X


def mixing_of(model):
    """Return how the columns of the trees are divided among those of X; None if they are the same.

    Returns
    -------
    float64 (n_features, columns of the trees), whose columns sum to 1, or None
    """
    derived = getattr(model, "_derived", None)
    if derived is not None:
        return derived.share_back(np.eye(derived.n_columns)).T
    if hasattr(model, "column_shares"):
        return model.column_shares()
    return None


def booster_names(booster):
    """Return the feature names of a view or Booster of ours, or None."""
    if hasattr(booster, "feature_name"):
        return list(booster.feature_name())
    return booster.feature_names


def library_names(model):
    """Return the feature names of a library's model, or None."""
    names = getattr(model, "feature_names_in_", None)  # scikit-learn, LightGBM, XGBoost
    for name in ("feature_name", "feature_names", "feature_names_"):
        if names is None:
            names = getattr(model, name, None)
            names = names() if callable(names) else names
    return None if names is None else [str(one) for one in names]
