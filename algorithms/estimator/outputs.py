"""Targets with several outputs: their labels, codes and predictions.

The values of a node are those of the first output, then those of the second, and so on. In
classification every output has as many values as the output with most classes; the shares of
classes that an output does not have are 0.
"""

import numpy as np
from sklearn.utils.validation import column_or_1d

from algorithms.estimator.labels import code_classes


def drop_single_column(y, *, warn=False):
    """Return y as an array (n_rows,), or (n_rows, n_outputs) if it has several columns."""
    y = np.atleast_1d(y)
    if y.ndim > 1 and y.shape[1] != 1:
        return y
    return column_or_1d(y, warn=warn)


def count_outputs(y):
    """Return the number of outputs of a target (n_rows,) or (n_rows, n_outputs)."""
    return 1 if y.ndim == 1 else y.shape[1]


def code_outputs(y):
    """Return the labels of each output, and the codes of each row, int64 (n_rows, n_outputs)."""
    labels, codes = zip(*(code_classes(column) for column in y.T), strict=True)
    return list(labels), np.column_stack(codes).astype(np.int64, copy=False)


def labels_of(classes, codes):
    """Return the labels of codes: (n_rows,), or (n_rows, n_outputs) with a list of classes."""
    if codes.ndim == 1:
        return classes[codes]
    pairs = zip(classes, codes.T, strict=True)
    return np.column_stack([labels[column] for labels, column in pairs])


def split_shares(values, n_classes):
    """Return the class shares of each output: a list of arrays (n_rows, n_classes of the output).

    Parameters
    ----------
    values : (n_rows, n_outputs * largest number of classes)
    n_classes : (n_outputs,) integers
    """
    by_output = values.reshape(len(values), len(n_classes), -1)
    return [
        np.ascontiguousarray(by_output[:, output, :count]) for output, count in enumerate(n_classes)
    ]


def most_likely(shares, classes):
    """Return the label with the largest share in each output: (n_rows, n_outputs).

    Parameters
    ----------
    shares : result of `split_shares`
    classes : list of the labels of each output
    """
    predictions = np.empty((len(shares[0]), len(classes)), classes[0].dtype)
    for output, labels in enumerate(classes):
        predictions[:, output] = labels.take(shares[output].argmax(axis=1))
    return predictions


def log_shares(shares):
    """Return the logarithms of class shares, one array or a list of one array per output."""
    with np.errstate(divide="ignore"):
        return [np.log(one) for one in shares] if isinstance(shares, list) else np.log(shares)
