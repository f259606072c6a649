"""Bring grown trees into the harness's common form."""

import numpy as np


def export_trees(trees, n_features, classes, columns=None):
    """Return the mean of trees as a `harness.TreeEnsemble`.

    Parameters
    ----------
    trees : list of Tree
    n_features : of X
    classes : (n_classes,) array of labels, or None for regression
        Labels that are not integers are told by their places.
    columns : list of (n_features of the tree,) int arrays, optional
        Column of X that each feature of each tree is.
    """
    from harness import TreeEnsemble

    codes = ()
    if classes is not None:
        integer = np.issubdtype(np.asarray(classes).dtype, np.integer)
        codes = tuple(int(c) for c in classes) if integer else tuple(range(len(classes)))
    columns = [None] * len(trees) if columns is None else columns
    return TreeEnsemble.join(
        [tree.common(own) for tree, own in zip(trees, columns, strict=True)],
        n_features=n_features,
        combination="mean",
        classes=codes,
        input_dtype="float32",
        cover_kind="weight",
        library="tree-harness",
    )
