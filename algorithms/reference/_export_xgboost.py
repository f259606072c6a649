"""Export of an XGBoost booster as a TreeEnsemble, read from its JSON format."""

from __future__ import annotations

import dataclasses
import json

import xgboost

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.xgboost_reader import read
from algorithms.reference._errors import not_exportable


def export(booster, n_classes=None):
    """Return a booster's trees.

    Parameters
    ----------
    booster : xgboost.Booster
    n_classes : int, optional
        0 for regression; by default given by the objective.

    Raises
    ------
    HarnessError
        If the model cannot be exported: a linear booster, an unknown objective.
    """
    try:
        ensemble, _ = read(json.loads(booster.save_raw("json")))
    except ModelFileError as error:
        raise not_exportable(error) from error
    classes = ensemble.classes if n_classes is None else tuple(range(n_classes))
    return dataclasses.replace(ensemble, classes=classes, version=xgboost.__version__)
