"""Initial model of continued training: its trees, and its coding of columns and class labels.

Trees store codes of categories and indices of classes. So new training data is encoded with the
coding of the earlier model, or rejected.
"""

import os
from dataclasses import dataclass

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from algorithms.estimator.deferred_imports import pd
from algorithms.estimator.labels import code_classes
from algorithms.model_io.model_files import read_file
from algorithms.model_io.saved_model import SavedModel, categories_of, labels_of
from harness import TreeEnsemble


@dataclass(frozen=True)
class EarlierModel:
    """Trees and coding of an earlier model; None means unknown."""

    trees: TreeEnsemble
    names: list | None = None  # column names
    categories: dict | list | None = None  # as stored by `gbdt.input_table.encode_frame`
    labels: np.ndarray | None = None  # class labels, in the order of their codes

    def check_columns(self, estimator):
        """Raise ValueError if the columns of the new training data differ.

        Parameters
        ----------
        estimator : has ``categories_``, and ``feature_names_in_`` if the columns have names
        """
        names = list(getattr(estimator, "feature_names_in_", [])) or None
        if names and self.names and names != self.names:
            raise ValueError(
                f"X has the columns {short(names)}; the model to continue from {short(self.names)}"
            )
        has_category_sets = self.categories is None and len(self.trees.set_codes)
        if has_category_sets and estimator.categories_:
            raise ValueError(
                "a TreeEnsemble does not store the names of categories: continue from the "
                "estimator, or from the file that it saved"
            )


def load_init_model(model):
    """Return the `EarlierModel` of a fitted estimator, a TreeEnsemble, or the path of a model file.

    An `EarlierModel` is returned unchanged.

    Raises
    ------
    TypeError
        If it is none of these, such as a library's estimator.
    """
    if isinstance(model, EarlierModel):
        return model
    if isinstance(model, TreeEnsemble):
        return EarlierModel(model)
    if isinstance(model, str | os.PathLike):
        file = read_file(model)
        labels = file.estimator.get("labels")
        labels = labels_of(labels) if labels else None
        return EarlierModel(file.ensemble, None, categories_of(file), labels)
    if not (isinstance(model, SavedModel) or hasattr(model, "ensemble_")):
        raise TypeError(
            f"a {type(model).__name__} is not an initial model: give a fitted estimator of this "
            "project, a TreeEnsemble, or the path of the file that a library saved"
        )
    check_is_fitted(model, "ensemble_")
    names = list(getattr(model, "feature_names_in_", [])) or None
    coding = (getattr(model, name, None) for name in ("categories_", "classes_"))
    return EarlierModel(model.ensemble_, names, *coding)


def code_labels(y, labels):
    """Return the class labels, and the code of each row's label.

    Parameters
    ----------
    y : (n_rows,) labels
    labels : (n_classes,) labels of an earlier model; None: the distinct labels in y, ascending

    Raises
    ------
    ValueError
        If y has only one class, or a label that the earlier model does not have.
    """
    is_whole = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biu"
    if labels is not None or not is_whole:
        check_classification_targets(y)
    if labels is None:
        labels, codes = code_classes(y)
        if is_whole and 2 * len(labels) > len(y):  # it would only warn, and takes 0.4 ms
            check_classification_targets(y)
        if len(labels) == 1:
            raise ValueError("y has only one class; a classifier needs at least two")
        return labels, codes
    codes = pd.Index(labels).get_indexer(pd.Index(y))
    if (codes < 0).any():
        new = np.unique(np.asarray(y)[codes < 0]).tolist()
        raise ValueError(
            f"y has the labels {short(new)}, which the model to continue from does not have; it "
            f"has {short(labels.tolist())}"
        )
    return labels, codes


def short(items):
    """Return a list as text, shortened to its first five items."""
    shown = ", ".join(repr(one) for one in items[:5])
    return f"[{shown}, …]" if len(items) > 5 else f"[{shown}]"
