"""Base class of the two forests: draws rows, grows trees in parallel, averages them."""

from numbers import Integral
from typing import ClassVar
from warnings import warn

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from algorithms.estimator.bootstrap import count_rows, reseed
from algorithms.estimator.estimator_sequence import EstimatorSequence
from algorithms.estimator.fast_validation import read_float32
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.frames import as_numbers, validate_data
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.estimator.outputs import count_outputs, drop_single_column
from algorithms.estimator.sample_weight import split_unit
from algorithms.estimator.verbose import say
from algorithms.estimator.warm_start import check_warm_start, draw_missing_seeds
from algorithms.forest.bagged_trees import Walker, grow_drawn
from algorithms.runtime.threads import Workers, count_threads
from algorithms.trees.cart import TREE_CONSTRAINTS
from algorithms.trees.ensemble_export import export_trees
from algorithms.trees.presorted_table import as_rows, check_sparse, make_table

TREE_PARAMETERS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
    "parity",
)
FOREST_CONSTRAINTS = {
    **{name: TREE_CONSTRAINTS[name] for name in TREE_PARAMETERS if name != "criterion"},
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "bootstrap": ["boolean"],
    "oob_score": ["boolean", callable],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "max_samples": [
        None,
        Interval(RealNotInt, 0.0, None, closed="neither"),
        Interval(Integral, 1, None, closed="left"),
    ],
}


class BaseForest(EstimatorSequence, BaseEstimator):
    """Base class of the forest classifier and the forest regressor."""

    _parameter_constraints: ClassVar = FOREST_CONSTRAINTS

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features) of numbers, NaN where missing
            Rounded to float32. A sparse matrix is converted to dense and must have no missing
            values.
        y : array-like (n_rows,) or (n_rows, n_outputs)
            Labels of any type, or numbers. Each tree predicts all outputs.
        sample_weight : array-like (n_rows,), optional
            With bootstrap, rows are drawn with probabilities proportional to it; without, it is the
            weight of the rows.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            As in scikit-learn, if parameters, X, y or weights are invalid.
        """
        warn_of_other_version(self.parity, stacklevel=3)
        if issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        numeric = self.__sklearn_tags__().estimator_type == "regressor"
        given = X
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csc",
            dtype="numeric",
            ensure_all_finite=False,
            multi_output=True,
            y_numeric=numeric,
        )
        X = as_numbers(X, given)
        y = drop_single_column(y, warn=True)
        check_sparse(X, type(self).__name__)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.n_outputs_ = count_outputs(y)
        y = self._read_y(y)
        check_warm_start(self)
        self._check_poisson(y)
        self._warn_of_presets()
        self._n_rows = len(y)
        self._weight_unit = 1.0
        if self.parity is None and not self.bootstrap:
            sample_weight, self._weight_unit = split_unit(sample_weight)
        self._sample_weight = self._weigh(y, sample_weight)
        self._draws_rows = self.bootstrap
        self._n_drawn = self._count_drawn()
        self.estimator_ = self._own_tree().set_params(
            **{k: getattr(self, k) for k in TREE_PARAMETERS}
        )
        more = self._make_trees()
        if more:
            self._grow(more, X, y)
        if self.oob_score and (more or not hasattr(self, "oob_score_")):
            self._score_out_of_bag(as_rows(X), y)
        return self

    def _check_poisson(self, y):
        """Raise ValueError if y is invalid for the criterion "poisson"."""
        if self.criterion != "poisson":
            return
        if (y < 0).any():
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression."
            )
        if y.sum() <= 0:
            raise ValueError(
                "Sum of y is not strictly positive which is necessary for Poisson regression."
            )

    def _warn_of_presets(self):
        """Warn if class weights would be computed from the rows of each call."""
        if self.warm_start and isinstance(getattr(self, "class_weight", None), str):
            warn(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start: the rows of each call have different class shares. Pass weights "
                'from compute_class_weight("balanced", ...) on a large sample instead.',
                stacklevel=4,
            )

    def _count_drawn(self):
        """Return the number of rows that each tree draws; 0 without bootstrap."""
        if self.bootstrap:
            return count_rows(self.max_samples, self._n_rows, self._sample_weight, bootstrap=True)
        if self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        return 0

    def _make_trees(self):
        """Return the missing trees, unfitted; drop the old ones unless ``warm_start`` is set."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            self.estimators_ = []
        params = self.estimator_.get_params(deep=False)
        return [
            type(self.estimator_)(**{**params, "random_state": seed})
            for seed in draw_missing_seeds(self).tolist()
        ]

    def _grow(self, trees, X, y):
        """Grow trees in parallel on columns that are sorted once, and add them."""
        name = type(self).__name__
        self._set_class_codes(trees)
        columns = np.arange(X.shape[1])
        with Workers(count_threads(self.n_jobs)) as workers:
            by_counts = self._weighs_by_counts
            given = trees[0], X, X.shape[1], workers, name, self.n_outputs_
            table = make_table(*given, by_counts=by_counts)

            if by_counts:

                def draw(i, random):
                    if self.verbose > 1:
                        say(f"building tree {i + 1} of {len(trees)}")
                    return columns, self._draw(trees[i].random_state, random)

                size = X.shape[1], self._n_drawn if self.bootstrap else self._n_rows
                grow_drawn(trees, draw, size, table, y, workers)
            else:
                self._grow_weighted(trees, table, columns, y, workers)
        self.estimators_ = self.estimators_ + trees
        self._walker = Walker(
            [tree.tree_ for tree in self.estimators_],
            [columns] * len(self.estimators_),
            X.shape[1],
        )

    @property
    def _weighs_by_counts(self):
        """Return whether a tree's weight of each row is how often the tree drew it."""
        if not self.bootstrap:
            is_plain = self._sample_weight is None and self._weight_unit == 1.0
            return is_plain and self.parity is None
        return getattr(self, "class_weight", None) != "balanced_subsample"

    def _grow_weighted(self, trees, table, columns, y, workers):
        """Grow trees on all rows, or with weights that depend on the drawn rows."""

        def grow(i):
            if self.verbose > 1:
                say(f"building tree {i + 1} of {len(trees)}")
            weight = self._weigh_draw(trees[i].random_state, y)
            with Workers(1) as alone:
                trees[i].grow_on(table, columns, y, weight, alone, keep=True)
            if self._weight_unit != 1.0:
                trees[i].tree_.nodes["weight"] *= self._weight_unit

        workers.each(grow, list(range(len(trees))))

    def _draw(self, seed, random=None):
        """Return the rows drawn with a tree's seed, int32; a row drawn k times occurs k times.

        ``random`` is as in `reseed`.
        """
        if not self._draws_rows:
            return np.arange(self._n_rows, dtype=np.int32)
        random = reseed(random, seed)
        if self._sample_weight is None:
            return random.randint(0, self._n_rows, self._n_drawn).astype(np.int32)
        share = self._sample_weight / np.sum(self._sample_weight)
        return random.choice(self._n_rows, self._n_drawn, replace=True, p=share).astype(np.int32)

    def _weigh_draw(self, seed, y):
        """Return each row's weight for the tree with a given seed, float64 (n_rows,), or None."""
        if not self.bootstrap:
            return self._sample_weight
        rows = self._draw(seed)
        return np.bincount(rows, minlength=self._n_rows) * self._weigh_classes(y, rows)

    @property
    def estimators_samples_(self):
        """Return the rows of each tree, drawn again on each access."""
        return [self._draw(tree.random_state) for tree in self.estimators_]

    def _read_rows(self, X):
        """Return X as C-contiguous float32, or as CSR; raise the same errors as scikit-learn."""
        check_is_fitted(self)
        X = read_float32(self, X)
        check_sparse(X, type(self).__name__)
        return X

    def _predict(self, X):
        """Return the mean of the leaf values, float64 (n_rows, n_values)."""
        X = self._read_rows(X)
        return self._walker.sum(X, count_threads(self.n_jobs, X.shape[0])) / len(self.estimators_)

    def _predict_out_of_bag(self, X):
        """Return the mean over the trees that did not draw a row, float64 (n_rows, n_values)."""
        total = np.zeros((self._n_rows, self.estimators_[0].tree_.values.shape[1]))
        count = np.zeros((self._n_rows, 1))
        for i, tree in enumerate(self.estimators_):
            drawn = self._draw(tree.random_state)
            rows = np.flatnonzero(np.bincount(drawn, minlength=self._n_rows) == 0)
            total[rows] += self._walker.values(i, X[rows])
            count[rows] += 1
        if (count == 0).any():
            warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                stacklevel=5,
            )
        return total / np.maximum(count, 1)

    def apply(self, X):
        """Return the leaf of each row in each tree, int64 (n_rows, n_trees)."""
        X = self._read_rows(X)
        return np.array([tree.tree_.apply(X) for tree in self.estimators_]).T

    def decision_path(self, X):
        """Return the nodes that each row passes, and the first column of each tree.

        Returns
        -------
        sparse CSR array of ones (n_rows, number of nodes of all trees)
        int64 (n_trees + 1,): the columns of tree i are entry i to entry i + 1 (exclusive)
        """
        X = self._read_rows(X)
        paths = [tree.tree_.decision_path(X) for tree in self.estimators_]
        ends = np.cumsum([0, *(path.shape[1] for path in paths)])
        return hstack(paths).tocsr(), ends

    @property
    def feature_importances_(self):
        """Return each feature's decrease of impurity, float64 (n_features,), summing to 1."""
        check_is_fitted(self)
        each = [tree.feature_importances_ for tree in self.estimators_ if tree.tree_.node_count > 1]
        if not each:
            return np.zeros(self.n_features_in_)
        mean = np.mean(each, axis=0)
        return mean / np.sum(mean)

    @property
    def ensemble_(self):
        """Return the trees as a `harness.TreeEnsemble`."""
        check_is_fitted(self)
        trees = [tree.tree_ for tree in self.estimators_]
        return export_trees(trees, self.n_features_in_, getattr(self, "classes_", None))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
