"""Class labels in the order that the user gives: ``class_names``."""

import numpy as np

from algorithms.estimator.deferred_imports import pd


def read_class_names(names, earlier):
    """Return the labels, (n_classes,).

    Parameters
    ----------
    names : list of labels
    earlier : labels of an earlier model, or None

    Raises
    ------
    ValueError
        If there are fewer than two, equal ones, or others than those of the earlier model.
    """
    labels = np.asarray(names)
    if labels.ndim != 1 or len(labels) < 2 or len(np.unique(labels)) < len(labels):
        raise ValueError(f"class_names must hold at least two distinct labels; it is {names!r}")
    if earlier is not None and labels.tolist() != earlier.tolist():
        raise ValueError(f"class_names must be those of the model to continue from: {earlier}")
    return labels


def codes_in_order(labels, y, message):
    """Return the position of each row's label, intp (n_rows,).

    Parameters
    ----------
    labels : (n_classes,) from `read_class_names`
    y : (n_rows,) labels
    message : beginning of the error message about other labels

    Raises
    ------
    ValueError
        If there are other labels; the first five are named.
    """
    codes = pd.Index(labels).get_indexer(pd.Index(np.asarray(y)))
    if (codes < 0).any():
        others = np.unique(np.asarray(y)[codes < 0])[:5].tolist()
        raise ValueError(f"{message}: {others}")
    return codes
