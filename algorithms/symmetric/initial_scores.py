"""Scores from which training starts: those of an earlier model, or a baseline given for each row.

The trees of an earlier model become the first trees of the new one. A baseline does not enter the
new model: add it to the raw scores of prediction.
"""

import numpy as np

from algorithms.model_io.init_model import load_init_model
from algorithms.newton.base_margin import read_margin
from algorithms.prediction.predictor import FastPredictor
from algorithms.symmetric.model import trees_from


class InitialScores:
    """Initial scores of a fit.

    Parameters
    ----------
    model : fitted estimator, TreeEnsemble, path of a model file, or None
    baseline : array-like (n_rows,) or (n_rows, n_scores), or None
    eval_baseline : such an array, or a list with one for each evaluation set, or None

    Raises
    ------
    ValueError, TypeError
        If the arguments contradict each other, or ``model`` cannot be continued.
    """

    def __init__(self, model=None, baseline=None, eval_baseline=None):
        if model is not None and baseline is not None:
            raise ValueError("give init_model or baseline, not both")
        if eval_baseline is not None and baseline is None:
            raise ValueError("eval_baseline needs the baseline of the training rows")
        if getattr(model, "_derived", None) is not None:
            raise ValueError("init_model has categorical columns; such models cannot be continued")
        self.earlier = None if model is None else load_init_model(model)
        self.trees = [] if model is None else trees_from(self.earlier.trees)
        self.baseline, self.eval_baseline = baseline, eval_baseline
        self.kept = self.scores = None

    @property
    def is_given(self):
        """Whether there is a model or a baseline."""
        return self.earlier is not None or self.baseline is not None

    @property
    def labels(self):
        """Class labels of the earlier model, or None."""
        return None if self.earlier is None else self.earlier.labels

    def check(self, estimator, tables, *, has_categories):
        """Raise ValueError if training cannot start from these scores.

        Parameters
        ----------
        estimator : has ``_objective`` and validated columns
        tables : list of evaluation sets
        has_categories : bool, whether X has categorical columns
        """
        if not self.is_given:
            return
        if estimator.parity is not None:
            raise ValueError("init_model and baseline are not supported with parity='catboost'")
        if estimator.boost_from_average:
            raise ValueError("boost_from_average=True contradicts init_model and baseline")
        if self.earlier is not None:
            self._check_model(estimator, has_categories=has_categories)
        elif len(tables) != len(self._of_tables(len(tables))):
            raise ValueError("with baseline give eval_baseline, one array for each evaluation set")

    def _check_model(self, estimator, *, has_categories):
        """Raise ValueError if the earlier model has other columns or another objective."""
        trees, objective = self.earlier.trees, estimator._objective  # noqa: SLF001 - same package
        if has_categories:
            raise ValueError("init_model is not supported for X with categorical columns")
        if trees.n_features != estimator.n_features_in_:
            raise ValueError(
                f"init_model has {trees.n_features} features, X has {estimator.n_features_in_}"
            )
        if trees.link != objective.link or trees.n_outputs != objective.n_scores:
            raise ValueError("init_model was trained for another objective or number of classes")
        self.earlier.check_columns(estimator)

    def read(self, X, n_scores):
        """Set ``scores`` to those of the training rows, float64 (n_scores, n_rows), if any.

        Parameters
        ----------
        X : float32 (n_rows, n_features)
        n_scores : int
        """
        if self.earlier is not None:
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
