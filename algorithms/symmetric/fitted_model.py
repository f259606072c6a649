"""Fitted booster of symmetric trees: scores, staged predictions, leaves, importances, files."""

import json
from contextlib import suppress
from operator import index
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.inputs import as_rows
from algorithms.estimator.deferred_imports import is_frame
from algorithms.model_io.catboost_categories import DERIVED
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.model_files import ATTRIBUTE, format_of
from algorithms.model_io.saved_model import SavedModel
from algorithms.newton.input_table import read_rows
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import contributions
from algorithms.runtime.threads import AllThreads
from algorithms.symmetric import derived_files
from algorithms.symmetric.bit_predictor import BitPredictor
from algorithms.symmetric.ignored_columns import blank_columns
from algorithms.symmetric.loss_change import loss_changes
from algorithms.symmetric.model import join_trees, trees_from, value_changes
from algorithms.symmetric.objectives import KINDS
from algorithms.symmetric.shap_values import explained_trees
from algorithms.symmetric.tree import SymmetricTree
from algorithms.symmetric.uncertainty import predict_normal

COLUMNS = "n_columns"  # key of the number of columns of X, by which a cut file is detected
IGNORED = "ignored_columns"  # key of the positions of the columns that are not read


def format_name(wanted):
    """Return this project's name of a file format; raise ModelFileError for "cbm"."""
    if wanted == "cbm":
        raise ModelFileError(
            "CatBoost's binary format (cbm) is neither read nor written: use format='json'"
        )
    return "catboost" if wanted == "json" else wanted


class SymmetricModel(AllThreads, SavedModel, BaseEstimator):
    """A fitted model: ``_trees``, the initial scores ``_start``, and ``ensemble_``."""

    _objective_names = frozenset(KINDS)
    _saved_facts = ("n_iter_", "best_iteration_", "evals_result_")
    _n_targets = 1  # number of columns of y, as `newton.early_stopping` reads it
    _reads_derived = True
    _ignored = ()  # positions of the columns that are not read
    _usual_importance = "PredictionValuesChange"  # type of `get_feature_importance`
    _labeled_row_names = ("X", "y", "sample_weight")  # of its data
    _derived = None  # `DerivedColumns` of a model with categorical columns
    missing = np.nan  # how `newton.input_table` reads X
    enable_categorical = True

    @property
    def n_jobs(self):
        """Synonym of ``thread_count``, which scikit-learn's users know."""
        return self.__dict__.get("n_jobs", self.thread_count)

    @n_jobs.setter
    def n_jobs(self, value):
        self.__dict__["n_jobs"] = value

    @property
    def objective(self):
        """Synonym of ``loss_function``."""
        return self.__dict__.get("objective", self.loss_function)

    @objective.setter
    def objective(self, value):
        self.__dict__["objective"] = value

    def save_model(self, path, *, format=None):  # noqa: A002 - the name that users look for
        """Write the fitted model to a file.

        Parameters
        ----------
        path : str or path
        format : {"harness", "json"}, optional
            "json" or "catboost" is CatBoost's JSON format, "harness" this project's own, which is
            the default for ".json" (docs/model-file.md).

        Raises
        ------
        ModelFileError
            A ValueError, if the format cannot store the model.
        """
        kind = format_name(format)
        check_is_fitted(self, "ensemble_")
        written = format_of(path, kind, self._json_format)
        if self._derived is not None and written not in ("harness", "catboost"):
            raise ModelFileError(
                "a model with categorical columns has tables of target statistics, which only this "
                "project's format and CatBoost's can store: use format='harness' or 'json'"
            )
        if len(self._start) > 1 and not self.ensemble_.classes and written != "harness":
            raise ModelFileError(
                "a regression with several outputs can only be stored in this project's format: "
                "use format='harness'"
            )
        super().save_model(path, format=kind)

    def _describe(self, names):
        """Return the estimator data that the project's format stores beside the trees."""
        ignored = {IGNORED: list(self._ignored)} if self._ignored else {}
        if self._derived is None:
            return super()._describe(names) | ignored
        if names:
            names = [*names, *(f"derived {i}" for i in range(len(self._derived.features)))]
        about = {**super()._describe(names), COLUMNS: self.n_features_in_, **ignored}
        return {**about, DERIVED: derived_files.describe(self._derived)}

    def _catboost_parts(self, names):
        """Return further arguments of `catboost_writer.write`, dict."""
        if self._derived is None:
            return super()._catboost_parts(names)
        about = {**super()._describe(None), COLUMNS: self.n_features_in_}
        if self._ignored:
            about[IGNORED] = list(self._ignored)
        derived = derived_files.describe(derived_files.to_hashed(self._derived))
        return {"attributes": {ATTRIBUTE: json.dumps(about)}, "derived": derived}

    def _take_file(self, file):
        """Set the fitted attributes from a `ModelFile`."""
        saved = file.estimator.get(DERIVED)
        n_columns = file.ensemble.n_features
        self._derived = None if saved is None else derived_files.read(saved, n_columns)
        n_features = n_columns if self._derived is None else self._derived.n_features
        if file.estimator.get(COLUMNS, n_features) != n_features:
            raise ValueError(f"{DERIVED} is absent, but its trees read such columns")
        super()._take_file(file)
        self.n_features_in_ = n_features
        ignored = file.estimator.get(IGNORED, [])
        if not all(isinstance(one, int) and 0 <= one < n_features for one in ignored):
            raise ValueError(f"{IGNORED} must be positions below {n_features}")
        self._ignored = tuple(ignored)
        if file.names:
            self.feature_names_in_ = self.feature_names_in_[:n_features]

    def load_model(self, path, *, format=None):  # noqa: A002 - as above
        """Load a model from a file; the estimator is then fitted.

        Parameters
        ----------
        path : str or path
        format : str, optional
            As in `save_model`; by default detected from the contents.

        Returns
        -------
        The estimator.

        Raises
        ------
        ModelFileError
            A ValueError with the reason, if the file is invalid or belongs to another task.
        """
        return super().load_model(path, format=format_name(format))

    def _join(self, trees, *, first=True):
        """Return trees as a `harness.TreeEnsemble`, with the initial scores or zeros."""
        start = self._start if first else np.zeros_like(self._start)
        labels = getattr(self, "classes_", None)
        n_columns = self.n_features_in_ if self._derived is None else self._derived.n_columns
        return join_trees(trees, start, self._objective.link, labels, n_columns)

    def _take_ensemble(self, read=None):
        """Set the ensemble used for prediction, and its predictors.

        Parameters
        ----------
        read : harness.TreeEnsemble, optional
            The ensemble of a model file. By default the trees are joined.
        """
        self._read_ensemble = read
        self.ensemble_ = self._join(self._trees) if read is None else read
        self._walker = FastPredictor(self.ensemble_)
        self._bits = None
        if all(isinstance(tree, SymmetricTree) for tree in self._trees):
            with suppress(ValueError):
                self._bits = BitPredictor(self._trees, len(self._start))

    def __copy__(self):
        """Return a shallow copy with the same attributes, also those that are not pickled."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self):
        """Return the attributes to pickle, without those that `_take_ensemble` rebuilds."""
        left_out = {"ensemble_", "_walker", "_bits"} if hasattr(self, "_trees") else ()
        state = super().__getstate__().items()
        return {name: value for name, value in state if name not in left_out}

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "_trees"):
            # Earlier versions pickled the ensemble of every model.
            self._take_ensemble(state.get("ensemble_", state.get("_read_ensemble")))

    def _take_model(self, ensemble):
        """Set the fitted attributes from a model read from a file."""
        self._trees, self._ignored = trees_from(ensemble), ()
        self._start = ensemble.base
        name = self.objective if isinstance(self.objective, str) else ""
        name = name.partition(":")[0] if ensemble.n_outputs > 1 else ""
        self._objective = SimpleNamespace(
            name=name, link=ensemble.link, n_scores=ensemble.n_outputs
        )
        self._take_ensemble(ensemble)
        self.__dict__.setdefault("n_iter_", len(self._trees))
        self.__dict__.setdefault("evals_result_", {})

    def _read_rows(self, X):
        """Return validated X, float32 array or CSR matrix, with the derived columns appended."""
        X = blank_columns(as_rows(X), self._ignored) if self._ignored else X
        if self._derived is None:
            return read_rows(self, X, reset=False)
        numeric, codes = self._derived.categories.read(X if is_frame(X) else as_rows(X))
        return self._derived.append(read_rows(self, numeric, reset=False), codes)

    def _raw(self, X, ntree_start=0, ntree_end=0):
        """Return raw scores, float64 (n_rows, n_scores)."""
        if not hasattr(self, "ensemble_"):  # check_is_fitted takes as long as twenty trees
            check_is_fitted(self, "ensemble_")
        trees = self._slice(ntree_start, ntree_end)
        if self._ignored:
            X = self._read_rows(X)
            return self._walker.raw(X, self._threads(X.shape[0]), trees)
        n_rows = 0 if sparse.issparse(X) or not hasattr(X, "shape") else X.shape[0]
        if n_rows > 1 and (bits := self._bits) is not None and bits.is_faster(n_rows, trees):
            X = self._read_rows(X)
            if not sparse.issparse(X):  # a frame may have sparse columns
                out = np.zeros((n_rows, len(self._start)))
                bits.add(X, out, self._threads(n_rows), trees)
                return out + self._start
        if self._derived is None and (
            (found := self._walker.raw_at_once(self, X, trees)) is not None
        ):
            return found
        X = self._read_rows(X)
        return self._walker.raw(X, self._threads(X.shape[0]), trees)

    def _slice(self, first, last):
        """Return the slice of trees first … last − 1; 0 as the last means all.

        Raises
        ------
        ValueError
            If these are not two integers, or the trees do not exist.
        """
        try:
            first, last = index(first), index(last)
        except TypeError:
            first = -1
        count = self.ensemble_.n_trees
        if not (0 <= first <= (last or count) <= count):
            raise ValueError(
                f"ntree_start and ntree_end must be whole numbers with 0 <= ntree_start <= "
                f"ntree_end <= {count}, the number of trees; ntree_end=0 means all"
            )
        return slice(first, last or count)

    def _predict_scores(self, raw):
        """Return predictions from raw scores: values or class probabilities; float64."""
        if getattr(self._objective, "name", None) == "RMSEWithUncertainty":
            return predict_normal(raw)
        return self.ensemble_.from_raw(raw)

    def _staged_raw(self, X):
        """Yield raw scores after each tree."""
        check_is_fitted(self, "ensemble_")
        X = self._read_rows(X)
        threads = self._threads(X.shape[0])
        out = np.zeros((X.shape[0], len(self._start)))
        for done in range(self.ensemble_.n_trees):
            self._walker.add(X, out, threads, slice(done, done + 1))
            yield out + self._start

    def apply(self, X):
        """Return the leaf of each row in each tree, int32 (n_rows, n_trees)."""
        check_is_fitted(self, "ensemble_")
        X = self._read_rows(X)
        return self.ensemble_.leaves(X) - self.ensemble_.offsets[:-1].astype(np.int32)

    @property
    def tree_count_(self):
        """Number of trees used for prediction."""
        check_is_fitted(self, "ensemble_")
        return self.ensemble_.n_trees

    @property
    def feature_importances_(self):
        """Importances of the columns by CatBoost's PredictionValuesChange.

        float64 (n_features,) that sum to 100.
        """
        check_is_fitted(self, "ensemble_")
        if self._derived is None:
            return value_changes(self._trees, self.n_features_in_)
        changes = value_changes(self._trees, self._derived.n_columns)
        return self._derived.share_back(changes)

    def get_feature_importance(self, data=None, type="FeatureImportance"):  # noqa: A002 - CatBoost's name
        """Return importances of the columns, float64 (n_features,).

        Parameters
        ----------
        data : Pool, or tuple (X, y) or (X, y, sample_weight), optional
            Labeled rows, for "LossFunctionChange"; of a ranker (X, y, group_id) or
            (X, y, group_id, sample_weight).
        type : {"FeatureImportance", "PredictionValuesChange", "LossFunctionChange"}
            "PredictionValuesChange" is `feature_importances_`. "LossFunctionChange" is the change
            of the loss without a column, see `symmetric/loss_change.py`. "FeatureImportance" is
            the latter for rankers and the former for other models.

        Raises
        ------
        ValueError
            If the type is unknown, or there is no data for "LossFunctionChange".
        """
        if type == "FeatureImportance":
            type = self._usual_importance  # noqa: A001 - as above
        if type == "LossFunctionChange":
            check_is_fitted(self, "ensemble_")
            return loss_changes(self, data)
        if type != "PredictionValuesChange":
            raise ValueError(f"importances of type {type!r} are not supported")
        return self.feature_importances_

    def predict_contributions(self, X):
        """Return the SHAP values of the raw scores, float64 (n_rows, n_features + 1).

        They are CatBoost's, see `symmetric/shap_values.py`. The last column is the base. With
        several scores per row the shape is (n_rows, n_scores, n_features + 1).
        """
        check_is_fitted(self, "ensemble_")
        values, players = self._player_values(self._read_rows(X))
        found = np.zeros((*values.shape[:2], self.n_features_in_ + 1))
        found[..., -1] = values[..., -1]
        for number, columns in players.items():
            for column in columns:
                found[..., column] += values[..., number] / len(columns)
        return found[:, 0] if found.shape[1] == 1 else found

    def _player_values(self, X):
        """Return the SHAP values and the players of read rows.

        Returns
        -------
        values : float64 (n_rows, n_scores, n_columns + 1); the last column is the base, and those
            of columns for which another one stands are 0
        players : dict, as `explained_trees` returns it
        """
        ensemble, stands_for, players = self._explained_trees()
        return contributions(ensemble, X, self._threads(X.shape[0]), stands_for), players

    def _explained_trees(self):
        """Return what `shap_values.explained_trees` returns for the fitted trees."""
        n_columns = self.ensemble_.n_features
        return explained_trees(self._trees, self._start, self._derived, n_columns)

    def get_cat_feature_indices(self):
        """Return the positions of the categorical columns, list of int."""
        check_is_fitted(self, "ensemble_")
        return [] if self._derived is None else list(self._derived.categories.columns)

    def get_evals_result(self):
        """Return the metrics of the evaluation sets: dict, set → metric → list."""
        check_is_fitted(self, "ensemble_")
        return self.evals_result_

    def get_best_iteration(self):
        """Return the best iteration on the last evaluation set, or None."""
        check_is_fitted(self, "ensemble_")
        return getattr(self, "best_iteration_", None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class ValuePredictions:
    """Mixin with the predictions of a model of one value per row."""

    def predict(self, X, ntree_start=0, ntree_end=0):
        """Return predicted values, float64 (n_rows,), or (n_rows, n_outputs) if several.

        Parameters
        ----------
        X : as in ``fit``
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        """
        return self._predict_scores(self._raw(X, ntree_start, ntree_end))

    def staged_predict(self, X):
        """Yield `predict` after each tree: float64 (n_rows,), or (n_rows, n_outputs) if several."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)
