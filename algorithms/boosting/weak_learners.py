"""Training of one model of a boosted ensemble: any estimator, or our trees on sorted columns."""

import numpy as np
from sklearn.utils import _safe_indexing

from algorithms.levelwise.grower import DEEPEST, LevelGrower
from algorithms.levelwise.kernels.level_arrays import Limits
from algorithms.trees.cart import rows_or_share
from algorithms.trees.presorted_table import sort_table, unsorted_table
from algorithms.trees.target_scale import find_target_scale

MANY_ROWS = (
    4096  # from which on ties, which the level-wise grower gives to the first column, are rare
)


class AnyLearner:
    """Trains any scikit-learn estimator.

    Parameters
    ----------
    X : array, frame or sparse matrix (n_rows, n_features)
    y : (n_rows,) labels or values
    """

    def __init__(self, X, y):
        self.X, self.y = X, y

    def train(self, model, weight, rows=None):
        """Train a model on weighted rows, or on copies of drawn rows; return its predictions.

        Parameters
        ----------
        model : estimator, fitted here
        weight : (n_rows,) float64
        rows : (n_drawn,) int64, optional
            Training rows to use instead, without weights; a row drawn k times occurs k times.
        """
        if rows is None:
            model.fit(self.X, self.y, sample_weight=weight)
        else:
            model.fit(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows))
        return model.predict(self.X)


class TreeLearner:
    """Grows our own trees on columns that are sorted once.

    Parameters
    ----------
    model : our tree, with the parameters of every round
    X : (n_rows, n_features) array of numbers
    y : (n_rows,) labels or values
    labels : (n_classes,) array, sorted, or None for regression
    workers : Workers
    name : name of the ensemble, for error messages
    """

    def __init__(self, model, X, y, labels, workers, name):
        self._labels, self._workers = labels, workers
        self._y = np.ascontiguousarray(y, np.float64) if labels is None else codes_of(y, labels)
        self._make_table = sort_table if model.parity is None else unsorted_table
        self._name = name
        self._columns = np.arange(X.shape[1])
        self._raw, self._rows = X, None
        by_levels = labels is None and len(X) >= MANY_ROWS and grows_by_levels(model)
        self._grower = LevelGrower(X, workers, name) if by_levels else None
        self._table = None if by_levels else self._make_table(X, workers, name)

    def train(self, model, weight, rows=None):
        """Grow a tree; parameters and result as in `AnyLearner.train`."""
        if self._labels is not None:
            model.classes_, model.n_classes_ = self._labels, len(self._labels)
        if rows is not None and not counts_copies(model):
            table = self._make_table(self._raw[rows], self._workers, self._name)
            y = self._y[rows]
            model.grow_on(table, self._columns, y, None, self._workers, keep=False)
            return self._predict(model)
        if rows is not None:
            weight = np.bincount(rows, minlength=len(self._y)).astype(np.float64)
        if self._grower is not None:
            predicted = self._grow_by_levels(model, weight)
        else:
            model.grow_on(self._table, self._columns, self._y, weight, self._workers, keep=True)
            predicted = self._predict(model)
        if rows is not None:
            nodes = model.tree_.nodes
            nodes["n"] = nodes["weight"]  # each copy counts as one row
        return predicted

    def _grow_by_levels(self, model, weight):
        """Grow a regression tree on all columns; return its predictions."""
        total, scale = float(weight.sum()), find_target_scale(self._y, weight)
        limits = Limits(
            min_samples_split=max(2, rows_or_share(model.min_samples_split, len(weight))),
            min_samples_leaf=rows_or_share(model.min_samples_leaf, len(weight)),
            min_weight_leaf=model.min_weight_fraction_leaf * total,
            min_impurity_decrease=scale.apply_to_impurity(model.min_impurity_decrease),
            total_weight=total,
            l2=0.0,
        )
        grown = self._grower.grow(scale.apply(self._y), weight, limits, model.max_depth)
        model.tree_ = grown.tree()
        scale.restore(model.tree_)
        model.n_features_in_ = model.max_features_ = len(self._columns)
        model.n_outputs_ = 1
        return model.tree_.values[grown.leaf, 0]

    def _predict(self, model):
        """Return a tree's predictions of all rows."""
        if self._rows is None:
            self._rows = np.ascontiguousarray(self._raw, np.float32)
        return model.predict(self._rows, check_input=False)


def codes_of(y, labels):
    """Return the index of each label among the sorted labels, int64."""
    return np.searchsorted(labels, y)


def counts_copies(model):
    """Return whether k copies of a row equal one row of weight k: no rule counts rows."""
    return (
        model.parity is None
        and model.min_samples_leaf == 1
        and model.min_samples_split == 2
        and getattr(model, "class_weight", None) is None
    )


def grows_by_levels(model):
    """Return whether a regression tree is shallow, and grown on all columns without conditions."""
    return (
        model.parity is None
        and model.splitter == "best"
        and model.criterion == "squared_error"
        and model.max_depth is not None
        and model.max_depth <= DEEPEST
        and model.max_features is None
        and model.max_leaf_nodes is None
        and model.monotonic_cst is None
        and model.ccp_alpha == 0.0
    )
