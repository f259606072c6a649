"""Take the trees out of a fitted model of scikit-learn, XGBoost, LightGBM or CatBoost."""

from __future__ import annotations

import dataclasses

import numpy as np
from sklearn.utils.validation import check_is_fitted

from harness import HarnessError


def trees_of(model, *, missing=None):
    """Return the trees of a library's fitted model.

    Parameters
    ----------
    model
        A tree, forest or booster of scikit-learn; an estimator or a Booster of XGBoost or LightGBM;
        a model of CatBoost with symmetric trees. Of one that stopped early, the rounds that it
        predicts by.
    missing : float, optional
        Value that stands for a missing one, besides NaN. An estimator of XGBoost says it itself;
        for a Booster give the ``missing`` of the ``DMatrix`` that it was trained on.

    Returns
    -------
    harness.TreeEnsemble
        What `serve` and `write_model` take. Probabilities have a column for each of the model's
        ``classes_``, in their order; categories are asked for by their codes.

    Raises
    ------
    HarnessError
        Where the model is of none of these, or of a kind that has no such form.
    sklearn.exceptions.NotFittedError
        Where it is not fitted; CatBoost's own error for its models.

    Examples
    --------
    >>> serve(trees_of(forest), n_jobs=-1).predict(X)  # doctest: +SKIP
    """
    library = type(model).__module__.split(".")[0]
    if library not in TAKE:
        raise HarnessError(
            f"trees_of takes a fitted model of {', '.join(TAKE)}, not {type(model).__name__}"
        )
    ensemble = TAKE[library](model)
    if missing is None:
        return ensemble
    return dataclasses.replace(ensemble, missing_value=float(missing))


def of_sklearn(model):
    """Return the trees of an estimator of scikit-learn."""
    from algorithms.reference._export_sklearn import export

    check_is_fitted(model)
    return export(model)


def of_xgboost(model):
    """Return the trees of an estimator or Booster of XGBoost."""
    from algorithms.reference._export_xgboost import export

    if not hasattr(model, "get_booster"):
        return export(model)
    booster = model.get_booster()
    has_stopped = model.early_stopping_rounds is not None
    ensemble = export(booster[: model.best_iteration + 1] if has_stopped else booster)
    missing = np.nan if model.missing is None else float(model.missing)
    return dataclasses.replace(ensemble, missing_value=missing)


def of_lightgbm(model):
    """Return the trees of an estimator or Booster of LightGBM."""
    import lightgbm

    from algorithms.reference._export_lightgbm import export

    booster = model if isinstance(model, lightgbm.Booster) else model.booster_
    return export(lightgbm.Booster(model_str=booster.model_to_string()))  # its best rounds


def of_catboost(model):
    """Return the trees of a model of CatBoost."""
    from algorithms.reference._export_catboost import export

    return export(model)


TAKE = {
    "sklearn": of_sklearn,
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "catboost": of_catboost,
}
