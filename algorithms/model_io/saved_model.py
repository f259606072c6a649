"""Mixin with `save_model` and `load_model` for estimators whose model is `ensemble_`."""

import json
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from algorithms.estimator.deferred_imports import pd
from algorithms.estimator.fit_context import undo_on_failure
from algorithms.model_io import catboost_writer, json_format, lightgbm_writer, xgboost_writer
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.lightgbm_reader import default_name
from algorithms.model_io.model_files import (
    ATTRIBUTE,
    MALFORMED,
    check_columns,
    format_of,
    missing_of_file,
    read_file,
    write_text,
)

MAX_IN_DTYPE = 3  # characters of a dtype: a file cannot request a huge text dtype
FACTS = {  # allowed types of the stored training facts
    "n_iter_": (int,),
    "best_iteration_": (int,),
    "best_iteration": (int, type(None)),
    "best_score_": (dict,),
    "best_score": (int, float, type(None)),
    "evals_result_": (dict,),
    "_history": (dict,),
    "_stopped": (bool,),
    "_n_parallel": (int,),
    "_n_targets": (int,),
}


class SavedModel:
    """Mixin with `save_model` and `load_model` for estimators with `ensemble_`.

    A subclass lists the training facts to store in ``_saved_facts``, and sets its fitted attributes
    from a model in ``_take_model(ensemble)``.
    """

    _json_format: ClassVar[str] = "harness"  # format for the suffix ".json" when saving
    _objective_names: ClassVar[frozenset] = frozenset()  # allowed values of ``objective``
    _saved_facts: ClassVar[tuple] = ()  # names of JSON-compatible attributes
    _reads_derived = False  # whether it predicts with columns derived from categorical ones

    def save_model(self, path, *, format=None):  # noqa: A002 - the name that users look for
        """Write the fitted model to a file.

        Parameters
        ----------
        path : str or path
        format : {"harness", "xgboost", "lightgbm", "catboost"}, optional
            By default from the suffix: ".txt" is LightGBM's text, ".ubj" XGBoost's UBJSON, ".json"
            the JSON format of the class (docs/model-file.md). LightGBM's text stores neither labels
            nor parameters.

        Raises
        ------
        ModelFileError
            A ValueError, if the format cannot store the model.
        """
        check_is_fitted(self, "ensemble_")
        kind = format_of(path, format, self._json_format)
        names = [str(n) for n in getattr(self, "feature_names_in_", [])] or None
        objective = self._saved_objective()
        if kind == "harness":
            text = json_format.write(self.ensemble_, estimator=self._describe(names))
        elif kind == "xgboost":
            ensemble, stopping = self._whole_model()
            about = self._describe(None)  # the learner has the column names
            attributes = {**stopping, ATTRIBUTE: json.dumps(about)}
            text = xgboost_writer.write(
                ensemble,
                objective=objective,
                names=names,
                attributes=attributes,
                categories=placed_categories(self),
                n_parallel=getattr(self, "_n_parallel", 1),
            )
        elif kind == "catboost":
            text = catboost_writer.write(
                self.ensemble_,
                objective=objective,
                names=names,
                labels=getattr(self, "classes_", None),
                **self._catboost_parts(names),
            )
        else:
            text = lightgbm_writer.write(
                self.ensemble_,
                objective=objective,
                names=names,
                params=self._plain_params()[0],
                categories=listed_categories(self),
            )
        write_text(path, text)

    def _catboost_parts(self, names):
        """Return further arguments of `catboost_writer.write`, dict."""
        return {"attributes": {ATTRIBUTE: json.dumps(self._describe(names))}}

    def _saved_objective(self):
        """Return the name of the objective for a library's file, or None for the usual one."""
        return self.objective if isinstance(self.objective, str) else None

    def _whole_model(self):
        """Return the trees for XGBoost's format, and its attributes about early stopping."""
        return self.ensemble_, {}

    @undo_on_failure
    def load_model(self, path, *, format=None):  # noqa: A002 - the name that users look for
        """Load a model from a file; the estimator is then fitted.

        Files of our estimators also set parameters and class labels. In files of the libraries
        classes are numbered, and only the objective parameter is set.

        Parameters
        ----------
        path : str or path
        format : {"harness", "xgboost", "lightgbm", "catboost"}, optional
            By default detected from the contents.

        Returns
        -------
        The estimator.

        Raises
        ------
        ModelFileError
            A ValueError with the reason, if the file is invalid or belongs to another task.
        """
        file = read_file(path, format)
        if not self._reads_derived:
            check_columns(file, path)
        self._check_task(path, file.ensemble)
        try:
            self._take_file(file)
        except MALFORMED as error:
            reason = f"its data about the estimator is malformed ({error})"
            raise ModelFileError(f"{path} cannot be read as a model: {reason}") from error
        return self

    def _take_file(self, file):
        """Set the fitted attributes from a `ModelFile`; raise one of MALFORMED if it is invalid."""
        about, ensemble = file.estimator, file.ensemble
        params = self._checked_params(about.get("params", {}))
        facts = checked_facts(about.get("facts", {}), self._saved_facts)
        categories = categories_of(file)
        if hasattr(self, "predict_proba"):
            labels = about.get("labels")
            classes = labels_of(labels) if labels else np.array(ensemble.classes)
        for name in self._saved_facts:
            self.__dict__.pop(name, None)
        objective = file.objective or ""  # with options after a colon in CatBoost's files
        if not self._objective_names.isdisjoint((objective, objective.partition(":")[0])):
            self.objective = file.objective
        self.set_params(**params)
        self.n_features_in_ = ensemble.n_features
        self.__dict__.pop("feature_names_in_", None)
        if file.names:
            self.feature_names_in_ = np.array(file.names, object)
        self.categories_ = categories
        if hasattr(self, "predict_proba"):
            self.classes_, self.n_classes_ = classes, len(classes)
        for name, value in facts.items():
            setattr(self, name, value)
        self._take_model(ensemble)

    def _checked_params(self, given):
        """Return the file's parameters that the estimator has; raise ValueError if invalid."""
        known = self.get_params(deep=False)
        is_extra = getattr(self, "_is_extra", known.__contains__)
        params = {name: value for name, value in given.items() if name in known or is_extra(name)}
        core = type(self)(**params)._resolved()  # noqa: SLF001 - of this class
        core._read_library_values()  # noqa: SLF001 - as above
        core._validate_params()  # noqa: SLF001 - scikit-learn's convention
        return params

    def _read_library_values(self):
        """Convert parameter values from the library's conventions to ours; CatBoost's are ours."""

    def _check_task(self, path, ensemble):
        """Raise ModelFileError if a classifier loads a regression model, or the reverse."""
        for_classes = hasattr(self, "predict_proba")
        if for_classes != bool(ensemble.classes):
            output = "classes" if ensemble.classes else "values"
            raise ModelFileError(f"{path} predicts {output}: {type(self).__name__} cannot load it")

    def _describe(self, names):
        """Return the estimator data that our format stores beside the trees."""
        params, left_out = self._plain_params()
        known = [name for name in self._saved_facts if hasattr(self, name)]
        facts = {name: json_format.encode_nonfinite(getattr(self, name)) for name in known}
        data = {
            "class": type(self).__name__,
            "params": params,
            "left_out": left_out,
            "columns": names,
            "categories": listed_categories(self),
            "facts": facts,
            **missing_of_file(self.ensemble_),
        }
        if getattr(self, "categories_", {}) is None:
            del data["categories"]  # loaded from a library's file that does not name them
        if hasattr(self, "classes_"):
            kind = self.classes_.dtype
            dtype = kind.str if kind.kind in "biuf" else kind.kind  # text without a length
            data["labels"] = {"dtype": dtype, "values": self.classes_.tolist()}
        return data

    def _plain_params(self):
        """Return the JSON-compatible parameters, and the names of the others."""
        given = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        stored = {name: value for name, value in given.items() if is_json(value)}
        return stored, sorted(given.keys() - stored.keys())


def listed_categories(model):
    """Return an estimator's categories as JSON values: column name → list, or only the lists."""
    kept = getattr(model, "categories_", None) or {}
    if isinstance(kept, list):
        return [plain(categories.to_numpy()) for categories in kept]
    keys = (key if isinstance(key, str) else default_name(key) for key in kept)
    listed = {k: plain(c.to_numpy()) for k, c in zip(keys, kept.values(), strict=True)}
    dates = any(
        c.dtype.kind in "mM" for c in kept.values()
    )  # otherwise they would be stored as integers of nanoseconds
    if dates or not is_json(listed):
        raise ModelFileError("a file can only store categories that are text or numbers")
    return listed


def placed_categories(model):
    """Return column index → pd.Index of its categories, for an estimator trained on a frame."""
    kept, names = getattr(model, "categories_", None) or {}, getattr(model, "feature_names_in_", ())
    if isinstance(kept, list):
        return {}
    return {list(names).index(k) if isinstance(k, str) else k: c for k, c in kept.items()}


def categories_of(file):
    """Return the categories of a `ModelFile`: column name, or index without names → pd.Index.

    If the file does not say which columns they belong to: a list of pd.Index, in the order of the
    frame's categorical columns. None if there are categorical splits but no stored categories.
    """
    if isinstance(file.categories, list) and file.categories:
        return [index_of(values) for values in file.categories]
    known, is_stored = keyed_categories(file), "categories" in file.estimator
    return None if not known and not is_stored and len(file.ensemble.set_codes) else known


def keyed_categories(file):
    """Return the categories of a `ModelFile` by column; see `categories_of`."""
    named, n_features = file.categories or {}, file.ensemble.n_features
    keys = [name if file.names else place_of(name, n_features) for name in named]
    return {key: index_of(categories) for key, categories in zip(keys, named.values(), strict=True)}


def place_of(name, n_features):
    """Return the column index of a default name; the name itself if it is not one."""
    digits = name.removeprefix(default_name(""))
    is_place = digits.isascii() and digits.isdigit() and len(digits) <= len(str(n_features))
    is_default = is_place and default_name(int(digits)) == name and int(digits) < n_features
    return int(digits) if is_default else name


def index_of(values):
    """Return categories as a pd.Index; raise ValueError if one is invalid or a duplicate."""
    if any(isinstance(value, list | dict) for value in values):
        raise ValueError("a category is a list or an object, not a value")
    index = pd.Index(values)
    if not index.is_unique:
        raise ValueError("a column has the same category twice")
    return index


def labels_of(stored):
    """Return class labels as an array of their dtype; raise ValueError if they do not fit it.

    Parameters
    ----------
    stored : dict, ``dtype`` and the list ``values``
    """
    values = stored["values"]
    labels = np.array(values, np.dtype(stored["dtype"][:MAX_IN_DTYPE]))
    if labels.ndim != 1 or labels.tolist() != values or len(set(values)) < len(values):
        raise ValueError("class labels are not distinct values of their dtype")
    return labels


def checked_facts(given, known):
    """Return the training facts of a class; raise ValueError if one has a wrong type.

    Parameters
    ----------
    given : dict, name → value as returned by `json_format.encode_nonfinite`
    known : names of the facts of the class
    """
    facts = {name: json_format.decode_nonfinite(given[name]) for name in known if name in given}
    for name, value in facts.items():
        if type(value) not in FACTS[name]:
            raise ValueError(f"{name} has the invalid value {value!r:.80}")
    return facts


def plain(value):
    """Return a numpy value as a Python value."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def is_json(value):
    """Return whether a value can be stored as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
