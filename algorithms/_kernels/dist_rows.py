"""What a rank does to its own rows: rounding and drawing go by their numbers in the whole table."""

import numpy as np

from algorithms._kernels.hist_layout import HALF
from algorithms._kernels.hist_math import uniform
from algorithms._kernels.hist_pack import H_SEED
from algorithms._kernels.jit import kernel


@kernel
def pack_run(g, h, per_g, per_h, seed, number, records, first, last):
    """Write the records of a run of rows, as `hist_pack.pack` does.

    Parameters
    ----------
    g : (n,) float32
    h : (n,) float32, or (0,) where it is 1 for every row
    per_g, per_h : steps per unit, powers of two
    seed : of the tree
    number : of the row ``first`` in the whole table; those after it follow
    records : (n,) int64; records[first : last] are written
    """
    g_seed = np.uint32(seed)
    h_seed = np.uint32(g_seed ^ H_SEED)
    begin = np.uint64(first)
    for i in range(begin, np.uint64(last)):
        of_table = np.uint64(number) + (i - begin)
        gq = np.int64(np.floor(np.float64(g[i]) * per_g + uniform(g_seed, of_table)))
        hq = np.int64(1)
        if len(h):
            hq = np.int64(np.floor(np.float64(h[i]) * per_h + uniform(h_seed, of_table)))
        records[i] = (gq << HALF) + hq


@kernel
def walk_rows(bins, nodes, goes_left, leaf_of_node, others, leaf_of):
    """Write the number of its leaf for each of some rows, by walking the tree.

    Parameters
    ----------
    bins : (n_rows, n_features) uint8
    nodes : NODE (n_nodes,)
    goes_left : uint8 (n_nodes, MAX_BINS)
    leaf_of_node : int64 (n_nodes,)
    others : uint32, rows
    leaf_of : (n_rows,) uint16, written
    """
    for i in range(np.uint64(len(others))):
        row = np.uint64(others[i])
        at = 0
        while nodes[at]["left"] >= 0:
            b = bins[row, np.uint64(nodes[at]["feature"])]
            at = nodes[at]["left"] if goes_left[at, b] else nodes[at]["right"]
        leaf_of[row] = leaf_of_node[at]
