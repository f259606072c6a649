"""Functions that read and write model files in all supported formats."""

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from algorithms.model_io import (
    catboost_reader,
    catboost_writer,
    json_format,
    lightgbm_reader,
    lightgbm_writer,
    ubjson,
    xgboost_reader,
    xgboost_writer,
)
from algorithms.model_io.catboost_categories import DERIVED
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.summed_trees import first_rounds
from harness import HarnessError, TreeEnsemble

FORMATS = ("harness", "xgboost", "lightgbm", "catboost")
ATTRIBUTE = "tree-harness"  # attribute of XGBoost's file with our estimators' data
KINDS = "biufUO"  # numpy dtype kinds that class labels may have
CBM = b"CBM1"  # start of CatBoost's binary files
UBJSON = b"{L"  # start of XGBoost's UBJSON files: an object, and a 64-bit key length
MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError)
MALFORMED += (RecursionError, MemoryError)


@dataclass(frozen=True)
class ModelFile:
    """Contents of a model file."""

    ensemble: TreeEnsemble
    names: list | None = None  # column names
    # column name → categories, list or array; or a list of these, in the order of the frame's
    # categorical columns, if the file does not name the columns
    categories: dict | list = field(default_factory=dict)
    objective: str | None = None  # name in the library of the format
    estimator: dict = field(default_factory=dict)  # data stored by one of our estimators


def read_model(path, *, format=None, missing=None):  # noqa: A002 - the name that users look for
    """Return the `harness.TreeEnsemble` of a model file, without the library that wrote it.

    For files of our estimators it has the rounds used for prediction; for files of a library all
    rounds in the file, including those after the best one.

    Parameters
    ----------
    path : str or path
    format : {"harness", "xgboost", "lightgbm", "catboost"}, optional
        By default detected from the contents: XGBoost's JSON or UBJSON, CatBoost's JSON, LightGBM's
        text, or the project's own JSON (docs/model-file.md).
    missing : float, optional
        Value that is read as missing, in addition to NaN: the ``missing`` of the XGBoost estimator
        or ``DMatrix`` used in training. XGBoost's own files do not store it. By default the value
        in the file, or only NaN if there is none.

    Raises
    ------
    ModelFileError
        A ValueError with the reason: the file is incomplete, has another format, is too large, or
        its objective is unknown.
    OSError
        If the file cannot be read.
    """
    file = read_file(path, format)
    check_columns(file, path)
    ensemble = file.ensemble
    if missing is not None:
        ensemble = replace(ensemble, missing_value=float(missing))
    facts = file.estimator.get("facts", {})
    best = facts.get("best_iteration") if "class" in file.estimator else None
    if not facts.get("_stopped") or not isinstance(best, int) or best < 0:
        return ensemble
    return first_rounds(ensemble, (best + 1) * facts.get("_n_parallel", 1))


def check_columns(file, path):
    """Raise ModelFileError if trees read columns that are derived from categorical ones."""
    if file.estimator.get(DERIVED) is not None:
        raise ModelFileError(
            f"{path} has categorical columns with target statistics: load it with load_model of "
            "SymmetricBoostingClassifier, -Regressor or -Ranker"
        )


def write_model(ensemble, path, *, format=None, objective=None, names=None):  # noqa: A002 - as above
    """Write a `harness.TreeEnsemble` to a model file.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    path : str or path
    format : {"harness", "xgboost", "lightgbm", "catboost"}, optional
        By default LightGBM's for ".txt", XGBoost's for ".ubj", and the project's own for ".json".
    objective : str, optional
        Name in the library; by default the usual objective of the ensemble's link.
    names : list of str, optional
        Column names.

    Raises
    ------
    ModelFileError
        A ValueError, if the format cannot store the model.
    TypeError
        If it is not a TreeEnsemble.
    OSError
        If the path cannot be written.
    """
    if not isinstance(ensemble, TreeEnsemble):
        raise TypeError(
            f"write_model writes a TreeEnsemble, not a {type(ensemble).__name__}: give a fitted "
            "estimator's ensemble_, or call its save_model"
        )
    kind = format_of(path, format)
    if names is not None and len(names) not in (0, ensemble.n_features):
        message = f"names has {len(names)} entries, the number of columns is {ensemble.n_features}"
        raise ModelFileError(message)
    if kind == "harness":
        text = json_format.write(ensemble, estimator={"columns": names} if names else {})
    elif kind == "xgboost":
        about = missing_of_file(ensemble)
        attributes = {ATTRIBUTE: json.dumps(about)} if about else {}
        options = {"objective": objective, "names": names, "attributes": attributes}
        text = xgboost_writer.write(ensemble, **options)
    elif kind == "catboost":
        text = catboost_writer.write(ensemble, objective=objective, names=names)
    else:
        text = lightgbm_writer.write(ensemble, objective=objective, names=names)
    write_text(path, text)


def missing_of_file(ensemble):
    """Return the ``missing`` value as stored beside the trees; {} if it is NaN."""
    value = float(ensemble.missing_value)
    return {} if np.isnan(value) else {"missing": json_format.encode_nonfinite(value)}


def write_text(path, text):
    """Write a file atomically; an OSError names the file, not the temporary one.

    The suffix ".ubj" selects UBJSON, the binary form of XGBoost's format.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        is_binary = path.suffix == ".ubj" and text.startswith("{")
        part.write_bytes(ubjson.encode(json.loads(text)) if is_binary else text.encode("utf-8"))
        part.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def format_of(path, wanted, of_json="harness"):
    """Return the format to write: the wanted one, or else the one of the suffix.

    Parameters
    ----------
    of_json : format for the suffix ".json"
    """
    if wanted is None:
        suffix = Path(path).suffix
        wanted = {".json": of_json, ".txt": "lightgbm", ".ubj": "xgboost"}.get(suffix)
        if wanted is None:
            raise ModelFileError(
                f"{suffix or 'no suffix'!r} is not the suffix of a format: write to .json, .ubj or "
                f".txt, or give format={' or '.join(repr(f) for f in FORMATS)}"
            )
    if wanted not in FORMATS:
        raise ModelFileError(f"format is {wanted!r}; {', '.join(FORMATS)} are known")
    return wanted


def read_file(path, wanted=None):
    """Return the `ModelFile` of a file; parameters and errors are those of `read_model`."""
    return read_bytes(Path(path).read_bytes(), wanted, path)


def read_bytes(data, wanted=None, path="the file"):
    """Return the `ModelFile` of the contents of a file; ``path`` is its name in errors."""
    if data.startswith(CBM):
        raise ModelFileError(
            f"{path} cannot be read as a model: it is CatBoost's binary format; let CatBoost save "
            'it with format="json"'
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are checked later
            if data.startswith(UBJSON):
                return read_document(ubjson.decode(data), wanted)
            return read_text(data.decode("utf-8"), wanted)
    except (*MALFORMED, HarnessError) as error:
        explained = isinstance(error, HarnessError)
        reason = str(error) if explained else f"it is malformed ({type(error).__name__}: {error})"
        raise ModelFileError(f"{path} cannot be read as a model: {reason}") from error


def read_text(text, wanted):
    """Return the `ModelFile` of a text, in the given format or the detected one."""
    if wanted is not None and wanted not in FORMATS:
        raise ModelFileError(f"format is {wanted!r}; {', '.join(FORMATS)} are known")
    if wanted == "lightgbm" or (wanted is None and text.startswith(lightgbm_reader.FIRST_LINE)):
        ensemble, names, categories = lightgbm_reader.read(text)
        objective = lightgbm_reader.objective_of(text)
        return ModelFile(ensemble, names, categories, objective)
    return read_document(json.loads(text), wanted)


def read_document(document, wanted):
    """Return the `ModelFile` of a JSON document, in the given format or the detected one."""
    if wanted == "xgboost" or (wanted is None and "learner" in document):
        ensemble, names = xgboost_reader.read(document)
        attribute = xgboost_reader.attribute_of(document, ATTRIBUTE)
        about = (
            json.loads(attribute) if attribute else {"facts": xgboost_reader.stopping_of(document)}
        )
        own_data = with_estimator_data(ensemble, about)
        named = xgboost_reader.categories_of(document, ensemble.n_features)
        name_of = names.__getitem__ if names else lightgbm_reader.default_name
        named = {name_of(place): values for place, values in named.items()}
        return replace(
            own_data,
            names=names,
            categories=merge_categories(named, own_data.categories),
            objective=xgboost_reader.objective_of(document),
        )
    if wanted == "catboost" or (wanted is None and catboost_reader.is_catboost(document)):
        return read_catboost(document)
    return with_estimator_data(*json_format.read(document))


def read_catboost(document):
    """Return the `ModelFile` of CatBoost's JSON."""
    ensemble, names, derived = catboost_reader.read(document)
    attribute, labels = (
        catboost_reader.attribute_of(document, ATTRIBUTE),
        catboost_reader.labels_of(document),
    )
    about = json.loads(attribute) if attribute else {"labels": labels} if labels else {}
    if derived is not None:
        about = {**about, DERIVED: derived}
    own_data = with_estimator_data(ensemble, about)
    loss = catboost_reader.loss_of(document)
    return replace(own_data, names=names or own_data.names, objective=loss)


def merge_categories(named, kept):
    """Return the categories, merged from XGBoost's section and the data of our estimators.

    Our data has the types of categories that XGBoost stores as text; XGBoost's arrays have the
    exact type of numbers.
    """
    if isinstance(kept, list):
        return named or kept
    same = {n for n, values in kept.items() if n in named and named[n].tolist() == values}
    return {**kept, **{n: v for n, v in named.items() if n in same or n not in kept}}


def with_estimator_data(ensemble, about):
    """Return a `ModelFile` with the validated data of one of our estimators.

    The ``missing`` value is set on the ensemble and on the estimator's parameter.
    """
    columns, labels = about.get("columns"), about.get("labels", {})
    categories = about.get("categories", {})
    parts = [about.get(name, {}) for name in ("params", "facts")] + [labels]
    is_valid = all(isinstance(part, dict) for part in parts)
    lists = categories if isinstance(categories, list) else categories.values()
    is_valid &= all(isinstance(values, list) for values in lists)
    is_valid &= columns is None or (
        isinstance(columns, list) and len(columns) == ensemble.n_features
    )
    is_valid &= columns is None or all(isinstance(name, str) for name in columns)
    n_classes = len(ensemble.classes)
    is_valid &= not labels or labels["dtype"].lstrip("<>=|")[0] in KINDS
    is_valid &= not labels or not n_classes or len(labels["values"]) == n_classes
    if not is_valid:
        raise ModelFileError("its data about the estimator does not match its trees")
    params = about.get("params", {})
    missing = json_format.decode_nonfinite(
        about.get("missing", params.get("missing", ensemble.missing_value))
    )
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise ModelFileError(f"the value of missing is {missing!r}, which is not a number")
    ensemble = replace(ensemble, missing_value=float(missing))
    if "missing" in (*params, *about.get("left_out", ())):
        about = {**about, "params": {**params, "missing": float(missing)}}
    return ModelFile(ensemble, columns, categories, None, about)
