"""Sums of models, and changes of their task."""

from copy import copy
from dataclasses import replace

from sklearn.base import ClassifierMixin, RegressorMixin

from algorithms.compat.catboost.pool import CatBoostError
from algorithms.compat.catboost.ranker import CatBoostRanker
from algorithms.compat.catboost.training import CatBoost


def sum_models(models, weights=None, ctr_merge_policy="IntersectingCountersAverage"):
    """Return a model whose raw scores are the weighted sum of those of some models.

    Parameters
    ----------
    models : list of fitted models of numeric columns
    weights : list of float, optional
        One a model; by default 1.
    ctr_merge_policy : str
        Has no effect.

    Returns
    -------
    CatBoost

    Raises
    ------
    CatBoostError
        If the models have categorical columns, or different columns or scores.
    """
    del ctr_merge_policy
    parts = [getattr(one, "_model", one) for one in models]
    weights = [1.0] * len(parts) if weights is None else list(weights)
    if not parts or len(weights) != len(parts):
        raise CatBoostError("give at least one model, and a weight for each model")
    if any(one.get_cat_feature_indices() for one in parts):
        raise CatBoostError("sum_models needs models of numeric columns: add their predictions")
    shapes = {(one.n_features_in_, len(one._start)) for one in parts}  # noqa: SLF001 - our models
    if len(shapes) > 1:
        raise CatBoostError("the models have different numbers of columns or of scores")
    total = copy(parts[0])
    pairs = list(zip(parts, weights, strict=True))
    total._trees = [  # noqa: SLF001 - a new model
        replace(tree, values=tree.values * weight)
        for one, weight in pairs
        for tree in one._trees  # noqa: SLF001 - our models
    ]
    total._start = sum(one._start * weight for one, weight in pairs)  # noqa: SLF001 - as above
    total._take_ensemble()  # noqa: SLF001 - as above
    total.n_iter_ = len(total._trees)  # noqa: SLF001 - as above
    total.evals_result_ = {}
    total.__dict__.pop("best_iteration_", None)
    model = CatBoost()
    model._model = total  # noqa: SLF001 - a new model
    return model


def to_classifier(model):
    """Return the classifier in a CatBoost model; raise CatBoostError if it has none."""
    return estimator_of(model, ClassifierMixin, "to_classifier needs a model of classes")


def to_regressor(model):
    """Return the regressor in a CatBoost model; raise CatBoostError if it has none."""
    return estimator_of(model, RegressorMixin, "to_regressor needs a regression")


def to_ranker(model):
    """Return the ranker in a CatBoost model; raise CatBoostError if it has none."""
    return estimator_of(model, CatBoostRanker, "to_ranker needs a ranking")


def estimator_of(model, kind, message):
    """Return the estimator in a model; raise CatBoostError if it is of another kind."""
    found = getattr(model, "_model", model)
    if not isinstance(found, kind):
        raise CatBoostError(f"{message}; it is a {type(found).__name__}")
    return found
