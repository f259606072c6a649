"""Which features may meet on a way from the root: those that share a group, of those still left.

Groups are bits. A leaf begins with all of them, and a split leaves those that its feature is in.
Without a word of bits every feature may be used.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner_kernel
def may_use(left, own):
    """Return whether a leaf may use a feature.

    Parameters
    ----------
    left : uint64 (n_words,), groups that the leaf has left
    own : uint64 (n_words,), groups of the feature
    """
    for w in range(len(left)):
        if left[w] & own[w] != 0:
            return True
    return len(left) == 0


@inner_kernel
def leave_all(left):
    """Let a leaf use every group."""
    for w in range(len(left)):
        left[w] = ALL


@inner_kernel
def restrict_groups(groups, at, new, own):
    """Leave to both children of leaf ``at`` the groups that the split's feature is in."""
    for w in range(groups.shape[1]):
        groups[at, w] &= own[w]
        groups[new, w] = groups[at, w]
