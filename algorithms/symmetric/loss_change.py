"""Importances of columns by the change of the loss: CatBoost's LossFunctionChange.

With the raw scores F and the SHAP values φ_c of the columns, the importance of a column is

    loss(F − φ_c) − loss(F)

on some labeled rows. So it approximates the loss of a model that was trained without the column. It
is negative if the scores are better without it.

The SHAP values are those of the players in `symmetric/shap_values.py`. The importance of a
combination is divided equally among its parts.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from algorithms.compat.inputs import as_rows, as_vector
from algorithms.newton.base_margin import read_margin
from algorithms.symmetric.derived_columns import Indicator

FIELDS = {  # argument of ``fit`` → attribute of a Pool
    "X": "data",
    "y": "label",
    "sample_weight": "weight",
    "group_id": "group_id",
    "pairs": "pairs",
    "pairs_weight": "pairs_weight",
    "baseline": "baseline",
}


class LabeledRows(NamedTuple):
    """Rows with labels, as the arguments of ``fit``."""

    X: object
    y: object
    sample_weight: object = None
    group_id: object = None
    pairs: object = None
    pairs_weight: object = None
    baseline: object = None

    def weights(self):
        """Return the sample weights, float64 (n_rows,), or None if all are 1."""
        if self.sample_weight is None:
            return None
        return _check_sample_weight(
            as_vector(self.sample_weight), self.X, dtype=np.float64, ensure_non_negative=True
        )


def read_labeled_rows(data, names):
    """Return `LabeledRows`.

    Parameters
    ----------
    data : Pool, or tuple with X, y and optionally the further arguments of ``fit``
    names : tuple of str, names of the arguments in a tuple

    Raises
    ------
    ValueError
        If there are no labels, or the lengths differ.
    """
    if hasattr(data, "label"):
        given = {name: getattr(data, own, None) for name, own in FIELDS.items()}
        if given["sample_weight"] is None:
            given["sample_weight"] = getattr(data, "group_weight", None)
    elif isinstance(data, tuple) and 2 <= len(data) <= len(names):
        given = dict(zip(names, data, strict=False))
    else:
        raise ValueError(
            f"LossFunctionChange needs data: a Pool with labels, or a tuple ({', '.join(names)})"
        )
    if given["y"] is None:
        raise ValueError("LossFunctionChange needs labels: give a Pool with a label")
    given |= {"X": as_rows(given["X"]), "y": column_or_1d(as_vector(given["y"]))}
    check_consistent_length(given["X"], given["y"])
    return LabeledRows(**given)


def loss_changes(model, data):
    """Return the change of the loss without each column, float64 (n_features,).

    Parameters
    ----------
    model : fitted estimator
    data : as in `read_labeled_rows`

    Raises
    ------
    ValueError
        If the data has no labels, or not the columns of the model.
    """
    rows = read_labeled_rows(data, model._labeled_row_names)  # noqa: SLF001 - same package
    raw = model._raw(rows.X)  # noqa: SLF001 - same package
    if rows.baseline is not None:
        raw = raw + read_margin(rows.baseline, *raw.shape, "baseline")
    loss = model._make_loss_function(rows, raw)  # noqa: SLF001 - same package
    table = model._read_rows(rows.X)  # noqa: SLF001 - same package
    shap, players = model._player_values(table)  # noqa: SLF001 - same package
    full_loss, changes = loss(raw), np.zeros(model.n_features_in_)
    features = [] if model._derived is None else model._derived.features  # noqa: SLF001 - as above
    for column, columns in players.items():
        values = shap[:, :, column]
        if not values.any():  # no tree uses it
            continue
        parts = columns if column < len(changes) else find_parts(columns, features)
        change = loss(raw - values) - full_loss
        for part in parts:
            changes[part] += change / len(parts)
    return changes


def find_parts(columns, features):
    """Return the parts of the first combination of some categorical columns, as columns of X.

    A column occurs once for each of its splits in the combination. The first combination is the one
    that CatBoost's order of statistics starts with.

    Parameters
    ----------
    columns : tuple of int, the categorical columns
    features : list of derived columns
    """
    own = [
        feature.projection
        for feature in features
        if not isinstance(feature, Indicator) and feature.projection.columns == columns
    ]
    if not own or any(not one.borders and not one.levels for one in own):
        return columns
    first = min(own, key=lambda one: (one.borders, one.levels))
    return (*columns, *(one[0] for one in (*first.borders, *first.levels)))
