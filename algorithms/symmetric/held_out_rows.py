"""Rows held out of training as an evaluation set: ``eval_fraction``."""

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from algorithms.estimator.seeds import draw_seed


def hold_out_rows(params, X, y, weight):
    """Return the training rows and the evaluation sets.

    With ``has_time`` the last rows are held out, otherwise random ones; those of a classifier have
    the same shares of classes.

    Parameters
    ----------
    params : the estimator, with ``eval_fraction``
    X : table (n_rows, n_features)
    y, weight : (n_rows,); weight may be None

    Returns
    -------
    rows : (X, y, weight)
    tables : list with one (X, y)
    weights : list with the weights of its rows, or None

    Raises
    ------
    ValueError
        If there are fewer than two rows, X, y and the weights have different lengths, or the rows
        of a class are too few to divide.
    """
    check_consistent_length(X, y, weight)
    X = X.tocsr() if sparse.issparse(X) else X
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    n_held_out = min(max(round(params.eval_fraction * n_rows), 1), n_rows - 1)
    if n_rows < 2:
        raise ValueError("eval_fraction needs at least two rows")
    rows = np.arange(n_rows)
    if params.has_time:
        kept, held_out = rows[:-n_held_out], rows[-n_held_out:]
    else:
        from sklearn.model_selection import train_test_split  # it imports pandas and scipy.stats

        kept, held_out = train_test_split(
            rows,
            test_size=n_held_out,
            random_state=draw_seed(params.random_seed) % 2**32,
            stratify=y if isinstance(params, ClassifierMixin) else None,
        )
        kept, held_out = np.sort(kept), np.sort(held_out)
    train, test = (
        [None if part is None else _safe_indexing(part, of) for part in (X, y, weight)]
        for of in (kept, held_out)
    )
    return tuple(train), [tuple(test[:2])], None if weight is None else [test[2]]
