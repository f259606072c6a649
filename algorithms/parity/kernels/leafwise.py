"""Leaves, nodes and partitions that both leaf-wise growers share: LightGBM's and scikit-learn's."""

import numpy as np

from algorithms.runtime.jit import inner_kernel

LEAF = np.dtype(
    [
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("depth", np.int64),
        ("node", np.int64),
        ("g", np.float64),  # Σg and Σh, as computed by the parent's split
        ("h", np.float64),
        ("value", np.float64),
    ]
)
NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("feature", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("is_categorical", np.int64),
        ("gain", np.float64),
        ("value", np.float64),
        ("count", np.int64),
    ]
)


@inner_kernel
def partition_rows(column, missing, k, work):
    """Move a leaf's rows that go left before the others; return the start of the latter.

    Parameters
    ----------
    column : (n_rows,) int, bins of the feature of the split
    missing : bin of missing values, or −1
    k : number of the leaf
    work : Work
    """
    leaf, split = work.leaves[k], work.splits[k]
    to, others = leaf["start"], 0
    for i in range(leaf["start"], leaf["end"]):
        row = work.rows[i]
        b = column[row]
        if split["is_categorical"]:
            left = work.members[k, b] == 1
        elif b == missing:
            left = split["missing_left"] == 1
        else:
            left = b <= split["bin"]
        if left:
            work.rows[to] = row
            to += 1
        else:
            work.spare[others] = row
            others += 1
    for i in range(others):
        work.rows[to + i] = work.spare[i]
    return to
