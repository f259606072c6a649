"""Trees of a fitted model of scikit-learn, XGBoost, LightGBM, CatBoost or an optional library."""

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
        a CatBoost model with symmetric trees; an estimator of ChimeraBoost or Perpetual; gradient
        boosted trees of YDF. After early stopping, the rounds used for prediction are returned.
    missing : float, optional
        Value that means missing, besides NaN. An XGBoost estimator stores it; for a
        Booster pass the ``missing`` of the ``DMatrix`` that it was trained on.

    Returns
    -------
    harness.TreeEnsemble
        Input of `serve` and `write_model`. Probabilities have one column per entry of the model's
        ``classes_``, in the same order; categories are represented by their codes.

    Raises
    ------
    HarnessError
        If the model is of another type, or of a kind that cannot be exported.
    sklearn.exceptions.NotFittedError
        If the model is not fitted; CatBoost models raise CatBoost's own error.

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
    # Keeps the best rounds only.
    return export(lightgbm.Booster(model_str=booster.model_to_string()))


def of_catboost(model):
    """Return the trees of a model of CatBoost."""
    from algorithms.reference._export_catboost import export

    return export(model)


def of_chimeraboost(model):
    """Return the trees of an estimator of ChimeraBoost."""
    from algorithms.reference._export_chimeraboost import export

    check_is_fitted(model)
    return export(model)


def of_perpetual(model):
    """Return the trees of a booster of Perpetual."""
    from algorithms.reference._export_perpetual import export

    return export(model)


def of_ydf(model):
    """Return the trees of a model of YDF."""
    from algorithms.reference._export_ydf import export

    return export(model)


TAKE = {
    "sklearn": of_sklearn,
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "catboost": of_catboost,
    "chimeraboost": of_chimeraboost,
    "perpetual": of_perpetual,
    "ydf": of_ydf,
}
