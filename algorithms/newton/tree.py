"""Tree of second-order boosting: node array and categorical splits."""

from dataclasses import dataclass, field

import numpy as np

NODE = np.dtype(
    [
        ("feature", np.int32),  # −1 at leaves
        ("left", np.int32),  # −1 at leaves; a child comes after its parent
        ("right", np.int32),
        ("missing_left", np.uint8),
        ("threshold", np.float32),  # x < threshold goes left
        ("value", np.float32),  # η w*; at inner nodes the value the node would have as a leaf
        ("gain", np.float64),  # 0 at leaves; float64, as float32 overflows for targets beyond 1e±19
        ("cover", np.float32),  # H, the sum of the hessians
    ]
)
SMALLEST, LARGEST = np.finfo(np.float32).tiny, np.finfo(np.float32).max


def rounded_gain(gain):
    """Return float64 gains, rounded to float32 like XGBoost's if within its range."""
    with np.errstate(over="ignore", under="ignore"):
        near = gain.astype(np.float32).astype(np.float64)
    return np.where((near >= SMALLEST) & (near <= LARGEST), near, gain)


@dataclass(frozen=True)
class NewtonTree:
    """Nodes, root first, and the category sets of categorical splits.

    A node in ``sets`` sends the codes of its set to the right and all others to the left, as in
    XGBoost's files; the direction of missing values is ``missing_left``. A tree for all outputs at
    once has vectors of values; then the field ``value`` of its nodes is not used.
    """

    nodes: np.ndarray  # NODE (n_nodes,)
    sets: dict[int, np.ndarray] = field(default_factory=dict)  # node → ascending int32 codes
    values: np.ndarray | None = None  # float32 (n_nodes, n_outputs): one value for each output

    @property
    def n_leaves(self):
        """Number of leaves of the tree."""
        return (len(self.nodes) + 1) // 2


def have_vectors(rounds):
    """Return whether each tree of some rounds has values for all outputs."""
    return any(tree.values is not None for round_ in rounds[:1] for tree in round_)
