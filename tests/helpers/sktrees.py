"""Comparison of our trees with scikit-learn's."""

import numpy as np

FIELDS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "value",
)


def difference(ours, theirs):
    """Return the name of the first array in which two fitted trees differ, or ''."""
    a, b = ours.tree_, theirs.tree_
    if a.node_count != b.node_count or a.max_depth != b.max_depth:
        return "node_count"
    for name in FIELDS:
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            return name
    inner = b.children_left >= 0
    same = a.missing_go_to_left[inner] == b.missing_go_to_left[inner].astype(bool)
    return "" if same.all() else "missing_go_to_left"
