"""How one model of a boosted ensemble is trained: any estimator, or our trees on sorted columns."""

import numpy as np
from sklearn.utils import _safe_indexing

from algorithms._common.tables import sort_table


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
        """Train a model on weighted rows, or on copies of the rows drawn; return predictions.

        Parameters
        ----------
        model : estimator, fitted here
        weight : (n_rows,) float64
        rows : (n_drawn,) int64, optional
            Rows to train on instead, each as often as it stands here, without weights.
        """
        if rows is None:
            model.fit(self.X, self.y, sample_weight=weight)
        else:
            model.fit(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows))
        return model.predict(self.X)


class TreeLearner:
    """Grows our own trees, all of them on columns that are sorted once.

    Parameters
    ----------
    X : (n_rows, n_features) array of numbers
    y : (n_rows,) labels or values
    labels : (n_classes,) array, sorted, or None for regression
    workers : Workers
    name : name of the ensemble, for error messages
    """

    def __init__(self, X, y, labels, workers, name):
        self.labels, self.workers = labels, workers
        self.y = np.ascontiguousarray(y, np.float64) if labels is None else codes_of(y, labels)
        self.table = sort_table(X, workers, name)
        self.X = np.ascontiguousarray(X, np.float32)
        self.columns = np.arange(X.shape[1])
        self.raw = X

    def train(self, model, weight, rows=None):
        """Grow a tree; parameters and result as in `AnyLearner.train`."""
        if self.labels is not None:
            model.classes_, model.n_classes_ = self.labels, len(self.labels)
        if rows is None:
            model.grow_on(self.table, self.columns, self.y, weight, self.workers, keep=True)
        elif counts_copies(model):
            drawn = np.bincount(rows, minlength=len(self.y)).astype(np.float64)
            model.grow_on(self.table, self.columns, self.y, drawn, self.workers, keep=True)
            nodes = model.tree_.nodes
            nodes["n"] = nodes["weight"]  # a copy of a row is a row
        else:
            y = self.y if self.labels is None else self.labels[self.y]
            model.fit(self.raw[rows], y[rows])
        values = model.tree_.predict(self.X)
        return values[:, 0] if self.labels is None else model.classes_[values.argmax(axis=1)]


def codes_of(y, labels):
    """Return the place of each label among the sorted labels, int64."""
    return np.searchsorted(labels, y)


def counts_copies(model):
    """Return whether a row drawn k times may stand once with weight k: no rule counts rows."""
    return (
        model.min_samples_leaf == 1
        and model.min_samples_split == 2
        and getattr(model, "class_weight", None) is None
    )
