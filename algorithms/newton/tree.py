"""One tree of second-order boosting, whichever way it was grown."""

from dataclasses import dataclass, field

import numpy as np

NODE = np.dtype(
    [
        ("feature", np.int32),  # −1 at leaves
        ("left", np.int32),  # −1 at leaves; a child comes after its parent
        ("right", np.int32),
        ("missing_left", np.uint8),
        ("threshold", np.float32),  # x < threshold goes left
        ("value", np.float32),  # η w*; at inner nodes what it would be as a leaf
        ("gain", np.float64),  # 0 at leaves; of targets beyond 1e±19 float32 does not hold it
        ("cover", np.float32),  # H, the sum of the hessians
    ]
)
SMALLEST, LARGEST = np.finfo(np.float32).tiny, np.finfo(np.float32).max


def rounded_gain(gain):
    """Return gains, float64, rounded to float32 where that holds them, as the library has them."""
    with np.errstate(over="ignore", under="ignore"):
        near = gain.astype(np.float32).astype(np.float64)
    return np.where((near >= SMALLEST) & (near <= LARGEST), near, gain)


@dataclass(frozen=True)
class NewtonTree:
    """Nodes, root first, and the categories of those that ask for one.

    A node of ``sets`` sends the codes that it names to the right, and all others to the left, as
    XGBoost writes it; a missing value goes where ``missing_left`` says.
    """

    nodes: np.ndarray  # NODE (n_nodes,)
    sets: dict[int, np.ndarray] = field(default_factory=dict)  # node → ascending int32 codes

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2
