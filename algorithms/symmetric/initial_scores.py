"""Scores from which training starts: those of an earlier model, or a baseline given for each row.

The trees of an earlier model become the first trees of the new one. With categorical columns they
keep their tables of target statistics; the new trees use those of the new rows. A baseline does not
enter the new model: add it to the raw scores of prediction.
"""

import os
from dataclasses import replace

import numpy as np

from algorithms.model_io.catboost_categories import DERIVED
from algorithms.model_io.init_model import load_init_model
from algorithms.model_io.model_files import read_file
from algorithms.newton.base_margin import read_margin
from algorithms.prediction.predictor import FastPredictor
from algorithms.symmetric.derived_merge import merge_derived
from algorithms.symmetric.feature_penalties import columns_of_source
from algorithms.symmetric.fitted_model import SymmetricModel
from algorithms.symmetric.model import trees_from


def load_categorical(model, kind):
    """Return the estimator of a model file with categorical columns; other models are unchanged.

    Parameters
    ----------
    model : fitted estimator, TreeEnsemble, path of a model file, or None
    kind : class of the estimator
    """
    if isinstance(model, str | os.PathLike) and DERIVED in read_file(model).estimator:
        return SymmetricModel.load_model(kind(), model)
    return model


class InitialScores:
    """Initial scores of a fit.

    Parameters
    ----------
    model : fitted estimator, TreeEnsemble, path of a model file, or None
    baseline : array-like (n_rows,) or (n_rows, n_scores), or None
    eval_baseline : such an array, or a list with one for each evaluation set, or None
    kind : class of the estimator, which reads a model file with categorical columns

    Raises
    ------
    ValueError, TypeError
        If the arguments contradict each other, or ``model`` cannot be continued.
    """

    def __init__(self, model=None, baseline=None, eval_baseline=None, kind=None):
        if model is not None and baseline is not None:
            raise ValueError("give init_model or baseline, not both")
        if eval_baseline is not None and baseline is None:
            raise ValueError("eval_baseline needs the baseline of the training rows")
        model = load_categorical(model, kind)
        self.model = model if getattr(model, "_derived", None) is not None else None
        self.earlier = None if model is None else load_init_model(model)
        self.trees = [] if model is None else trees_from(self.earlier.trees)
        self.baseline, self.eval_baseline = baseline, eval_baseline
        self.kept = self.scores = self.eval_scores = None

    @property
    def is_given(self):
        """Whether there is a model or a baseline."""
        return self.earlier is not None or self.baseline is not None

    @property
    def labels(self):
        """Class labels of the earlier model, or None."""
        return None if self.earlier is None else self.earlier.labels

    def check(self, estimator, tables, categorical):
        """Raise ValueError if training cannot start from these scores.

        Parameters
        ----------
        estimator : has ``_objective`` and validated columns
        tables : list of evaluation sets
        categorical : sequence of int, the categorical columns of X
        """
        if not self.is_given:
            return
        if estimator.parity is not None:
            raise ValueError("init_model and baseline are not supported with parity='catboost'")
        if estimator.boost_from_average:
            raise ValueError("boost_from_average=True contradicts init_model and baseline")
        if self.earlier is not None:
            self._check_model(estimator, categorical)
        elif len(tables) != len(self._of_tables(len(tables))):
            raise ValueError("with baseline give eval_baseline, one array for each evaluation set")

    def _check_model(self, estimator, categorical):
        """Raise ValueError if the earlier model has other columns or another objective."""
        trees, objective = self.earlier.trees, estimator._objective  # noqa: SLF001 - same package
        derived = None if self.model is None else self.model._derived  # noqa: SLF001 - as above
        n_features = trees.n_features if derived is None else derived.n_features
        if n_features != estimator.n_features_in_:
            raise ValueError(
                f"init_model has {n_features} features, X has {estimator.n_features_in_}"
            )
        of_model = () if derived is None else derived.categories.columns
        if other := sorted(set(of_model) ^ set(categorical)):
            where = ("init_model", "X") if other[0] in of_model else ("X", "init_model")
            raise ValueError(
                f"column {other[0]} is categorical in {where[0]}, but not in {where[1]}: both need "
                "the same categorical columns"
            )
        if trees.link != objective.link or trees.n_outputs != objective.n_scores:
            raise ValueError("init_model was trained for another objective or number of classes")
        self.earlier.check_columns(estimator)

    def check_ignored(self, ignored):
        """Raise ValueError if a tree of the earlier model reads an ignored column.

        Parameters
        ----------
        ignored : tuple of int
        """
        if self.earlier is None:
            return
        trees = self.earlier.trees
        derived = None if self.model is None else self.model._derived  # noqa: SLF001 - same package
        used = set(trees.feature[trees.left >= 0].tolist())
        if derived is not None:
            for number, feature in enumerate(derived.features, derived.n_features):
                if number in used:
                    used.update(columns_of_source(feature))
        if read := sorted(used.intersection(ignored)):
            raise ValueError(
                f"init_model reads column {read[0]} of ignored_features: train it without the "
                "column, too, or do not ignore it"
            )

    def predict(self, X, tables):
        """Compute the scores of a model with categorical columns, which reads X as it is given.

        Parameters
        ----------
        X : array-like or frame (n_rows, n_features)
        tables : list of evaluation sets
        """
        if self.model is not None:
            self.scores = self.model._raw(X)  # noqa: SLF001 - same package
            self.eval_scores = [self.model._raw(one) for one, _ in tables]  # noqa: SLF001 - as above

    def read(self, X, n_scores):
        """Set ``scores`` to those of the training rows, float64 (n_scores, n_rows), if any.

        Parameters
        ----------
        X : float32 (n_rows, n_features)
        n_scores : int
        """
        if self.model is not None:
            scores = self.scores if self.kept is None else self.scores[self.kept]
        elif self.earlier is not None:
            scores = FastPredictor(self.earlier.trees).raw(X)
        elif self.baseline is not None:
            n_rows = X.shape[0] if self.kept is None else self.n_rows
            scores = read_margin(self.baseline, n_rows, n_scores, "baseline")
            scores = scores if self.kept is None else scores[self.kept]
        else:
            return
        self.scores = np.ascontiguousarray(scores.T)

    def keep_rows(self, kept, n_rows):
        """Use only some rows of the baseline.

        Parameters
        ----------
        kept : int64 (n_kept,), the rows
        n_rows : int, number of all rows
        """
        self.kept, self.n_rows = kept, n_rows

    def begin(self, stopping, join):
        """Set the scores of the evaluation sets to those of the earlier model, if there is one.

        Parameters
        ----------
        stopping : SymmetricEarlyStopping
        join : function of trees that returns a `harness.TreeEnsemble`
        """
        if self.eval_scores is not None:
            for table, scores in zip(stopping.eval_sets, self.eval_scores, strict=True):
                table.score[:] = scores
        elif self.trees and stopping.eval_sets:
            stopping.begin(join(self.trees, first=False))

    def prepend(self, trees, derived):
        """Return the trees of the earlier model and some new ones, and the columns they read.

        Parameters
        ----------
        trees : list of SymmetricTree or NonSymmetricTree
        derived : DerivedColumns of these trees, or None
        """
        if self.model is None:
            return self.trees + trees, derived
        earlier, n_features = self.model._derived, derived.n_features  # noqa: SLF001 - as above
        merged, numbers = merge_derived(earlier, derived)
        columns = np.concatenate([np.arange(n_features), n_features + numbers])
        moved = [replace(tree, features=columns[tree.features]) for tree in trees]
        return self.trees + moved, merged

    def start(self, n_scores):
        """Return the initial scores that belong to the final model, float64 (n_scores,)."""
        return np.zeros(n_scores) if self.earlier is None else self.earlier.trees.base

    def margins(self, n_tables):
        """Return the baselines of the evaluation sets as a list, or None if there are none."""
        return self._of_tables(n_tables) if self.baseline is not None and n_tables else None

    def _of_tables(self, n_tables):
        """Return the baselines of the evaluation sets, list of arrays."""
        given = self.eval_baseline
        if given is None:
            return []
        is_list = isinstance(given, list | tuple) and np.ndim(given[0]) > 0
        return list(given) if is_list or n_tables != 1 else [given]
