"""Categorical columns of ensembles whose models are our trees with ``categorical_features``.

The ensemble encodes the columns once, because only the original frame has names and categorical
dtypes. Its trees then get numbers and the indices of the columns.
"""

import numpy as np

from algorithms.trees.base_tree import BaseDecisionTree
from algorithms.trees.categorical_columns import read_categories


class CategoryEncoder:
    """Encodes the categorical columns of X as `read_categories` does.

    Parameters
    ----------
    categorical_features : parameter of the tree, as in `DecisionTreeClassifier`
    """

    def __init__(self, categorical_features):
        self.categorical_features = categorical_features
        self.categories_ = {}

    def fit_transform(self, X):
        """Read the categories of X; return X with codes in place of them."""
        return read_categories(self, X, reset=True)

    def transform(self, X):
        """Return X with the codes of the categories known from training."""
        return read_categories(self, X, reset=False)

    def has_categories_of(self, other):
        """Return whether both encoders give the same code to each value."""
        known = self.categories_.keys() == other.categories_.keys()
        return known and all(
            self.categories_[j].equals(other.categories_[j]) for j in self.categories_
        )

    def set_columns(self, model):
        """Set the indices of the encoded columns as the parameter of an unfitted tree."""
        return model.set_params(categorical_features=sorted(self.categories_) or None)


def encoder_of(model):
    """Return the encoder for a model, or None if it is not our tree with categorical columns."""
    is_tree = isinstance(model, BaseDecisionTree)
    if not is_tree or model.categorical_features is None:
        return None
    return CategoryEncoder(model.categorical_features)


def choose_columns(model, columns):
    """Set the positions of a tree's categorical columns among the columns that it is trained on.

    Parameters
    ----------
    model : unfitted model; only our trees with categorical columns are changed
    columns : (n,) indices of columns of X
    """
    if encoder_of(model) is not None:
        positions = np.flatnonzero(np.isin(columns, model.categorical_features))
        model.categorical_features = positions.tolist() or None
