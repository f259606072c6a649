"""Read and write models on disk, whichever of the known forms they have."""

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from algorithms.model_io import (
    json_format,
    lightgbm_reader,
    lightgbm_writer,
    xgboost_reader,
    xgboost_writer,
)
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.summed_trees import first_rounds
from harness import HarnessError, TreeEnsemble

FORMATS = ("harness", "xgboost", "lightgbm")
ATTRIBUTE = "tree-harness"  # under which XGBoost's file keeps what our estimators say
KINDS = "biufUO"  # of numpy, that class labels may have
UBJSON = b"{L"  # how XGBoost's files of this form begin: an object, and a long length of a name
MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError)
MALFORMED += (RecursionError, MemoryError)


@dataclass(frozen=True)
class ModelFile:
    """A model as a file tells it."""

    ensemble: TreeEnsemble
    names: list | None = None  # of the columns
    # column name → its categories, list or array; or a list of these, in the order of a frame's
    # columns of categories, whose names the file leaves open
    categories: dict | list = field(default_factory=dict)
    objective: str | None = None  # its name in the library of the format
    estimator: dict = field(default_factory=dict)  # what an estimator of ours said of itself


def read_model(path, *, format=None, missing=None):  # noqa: A002 - the name that users look for
    """Return the `harness.TreeEnsemble` of a model file, without the library that wrote it.

    Of what our estimators wrote it has the rounds that they predict by; of a library's file all
    that are in it, those after the best one too.

    Parameters
    ----------
    path : str or path
    format : {"harness", "xgboost", "lightgbm"}, optional
        By default told by the file's contents: XGBoost's JSON, LightGBM's text, or our own JSON
        (docs/model-file.md).
    missing : float, optional
        Value that stands for a missing one, besides NaN: the ``missing`` of the XGBoost estimator
        or ``DMatrix`` that the model was trained with. XGBoost's own files do not hold it. By
        default what the file says, else NaN alone.

    Raises
    ------
    ModelFileError
        A ValueError that says what is wrong: not whole, of another form, too large, or a model
        whose predictions cannot be told, as its objective is not known.
    OSError
        Where there is no such file.
    """
    found = read_file(path, format)
    ensemble = found.ensemble
    if missing is not None:
        ensemble = replace(ensemble, missing_value=float(missing))
    facts = found.estimator.get("facts", {})
    best = facts.get("best_iteration") if "class" in found.estimator else None
    if not facts.get("_stopped") or not isinstance(best, int) or best < 0:
        return ensemble
    return first_rounds(ensemble, best + 1)


def write_model(ensemble, path, *, format=None, objective=None, names=None):  # noqa: A002 - as above
    """Write a `harness.TreeEnsemble` to a model file.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    path : str or path
    format : {"harness", "xgboost", "lightgbm"}, optional
        By default LightGBM's for ".txt", and our own for ".json".
    objective : str, optional
        Its name in XGBoost or LightGBM; by default the usual one for the ensemble's link.
    names : list of str, optional
        Of the columns.

    Raises
    ------
    ModelFileError
        A ValueError, where the form cannot hold the model.
    TypeError
        Where it is no TreeEnsemble.
    OSError
        Where the path cannot be written.
    """
    if not isinstance(ensemble, TreeEnsemble):
        raise TypeError(
            f"write_model writes a TreeEnsemble, not a {type(ensemble).__name__}: give a fitted "
            "estimator's ensemble_, or call its save_model"
        )
    kind = format_of(path, format)
    if names is not None and len(names) not in (0, ensemble.n_features):
        told = f"names are of {len(names)} columns, the model is of {ensemble.n_features}"
        raise ModelFileError(told)
    if kind == "harness":
        text = json_format.write(ensemble, estimator={"columns": names} if names else {})
    elif kind == "xgboost":
        about = missing_of_file(ensemble)
        attributes = {ATTRIBUTE: json.dumps(about)} if about else {}
        options = {"objective": objective, "names": names, "attributes": attributes}
        text = xgboost_writer.write(ensemble, **options)
    else:
        text = lightgbm_writer.write(ensemble, objective=objective, names=names)
    write_text(path, text)


def missing_of_file(ensemble):
    """Return the value of a missing one as a file keeps it beside the trees: {} where it is NaN."""
    value = float(ensemble.missing_value)
    return {} if np.isnan(value) else {"missing": json_format.spelt(value)}


def write_text(path, text):
    """Write a file whole or not at all; an OSError names it, not the part that is written first."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def format_of(path, wanted, of_json="harness"):
    """Return the format to write: as wanted, else told by the suffix.

    Parameters
    ----------
    of_json : the format of the suffix ".json"
    """
    if wanted is None:
        suffix = Path(path).suffix
        wanted = {".json": of_json, ".txt": "lightgbm"}.get(suffix)
        if wanted is None:
            raise ModelFileError(
                f"{suffix or 'no suffix'!r} names no format: write to .json or .txt, or give "
                f"format={' or '.join(repr(f) for f in FORMATS)}"
            )
    if wanted not in FORMATS:
        raise ModelFileError(f"format is {wanted!r}; {', '.join(FORMATS)} are known")
    return wanted


def read_file(path, wanted=None):
    """Return the `ModelFile` of a file; parameters and errors are those of `read_model`."""
    data = Path(path).read_bytes()
    if data.startswith(UBJSON):
        raise ModelFileError(
            f"{path} cannot be read as a model: it is XGBoost's binary form (UBJSON); have XGBoost "
            "save it under a name that ends with .json"
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is judged as it is
            return read_text(data.decode("utf-8"), wanted)
    except (*MALFORMED, HarnessError) as error:
        told = isinstance(error, HarnessError)
        reason = str(error) if told else f"it is malformed ({type(error).__name__}: {error})"
        raise ModelFileError(f"{path} cannot be read as a model: {reason}") from error


def read_text(text, wanted):
    """Return the `ModelFile` of a text, in the form that is given or that it shows."""
    if wanted is not None and wanted not in FORMATS:
        raise ModelFileError(f"format is {wanted!r}; {', '.join(FORMATS)} are known")
    if wanted == "lightgbm" or (wanted is None and text.startswith(lightgbm_reader.FIRST_LINE)):
        ensemble, names, categories = lightgbm_reader.read(text)
        objective = lightgbm_reader.objective_of(text)
        return ModelFile(ensemble, names, categories, objective)
    document = json.loads(text)
    if wanted == "xgboost" or (wanted is None and "learner" in document):
        ensemble, names = xgboost_reader.read(document)
        told = xgboost_reader.attribute_of(document, ATTRIBUTE)
        about = json.loads(told) if told else {"facts": xgboost_reader.stopping_of(document)}
        found = described(ensemble, about)
        named = xgboost_reader.categories_of(document, ensemble.n_features)
        name_of = names.__getitem__ if names else lightgbm_reader.default_name
        named = {name_of(place): values for place, values in named.items()}
        return replace(
            found,
            names=names,
            categories=settled(named, found.categories),
            objective=xgboost_reader.objective_of(document),
        )
    return described(*json_format.read(document))


def settled(named, kept):
    """Return the categories of what XGBoost names and an estimator of ours has kept.

    The latter knows kinds that XGBoost holds as text; the former, arrays, the type of numbers.
    """
    if isinstance(kept, list):
        return named or kept
    same = {n for n, values in kept.items() if n in named and named[n].tolist() == values}
    return {**kept, **{n: v for n, v in named.items() if n in same or n not in kept}}


def described(ensemble, about):
    """Return a `ModelFile` with what an estimator of ours said of itself, once it is checked.

    The value that stands for a missing one becomes the ensemble's, and the estimator's parameter.
    """
    columns, labels = about.get("columns"), about.get("labels", {})
    categories = about.get("categories", {})
    parts = [about.get(name, {}) for name in ("params", "facts")] + [labels]
    right = all(isinstance(part, dict) for part in parts)
    lists = categories if isinstance(categories, list) else categories.values()
    right &= all(isinstance(values, list) for values in lists)
    right &= columns is None or (isinstance(columns, list) and len(columns) == ensemble.n_features)
    right &= columns is None or all(isinstance(name, str) for name in columns)
    n_classes = len(ensemble.classes)
    right &= not labels or labels["dtype"].lstrip("<>=|")[0] in KINDS
    right &= not labels or not n_classes or len(labels["values"]) == n_classes
    if not right:
        raise ModelFileError("what it says of the estimator does not fit its trees")
    params = about.get("params", {})
    missing = json_format.unspelt(
        about.get("missing", params.get("missing", ensemble.missing_value))
    )
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise ModelFileError(f"the value of a missing one is {missing!r}, no number")
    ensemble = replace(ensemble, missing_value=float(missing))
    if "missing" in (*params, *about.get("left_out", ())):
        about = {**about, "params": {**params, "missing": float(missing)}}
    return ModelFile(ensemble, columns, categories, None, about)
