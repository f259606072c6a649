"""Export of a LightGBM booster as a TreeEnsemble, read from its text format."""

from __future__ import annotations

import dataclasses

import lightgbm

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.lightgbm_reader import read
from algorithms.reference._errors import not_exportable


def export(booster, n_classes=None):
    """Return a booster's trees.

    Parameters
    ----------
    booster : lightgbm.Booster
    n_classes : int, optional
        0 for regression; by default given by the objective.

    Raises
    ------
    HarnessError
        If the model cannot be exported: averaged (rf), linear leaves, an unknown objective.
    """
    try:
        ensemble, _, _ = read(booster.model_to_string(num_iteration=-1))
    except ModelFileError as error:
        raise not_exportable(error) from error
    classes = ensemble.classes if n_classes is None else tuple(range(n_classes))
    return dataclasses.replace(ensemble, classes=classes, version=lightgbm.__version__)
