"""Export of grown trees to the harness's TreeEnsemble."""

import numpy as np


def export_trees(trees, n_features, classes, columns=None):
    """Return the mean of trees as a `harness.TreeEnsemble`.

    Parameters
    ----------
    trees : list of Tree
    n_features : of X
    classes : (n_classes,) array of labels, or None for regression
        Labels that are not integers are replaced by their indices. With a list of the labels of
        several outputs the ensemble has no classes: it returns the values of the leaves.
    columns : list of (n_features of the tree,) int arrays, optional
        Column of X of each feature of each tree.
    """
    from harness import TreeEnsemble

    columns = [None] * len(trees) if columns is None else columns
    return TreeEnsemble.join(
        [tree.common(tree_columns) for tree, tree_columns in zip(trees, columns, strict=True)],
        n_features=n_features,
        combination="mean",
        classes=class_codes(classes),
        input_dtype="float32",
        cover_kind="weight",
        library="tree-harness",
    )


def export_boosted(model, base, link, temperature):
    """Return fitted gradient boosting as a `harness.TreeEnsemble`.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    base : (n_outputs,) float64, the initial scores
    link, temperature : as in TreeEnsemble
    """
    from harness import TreeEnsemble

    rounds, width = model.estimators_.shape
    return TreeEnsemble.join(
        [member.tree_.common() for member in model.estimators_.ravel()],
        n_features=model.n_features_in_,
        weight=np.full(rounds * width, float(model.learning_rate_)),
        output=np.tile(np.arange(width), rounds).astype(np.int32),
        base=base,
        link=link,
        temperature=temperature,
        classes=class_codes(getattr(model, "classes_", None)),
        input_dtype="float32",
        cover_kind="weight",
        library="tree-harness",
    )


def class_codes(classes):
    """Return integer labels unchanged, other labels as their indices; () for None or a list."""
    if classes is None or isinstance(classes, list):
        return ()
    integer = np.issubdtype(np.asarray(classes).dtype, np.integer)
    return tuple(int(c) for c in classes) if integer else tuple(range(len(classes)))
