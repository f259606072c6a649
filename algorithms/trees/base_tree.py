"""Base class of the two decision trees: parameters and rows to a tree, and the tree's methods."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from algorithms.estimator.bootstrap import draw_tree_seed
from algorithms.estimator.fast_validation import read_float32
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.frames import as_numbers, validate_data
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.estimator.outputs import count_outputs, drop_single_column
from algorithms.estimator.sample_weight import bring_near_one, split_unit
from algorithms.estimator.validation import with_sound_indices
from algorithms.runtime.threads import Workers, count_threads
from algorithms.trees import tree_text
from algorithms.trees.cart import TREE_CONSTRAINTS, make_rules
from algorithms.trees.categorical_columns import check_conditions, count_codes, read_categories
from algorithms.trees.categorical_growth import flag_codes
from algorithms.trees.ensemble_export import export_trees
from algorithms.trees.grower import draw_rows, grow_tree
from algorithms.trees.presorted_table import check_sparse, make_table, sort_table
from algorithms.trees.pruning import prune, prune_by_error, pruning_path
from algorithms.trees.target_scale import TargetScale, find_target_scale
from algorithms.trees.tree import ROWS_OF_A_THREAD
from algorithms.trees.tree_batch import BatchGrower, is_small


class BaseDecisionTree(BaseEstimator):
    """Base class of the tree classifier and the tree regressor."""

    __metadata_request__fit: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar = {"check_input": UNUSED}
    _parameter_constraints: ClassVar = TREE_CONSTRAINTS

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow a tree.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features) of numbers, NaN where missing
            Rounded to float32. A sparse matrix is converted to dense, column by column, and must
            have no missing values. Columns of ``categorical_features`` hold values of any type.
        y : array-like (n_rows,) or (n_rows, n_outputs)
            Labels of any type, or numbers. With several outputs the impurity of a node is the mean
            over the outputs.
        sample_weight : array-like (n_rows,), optional
            Rows of weight 0 are left out.
        check_input : bool
            False skips the validation of X and y, which must be valid arrays.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            As in scikit-learn, if parameters, X, y or weights are invalid.
        """
        X = given = read_categories(self, X, reset=True)
        if issparse(y):
            raise TypeError("y is sparse, but dense data is required: use '.toarray()'")
        if check_input:
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csc",
                dtype="numeric",
                ensure_all_finite=False,
                multi_output=True,
                y_numeric=self.__sklearn_tags__().estimator_type == "regressor",
            )
            X = as_numbers(X, given)
            check_sparse(X, type(self).__name__)
        else:
            X = with_sound_indices(X) if issparse(X) else np.asarray(X)
            self.n_features_in_ = X.shape[1]
        y = drop_single_column(y)
        check_conditions(self, count_outputs(y))
        warn_of_other_version(self.parity, stacklevel=3)
        y = self._read_y(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        with Workers(count_threads(self.n_jobs)) as workers:
            table, counts = self._make_table(X, count_outputs(y), workers)
            columns = np.arange(X.shape[1])
            self.grow_on(table, columns, y, sample_weight, workers, keep=False, counts=counts)
        return self

    def _make_table(self, X, n_outputs, workers):
        """Return the table of X, and the number of codes of each feature or None."""
        name = type(self).__name__
        if not self.categories_:
            return make_table(self, X, X.shape[1], workers, name, n_outputs), None
        table, counts = sort_table(X, workers, name), count_codes(self.categories_, X.shape[1])
        flag_codes(table, counts)
        return table, counts

    def grow_on(self, table, columns, y, weight, workers, *, keep, counts=None):
        """Grow the tree on a table that trees may share.

        The table need not be sorted in parity mode and with several outputs.

        Parameters
        ----------
        table : tree_arrays.Table
        columns : (n_features,) int64, the table's column of each feature
        y : (n_rows,) or (n_rows, n_outputs) class codes, integers, or values, float64
        weight : (n_rows,) float64, or None
        workers : Workers
        keep : whether the table must not change
        counts : (n_features,) int64, optional
            Number of codes of each feature, 0 for a numeric feature.
        """
        self.n_outputs_ = count_outputs(y)
        sorts_in_nodes = self._sorts_in_nodes or self.n_outputs_ > 1
        if self.n_outputs_ > 1 and self.monotonic_cst is not None:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        seed = draw_tree_seed(check_random_state(self.random_state))
        weight, unit = (weight, 1.0) if self.parity is not None else split_unit(weight)
        target, power = self._target(y, weight), 0
        if not sorts_in_nodes:
            if target.weight is not None and not target.weight.any():
                raise ValueError("Sample weights must contain at least one non-zero number.")
            weight, power = bring_near_one(target.weight)
            target = replace(target, weight=weight)
        rules = make_rules(self, target, len(y), len(columns))
        scale = TargetScale()
        if target.y is not None and self.parity is None:
            scale = find_target_scale(target.y, target.weight, self.criterion)
        target, rules = scale.apply_to_target(target, rules)
        if not sorts_in_nodes:
            searched = rules.max_features
            rows = draw_rows(table, target, columns, workers, keep=keep, searched=searched)
            tree = grow_tree(table, rows, rules, seed, workers, counts)
        else:
            from algorithms.parity.sklearn_grower import grow_like_sklearn

            tree = grow_like_sklearn(table.values, columns, target, rules, seed)
        scale.restore(tree)
        if power or unit != 1.0:
            tree.nodes["weight"] = np.ldexp(tree.nodes["weight"], power) * unit
        self.set_tree(tree, rules.max_features)

    def set_tree(self, tree, max_features):
        """Store a grown `Tree` of one output or more, pruned by ``ccp_alpha``."""
        self.n_outputs_ = tree.n_outputs
        self.n_features_in_ = tree.n_features
        self.max_features_ = max_features
        self.tree_ = prune(tree, self.ccp_alpha) if self.ccp_alpha > 0.0 else tree

    def batch_grower(self, table, y, n_features, n_drawn):
        """Return a `BatchGrower` of trees with these parameters, or None if it cannot grow them.

        Parameters
        ----------
        table, y : as in `grow_on`
        n_features : number of features of a tree
        n_drawn : number of rows that a tree draws
        """
        sorts_in_nodes = self._sorts_in_nodes or count_outputs(y) > 1
        has_weights = getattr(self, "class_weight", None) is not None
        if sorts_in_nodes or has_weights:
            return None
        target = self._target(y, None)
        if not is_small(max(len(y), n_drawn), target.n_classes):
            return None
        return BatchGrower(self, table, target, n_features, n_drawn)

    @property
    def _sorts_in_nodes(self):
        """Return whether rows are sorted in every node, as in scikit-learn, instead of once."""
        sorts = self.criterion in {"absolute_error", "poisson"}
        return sorts or self.parity is not None or self.splitter == "random"

    @property
    def _shares_tables(self):
        """Return whether ensembles may grow this tree on a table shared with other trees."""
        return self.categorical_features is None

    def _read_rows(self, X, check_input):
        """Return X as C-contiguous float32, or as CSR if it is sparse; raise the errors of fit."""
        check_is_fitted(self, "tree_")
        X = read_categories(self, X, reset=False)
        if not check_input:
            _check_n_features(self, X, reset=False)
            return with_sound_indices(X) if issparse(X) else np.ascontiguousarray(X, np.float32)
        X = read_float32(self, X)
        check_sparse(X, type(self).__name__)
        return X

    def apply(self, X, check_input=True):
        """Return the leaf of each row: node numbers, int64 (n_rows,)."""
        X = self._read_rows(X, check_input)
        return self.tree_.apply(X, self._threads_for(X))

    def _predict(self, X, check_input):
        """Return the values of each row's leaf, float64 (n_rows, n_values)."""
        X = self._read_rows(X, check_input)
        return self.tree_.predict(X, self._threads_for(X))

    def _threads_for(self, X):
        # Counting processors takes longer than walking one row.
        few = X.shape[0] < 2 * ROWS_OF_A_THREAD
        return 1 if few else count_threads(self.n_jobs)

    def decision_path(self, X, check_input=True):
        """Return the nodes that each row passes: CSR of ones (n_rows, n_nodes)."""
        X = self._read_rows(X, check_input)
        return self.tree_.decision_path(X)

    def get_depth(self):
        """Return the number of splits on the longest path from the root to a leaf."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self):
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """Return the steps of cost-complexity pruning of a tree grown on X and y.

        Returns
        -------
        Bunch
            ``ccp_alphas``, the alpha from which each branch is cut, and ``impurities``, the sum of
            the leaves' impurities weighted by their share of the rows.
        """
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
        alphas, risks = pruning_path(grown.tree_)
        return Bunch(ccp_alphas=alphas, impurities=risks)

    def prune_by_error(self, X, y, sample_weight=None):
        """Prune the grown tree by its error on rows that it was not grown on.

        Reduced-error pruning (Quinlan: Simplifying decision trees, 1987): from the leaves up, a
        branch becomes a leaf if that does not raise the error. The result is the smallest subtree
        with the smallest error on X and y: the weight of wrong labels, or the sum of squares.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`; labels must be among ``classes_``

        Returns
        -------
        The estimator, with its ``tree_`` replaced.
        """
        X = self._read_rows(X, check_input=True)
        if self.n_outputs_ > 1:
            raise ValueError("prune_by_error needs a tree of one output")
        y = self._read_more_y(column_or_1d(y))
        check_consistent_length(X, y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.tree_ = prune_by_error(self.tree_, X, y, weight)
        return self

    def export_text(self, feature_names=None, *, max_depth=10, spacing=3, decimals=2):
        """Return the tree as text, one line per split or leaf, in scikit-learn's format.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default those of X, else feature_0, feature_1, ….
        max_depth : int
            Level below which branches are truncated.
        spacing : int
            Indentation per level.
        decimals : int
            Decimals of thresholds and values.
        """
        names, classes = self._names(feature_names)
        splits = tree_text.SplitText(self.tree_, names, self._labels, decimals)
        return tree_text.export_text(splits, classes, max_depth=max_depth, spacing=spacing)

    def draw(self, feature_names=None, *, max_depth=None, decimals=2):
        """Return a drawing of the tree as SVG text; parameters are as in `export_text`.

        Branches below ``max_depth`` levels are not drawn; a dashed box marks where they are cut.
        """
        names, classes = self._names(feature_names)
        splits = tree_text.SplitText(self.tree_, names, self._labels, decimals)
        return tree_text.draw_svg(splits, classes, max_depth=max_depth)

    @property
    def _labels(self):
        """Return the categories of each categorical column; trees of ensembles have none."""
        return getattr(self, "categories_", {})

    def _names(self, given):
        """Return the names of the features, and the classes or None."""
        check_is_fitted(self, "tree_")
        n = self.n_features_in_
        names = getattr(self, "feature_names_in_", None) if given is None else given
        names = [f"feature_{i}" for i in range(n)] if names is None else names
        if len(names) != n:
            raise ValueError(f"feature_names must contain {n} elements, got {len(names)}")
        return names, getattr(self, "classes_", None)

    @property
    def feature_importances_(self):
        """Return each feature's decrease of impurity, float64 (n_features,), summing to 1."""
        check_is_fitted(self, "tree_")
        return self.tree_.compute_feature_importances()

    @property
    def ensemble_(self):
        """Return the tree as a `harness.TreeEnsemble`; categories are represented by their codes.

        A code is the index of a category in ``categories_``. For a categorical dtype this is the
        dtype's own code.
        """
        check_is_fitted(self, "tree_")
        return export_trees([self.tree_], self.n_features_in_, getattr(self, "classes_", None))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
