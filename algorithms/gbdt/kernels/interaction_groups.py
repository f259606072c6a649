"""Interaction constraints: features on a path from the root must have a group in common.

Groups are bit sets. The root may use all groups; a split keeps those groups that contain its
feature. With zero words of bits there are no constraints.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner_kernel
def may_use(leaf_groups, feature_groups):
    """Return whether a leaf may use a feature.

    Parameters
    ----------
    leaf_groups : uint64 (n_words,), groups that the leaf may still use
    feature_groups : uint64 (n_words,), groups of the feature
    """
    for w in range(len(leaf_groups)):
        if leaf_groups[w] & feature_groups[w] != 0:
            return True
    return len(leaf_groups) == 0


@inner_kernel
def allow_all_groups(leaf_groups):
    """Allow a leaf to use every group."""
    for w in range(len(leaf_groups)):
        leaf_groups[w] = ALL


@inner_kernel
def restrict_groups(groups, at, new, feature_groups):
    """Restrict both children of leaf ``at`` to the groups that contain the split's feature."""
    for w in range(groups.shape[1]):
        groups[at, w] &= feature_groups[w]
        groups[new, w] = groups[at, w]
