"""A forest whose trees see the columns rotated in pairs.

A tree asks one column at a time, so a border that runs askew to the columns costs it many steps.
Here every tree is trained on its own rotation, and the mean of the trees has smooth borders. (Like
Rodriguez, Kuncheva, Alonso: Rotation forest, 2006, with random planes in place of components.)

    x ← (x − low) / (high − low)                            per column, of the training rows
    (x_i, x_j) ← (x_i cos θ + x_j sin θ, x_j cos θ − x_i sin θ)      pairs and θ drawn for each tree
    F(x) = 1/M Σ tree_m(rotation_m(x))
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data


def draw_rotation(random, n_columns):
    """Return the pairs of columns, int (n_pairs, 2), and their angles, float64 (n_pairs,)."""
    order = random.permutation(n_columns)
    pairs = order[: n_columns // 2 * 2].reshape(-1, 2)
    return pairs, random.uniform(0, np.pi / 2, len(pairs))


def rotate(X, pairs, angles):
    """Return X with each pair of columns turned; element by element, so for one row as for all."""
    out = X.copy()
    first, second = X[:, pairs[:, 0]], X[:, pairs[:, 1]]
    out[:, pairs[:, 0]] = first * np.cos(angles) + second * np.sin(angles)
    out[:, pairs[:, 1]] = second * np.cos(angles) - first * np.sin(angles)
    return out


class RotatedForest(BaseEstimator):
    """What classifier and regressor share."""

    def __init__(self, n_estimators=50, *, max_depth=None, min_samples_leaf=1, random_state=None):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def _grow(self, tree, X, y, sample_weight):
        """Grow the trees on codes or values, float64 X (n_rows, n_columns)."""
        weight = _check_sample_weight(sample_weight, X)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.low_ = X.min(axis=0)
        span = X.max(axis=0) - self.low_
        self.span_ = np.where(span > 0, span, 1.0)
        random = check_random_state(self.random_state)
        scaled = (X - self.low_) / self.span_
        self.rotations_, self.estimators_ = [], []
        for _ in range(self.n_estimators):
            rotation = draw_rotation(random, X.shape[1])
            limits = {"max_depth": self.max_depth, "min_samples_leaf": self.min_samples_leaf}
            model = tree(**limits, random_state=random.randint(2**31))
            self.rotations_.append(rotation)
            self.estimators_.append(model.fit(rotate(scaled, *rotation), y, sample_weight=weight))
        return self

    def _mean(self, X, ask):
        """Return the mean of what the trees answer."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        scaled = (X - self.low_) / self.span_
        members = zip(self.estimators_, self.rotations_, strict=True)
        return sum(ask(tree, rotate(scaled, *turn)) for tree, turn in members) / self.n_estimators


class RotatedForestClassifier(ClassifierMixin, RotatedForest):
    """A rotated forest for classes."""

    def fit(self, X, y, sample_weight=None):
        """Grow the trees: X (n_rows, n_columns), y labels (n_rows,), weights (n_rows,) or None."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self._grow(DecisionTreeClassifier, X, codes, sample_weight)

    def predict_proba(self, X):
        """Return the mean of the trees' shares, float64 (n_rows, n_classes)."""
        return self._mean(X, self._shares)

    def _shares(self, tree, X):
        """Return a tree's shares with a column for every class, also those without weight."""
        shares = np.zeros((len(X), len(self.classes_)))
        shares[:, tree.classes_] = tree.predict_proba(X)
        return shares

    def predict(self, X):
        """Return the class with the largest share, labels (n_rows,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class RotatedForestRegressor(RegressorMixin, RotatedForest):
    """A rotated forest for values."""

    def fit(self, X, y, sample_weight=None):
        """Grow the trees: X (n_rows, n_columns), y values (n_rows,), weights (n_rows,) or None."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return self._grow(DecisionTreeRegressor, X, y, sample_weight)

    def predict(self, X):
        """Return the mean of the trees' values, float64 (n_rows,)."""
        return self._mean(X, lambda tree, X: tree.predict(X))
