"""Read initial models (``init_model``), also in-memory models of LightGBM and XGBoost."""

import tempfile
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

from algorithms.compat.views import BoosterView
from algorithms.model_io.init_model import load_init_model


def read_init_model(model):
    """Return the argument of `load_init_model`: an estimator, ensemble, path or `EarlierModel`.

    Parameters
    ----------
    model : one of these, or a Booster or estimator of LightGBM or XGBoost
    """
    if isinstance(model, BoosterView):
        return with_named_categories(model.estimator, getattr(model, "feature_names", None))
    if hasattr(model, "ensemble_"):
        return model
    booster = getattr(model, "booster_", None)
    if booster is None and hasattr(model, "get_booster"):
        booster = model.get_booster()
    booster = model if booster is None else booster
    labels = getattr(model, "classes_", None)
    if hasattr(booster, "model_to_string"):
        text = booster.model_to_string()
        return through_file(".txt", lambda path: path.write_text(text), labels)
    if hasattr(booster, "save_raw"):
        raw = booster.save_raw("json")
        return through_file(".json", lambda path: path.write_bytes(raw), labels)
    return booster


def with_named_categories(estimator, names):
    """Return an estimator whose categories are keyed by column name, if the columns have names.

    Parameters
    ----------
    estimator : fitted; its categories may be keyed by column index
    names : list of str, or None
    """
    kept = getattr(estimator, "categories_", None)
    if not names or not isinstance(kept, dict) or all(isinstance(key, str) for key in kept):
        return estimator
    named = copy(estimator)
    named.categories_ = {names[key]: own for key, own in kept.items()}
    return named


def through_file(suffix, write, labels):
    """Return the `EarlierModel` of a model file written by ``write(path)``, with class labels."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        write(path)
        found = load_init_model(path)
    return found if labels is None else replace(found, labels=np.asarray(labels))
