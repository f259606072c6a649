"""A model that boosting goes on from: its trees, and how it read its columns and labels.

A tree asks for codes: of categories, and by its place for a class. So a further table is read by
the earlier model's coding, or refused.
"""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from algorithms.estimator.labels import code_classes
from algorithms.model_io.model_files import read_file
from algorithms.model_io.saved_model import SavedModel, categories_of, labels_of
from harness import TreeEnsemble


@dataclass(frozen=True)
class Earlier:
    """What is known of an earlier model; None: not known."""

    trees: TreeEnsemble
    names: list | None = None  # of columns
    categories: dict | list | None = None  # as `hist.tables.encode_frame` keeps them
    labels: np.ndarray | None = None  # of classes, in the order of their codes

    def check_columns(self, estimator):
        """Raise ValueError where a table that was read has its columns otherwise.

        Parameters
        ----------
        estimator : with ``categories_``, and ``feature_names_in_`` where columns have names
        """
        names = list(getattr(estimator, "feature_names_in_", [])) or None
        if names and self.names and names != self.names:
            raise ValueError(
                f"X has the columns {short(names)}; the model to go on from {short(self.names)}"
            )
        asks_sets = self.categories is None and len(self.trees.set_codes)
        if asks_sets and estimator.categories_:
            raise ValueError(
                "trees alone do not know the names of their categories: go on from the estimator, "
                "or from the file that it saved"
            )


def look_at(model):
    """Return the `Earlier` of a fitted estimator, of trees, or of the path of a model file.

    An `Earlier` is returned as it is.

    Raises
    ------
    TypeError
        Where it is none of these, such as a library's own estimator.
    """
    if isinstance(model, Earlier):
        return model
    if isinstance(model, TreeEnsemble):
        return Earlier(model)
    if isinstance(model, str | os.PathLike):
        found = read_file(model)
        labels = found.estimator.get("labels")
        labels = labels_of(labels) if labels else None
        return Earlier(found.ensemble, None, categories_of(found), labels)
    if not (isinstance(model, SavedModel) or hasattr(model, "ensemble_")):
        raise TypeError(
            f"a {type(model).__name__} is no model to go on from: give a fitted estimator of this "
            "project, a TreeEnsemble, or the path of the file that a library has saved it to"
        )
    check_is_fitted(model, "ensemble_")
    names = list(getattr(model, "feature_names_in_", [])) or None
    own = (getattr(model, name, None) for name in ("categories_", "classes_"))
    return Earlier(model.ensemble_, names, *own)


def code_labels(y, labels):
    """Return the labels of classes, and the code of each row's.

    Parameters
    ----------
    y : (n_rows,) labels
    labels : (n_classes,) those of an earlier model; or None: those there are, ascending

    Raises
    ------
    ValueError
        Where there is one class alone, or a label that the earlier model has not.
    """
    check_classification_targets(y)
    if labels is None:
        labels, codes = code_classes(y)
        if len(labels) == 1:
            raise ValueError("y has one class alone; a classifier needs two classes or more")
        return labels, codes
    codes = pd.Index(labels).get_indexer(pd.Index(y))
    if (codes < 0).any():
        new = np.unique(np.asarray(y)[codes < 0]).tolist()
        raise ValueError(
            f"y has the labels {short(new)}, which the model to go on from has not; it has "
            f"{short(labels.tolist())}"
        )
    return labels, codes


def short(listed):
    """Return a list as text, its first five where there are more."""
    shown = ", ".join(repr(one) for one in listed[:5])
    return f"[{shown}, …]" if len(listed) > 5 else f"[{shown}]"
