"""Bring boosted trees into the harness's common form."""

import numpy as np


def join_trees(rounds, base, n_features, link, classes):
    """Return rounds of trees as a `harness.TreeEnsemble`.

    Parameters
    ----------
    rounds : list of lists of BoostedTree, one a score
    base : float64 (n_scores,)
    n_features : of X
    link : of the ensemble
    classes : (n_classes,) labels, or None for regression
        Labels that are not integers are told by their places.
    """
    from harness import Missing, Tree, TreeEnsemble

    codes = ()
    if classes is not None:
        integer = np.issubdtype(classes.dtype, np.integer)
        codes = tuple(int(c) for c in classes) if integer else tuple(range(len(classes)))
    trees = [
        Tree(
            feature=tree.feature,
            threshold=tree.threshold,
            left=tree.left,
            right=tree.right,
            value=tree.value[:, None],
            default_left=tree.missing_left,
            missing=np.full(len(tree.feature), int(Missing.NAN), np.uint8),
            gain=tree.gain,
            cover=tree.count.astype(np.float64),
            sets={node: (members.tolist(), True) for node, members in tree.sets.items()},
        )
        for trees_of_round in rounds
        for tree in trees_of_round
    ]
    return TreeEnsemble.join(
        trees,
        n_features=n_features,
        output=np.tile(np.arange(len(base), dtype=np.int32), len(rounds)),
        base=base,
        link=link,
        classes=codes,
        cover_kind="rows",
        library="tree-harness",
    )
