"""Our own JSON form of a model: see docs/model-file.md."""

import json
from dataclasses import fields

import numpy as np

from algorithms.model_io.errors import ModelFileError
from harness import TreeEnsemble

FORMAT, VERSION = "tree-harness model", 2
FIRST_VERSION = 1  # without `missing_value`; written where that is NaN
SPELT = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def write(ensemble, *, estimator=None):
    """Return the JSON text of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    estimator : dict, optional
        What is kept beside the trees; JSON values.
    """
    trees = {f.name: listed(getattr(ensemble, f.name)) for f in fields(ensemble)}
    has_value = not np.isnan(trees.pop("missing_value"))
    if has_value:
        trees["missing_value"] = spelt(float(ensemble.missing_value))
    document = {
        "format": FORMAT,
        "version": VERSION if has_value else FIRST_VERSION,
        "trees": trees,
        "estimator": estimator or {},
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def read(document):
    """Return the `harness.TreeEnsemble` of a model's JSON, and what is kept beside it.

    Raises
    ------
    ModelFileError
        Where it is of another form, or a newer version wrote it.
    """
    if document.get("format") != FORMAT:
        raise ModelFileError("it is neither XGBoost's JSON nor our own")
    if type(document["version"]) is not int or document["version"] < 1:
        raise ModelFileError("its version is no number from 1 on")
    if document["version"] > VERSION:
        raise ModelFileError(
            f"it is of version {document['version']} and this program reads up to {VERSION}: "
            "upgrade it"
        )
    given = {name: unlisted(value) for name, value in document["trees"].items()}
    given["missing_value"] = unspelt(given.get("missing_value", np.nan))
    return TreeEnsemble(**given), document["estimator"]


def spelt(value):
    """Return facts, of dicts, lists and values, with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {name: spelt(one) for name, one in value.items()}
    if isinstance(value, list):
        return [spelt(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def unspelt(value):
    """Return what `spelt` was given."""
    if isinstance(value, dict):
        return {name: unspelt(one) for name, one in value.items()}
    if isinstance(value, list):
        return [unspelt(one) for one in value]
    return SPELT.get(value, value) if isinstance(value, str) else value


def listed(value):
    """Return a field of an ensemble as JSON can hold it."""
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, tuple) else value
    if value.dtype.kind != "f" or np.isfinite(value).all():
        return value.tolist()
    found = value.astype(object)
    for name, number in SPELT.items():
        found[np.isnan(value) if name == "NaN" else value == number] = name
    return found.tolist()


def unlisted(value):
    """Return a field of an ensemble from its JSON form."""
    if not isinstance(value, list):
        return value
    found = np.array(value, object)  # an array of text would have the longest one's room each
    flat = found.ravel().tolist()
    if not any(isinstance(one, str) for one in flat):
        return np.array(value)
    if not all(isinstance(one, int | float) or one in SPELT for one in flat):
        raise ModelFileError("a list of numbers holds text")
    return np.array([SPELT.get(one, one) for one in flat], np.float64).reshape(found.shape)
