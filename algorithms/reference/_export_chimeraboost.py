"""Export of a ChimeraBoost estimator as a TreeEnsemble.

Trees are symmetric and split bins of the columns: a value goes right if it is at least the border,
and a value that is not finite always goes right. Sums are float64. Linear leaves are functions of
the bins, crossed columns and encoded categories have no threshold on a column of X, so models with
them cannot be exported.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from algorithms.reference._codes import codes_of_labels
from algorithms.reference._errors import not_exportable
from algorithms.reference._nodes import symmetric_nodes
from harness import Missing, Tree, TreeEnsemble

LINKS = {"RMSE": "identity", "MAE": "identity", "Huber": "identity", "Quantile": "identity"}
LINKS |= {"Poisson": "exp", "Logloss": "sigmoid", "MultiClass": "softmax"}


def export(model):
    """Return the trees of a fitted classifier or regressor; -inf is read as a small number."""
    if getattr(model, "estimators_", None) is not None:
        raise not_exportable("it averages several models (n_ensembles)")
    if getattr(model, "group_values_", None) is not None:
        raise not_exportable("random intercepts of groups")
    booster = model.model_
    prepared = booster.prep_
    if prepared.cat_features_:
        raise not_exportable("statistics of categories")
    if prepared.cross_pairs:
        raise not_exportable("crossed columns; pass cross_features=False")
    if any(getattr(tree, "lin_coef", None) is not None for tree in booster.trees_):
        raise not_exportable("linear leaves; pass linear_leaves=False")
    link = LINKS.get(booster.loss_.name)
    if link is None:
        raise not_exportable(f"the loss {booster.loss_.name}")
    borders = prepared.binner_.borders_
    classes = codes_of_labels(model.classes_) if hasattr(model, "classes_") else ()
    base = np.atleast_1d(np.asarray(booster.init_, np.float64))
    return TreeEnsemble.join(
        [_tree(tree, borders, len(base)) for tree in booster.trees_ if tree.depth],
        n_features=len(borders),
        base=base + getattr(model, "quantile_offset_", 0.0),
        link=link,
        temperature=float(getattr(model, "temperature_", 1.0)),
        classes=classes,
        comparison="<",
        library="chimeraboost",
        version=version("chimeraboost"),
    )


def _tree(tree, borders, width):
    """Return a symmetric tree as a full tree."""
    level, left, right = symmetric_nodes(tree.depth)
    thresholds = [
        # Only missing values are in a bin above all borders.
        borders[column][bin_] if bin_ < len(borders[column]) else np.inf
        for column, bin_ in zip(tree.splits_feat, tree.splits_thr, strict=True)
    ]
    n_inner, n_leaves = len(level), 2**tree.depth
    value = np.full((n_inner + n_leaves, width), np.nan)
    value[n_inner:] = np.reshape(tree.values, (n_leaves, width))
    gain = np.full(len(value), np.nan)
    gain[:n_inner] = np.asarray(tree.gains)[level]
    return Tree(
        feature=np.append(np.asarray(tree.splits_feat)[level], np.full(n_leaves, -1)).astype("i4"),
        threshold=np.append(np.array(thresholds)[level], np.zeros(n_leaves)),
        left=left,
        right=right,
        value=value,
        missing=np.full(len(value), Missing.NAN, np.uint8),
        gain=gain,
    )
