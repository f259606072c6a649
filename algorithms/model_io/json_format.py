"""The project's own JSON format of a model; see docs/model-file.md."""

import json
from dataclasses import fields

import numpy as np

from algorithms.model_io.errors import ModelFileError
from harness import LinearLeaves, TreeEnsemble

FORMAT, VERSION = "tree-harness model", 3
VALUE_VERSION = 2  # has no `linear`; written if leaves are constant
FIRST_VERSION = 1  # also has no `missing_value`; written if that is NaN
NONFINITE = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def write(ensemble, *, estimator=None):
    """Return the JSON text of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    estimator : dict, optional
        Data stored beside the trees; JSON values.
    """
    names = [f.name for f in fields(ensemble) if f.name != "linear"]
    trees = {name: to_json(getattr(ensemble, name)) for name in names}
    has_value = not np.isnan(trees.pop("missing_value"))
    if has_value:
        trees["missing_value"] = encode_nonfinite(float(ensemble.missing_value))
    version = VALUE_VERSION if has_value else FIRST_VERSION
    if ensemble.linear is not None:
        linear = ensemble.linear
        trees["linear"] = {f.name: to_json(getattr(linear, f.name)) for f in fields(linear)}
        version = VERSION
    document = {
        "format": FORMAT,
        "version": version,
        "trees": trees,
        "estimator": estimator or {},
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def read(document):
    """Return the `harness.TreeEnsemble` of a model's JSON, and the data stored beside it.

    Raises
    ------
    ModelFileError
        If it has another format, or a newer version.
    """
    if document.get("format") != FORMAT:
        raise ModelFileError("it is neither XGBoost's JSON, nor CatBoost's, nor this project's")
    if type(document["version"]) is not int or document["version"] < 1:
        raise ModelFileError("its version is not a positive integer")
    if document["version"] > VERSION:
        raise ModelFileError(
            f"it has version {document['version']}; this program reads versions up to "
            f"{VERSION}: upgrade the program"
        )
    trees = dict(document["trees"])
    linear = trees.pop("linear", None)
    given = {name: from_json(value) for name, value in trees.items()}
    if linear is not None:
        arrays = {name: from_json(value) for name, value in linear.items()}
        given["linear"] = LinearLeaves(**arrays)
    given["missing_value"] = decode_nonfinite(given.get("missing_value", np.nan))
    return TreeEnsemble(**given), document["estimator"]


def encode_nonfinite(value):
    """Return nested dicts and lists with non-finite numbers replaced by text."""
    if isinstance(value, dict):
        return {name: encode_nonfinite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [encode_nonfinite(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def decode_nonfinite(value):
    """Return the inverse of `encode_nonfinite`."""
    if isinstance(value, dict):
        return {name: decode_nonfinite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [decode_nonfinite(one) for one in value]
    return NONFINITE.get(value, value) if isinstance(value, str) else value


def to_json(value):
    """Return a field of an ensemble as a JSON value."""
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, tuple) else value
    if value.dtype.kind != "f" or np.isfinite(value).all():
        return value.tolist()
    result = value.astype(object)
    for name, number in NONFINITE.items():
        result[np.isnan(value) if name == "NaN" else value == number] = name
    return result.tolist()


def from_json(value):
    """Return a field of an ensemble from its JSON value."""
    if not isinstance(value, list):
        return value
    items = np.array(value, object)  # a text array would use the longest item's size for each
    flat = items.ravel().tolist()
    if not any(isinstance(one, str) for one in flat):
        return np.array(value)
    if not all(isinstance(one, int | float) or one in NONFINITE for one in flat):
        raise ModelFileError("a list of numbers contains text")
    return np.array([NONFINITE.get(one, one) for one in flat], np.float64).reshape(items.shape)
