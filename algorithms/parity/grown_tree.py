"""Trees that the replicas of LightGBM and scikit-learn grow leaf by leaf."""

import numpy as np


def rows_of_leaves(grower):
    """Return (node, rows) of each leaf of the last tree, rows in the order of the table."""
    leaves = grower.work.leaves[: grower.n_leaves]
    return [(leaf["node"], grower.work.rows[leaf["start"] : leaf["end"]]) for leaf in leaves]


def make_tree(nodes, feature, threshold, default_left, sets):
    """Return grown nodes as a `harness.Tree`; ``feature`` is the column of each inner node."""
    from harness import Missing, Tree

    inner = nodes["left"] >= 0
    return Tree(
        feature=np.where(inner, feature, -1).astype(np.int32),
        threshold=threshold,
        left=np.where(inner, nodes["left"], -1).astype(np.int32),
        right=np.where(inner, nodes["right"], -1).astype(np.int32),
        value=nodes["value"][:, None].copy(),
        default_left=default_left,
        missing=np.full(len(nodes), Missing.NAN, np.uint8),
        gain=np.where(inner, nodes["gain"], np.nan),
        cover=nodes["count"].astype(np.float64),
        sets=sets,
    )
