"""Choice of the number of rounds by cross-validation."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch, _safe_indexing


def choose_rounds(model, X, y, *, cv=5, sample_weight=None):
    """Return the number of rounds with the smallest loss on held-out rows.

    The model is trained once on each fold's training rows, with all its rounds. After each round
    its training loss is measured on the fold's held-out rows.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        Its ``n_estimators`` is the maximum number of rounds. The model is not changed.
    X : (n_rows, n_features) array or frame
    y : (n_rows,) array
    cv : int, splitter or iterable of (train, test)
        As in scikit-learn.
    sample_weight : (n_rows,) array, optional

    Returns
    -------
    Bunch
        ``n_estimators``, the first one with the smallest mean loss, and ``losses``, float64
        (n_folds, n_rounds), on the scale of `train_score_`.
    """
    from sklearn.model_selection import check_cv

    X, y = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    folds = check_cv(cv, y, classifier=is_classifier(model))
    losses = []
    for train, test in folds.split(X, y):
        inside, outside = (None, None) if sample_weight is None else (
            np.asarray(sample_weight)[train], np.asarray(sample_weight)[test]
        )  # fmt: skip
        rows, held_out = _safe_indexing(X, train), _safe_indexing(X, test)
        fitted = clone(model).fit(rows, y[train], sample_weight=inside)
        losses.append(list(fitted.staged_loss(held_out, y[test], outside)))
    shortest = min(len(curve) for curve in losses)
    losses = np.array([curve[:shortest] for curve in losses])
    return Bunch(n_estimators=int(losses.mean(axis=0).argmin()) + 1, losses=losses)
