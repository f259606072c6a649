"""Limits of single features in binning: numbers of bins, and edges that the user forces."""

import json
from numbers import Integral
from pathlib import Path

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import MAX_BINS


def read_bin_limits(params):
    """Return the maximum number of bins of each feature, or one number for all features.

    Raises
    ------
    ValueError
        If ``max_bin_by_feature`` is not a list with a valid number for each feature.
    """
    given = params.max_bin_by_feature
    if isinstance(given, str):
        given = [int(one) for one in given.split(",") if one.strip()]
    if given is None or len(given) == 0:
        return params.max_bin
    n_features = params.n_features_in_
    if len(given) != n_features:
        raise ValueError(f"max_bin_by_feature has {len(given)} numbers for {n_features} features")
    wrong = [one for one in given if not isinstance(one, Integral) or not 2 <= one < MAX_BINS]
    if wrong:
        raise ValueError(f"max_bin_by_feature must be from 2 to {MAX_BINS - 1}, not {wrong[0]!r}")
    return np.array(given, np.int64)


def read_forced_bins(path):
    """Return the edges of a file of forced bins: feature → ascending float64.

    The file is a JSON list of objects with "feature" and "bin_upper_bound". As in LightGBM, a file
    that does not exist is no error: nothing is forced.

    Raises
    ------
    ValueError
        If the file has another form.
    """
    if not path or not Path(path).is_file():
        return {}
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))
        return {
            int(one["feature"]): np.unique(np.asarray(one["bin_upper_bound"], np.float64))
            for one in entries
        }
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a file of forced bins: {error!r}") from error
