"""Find the leaf of every row by applying the splits one after another to blocks of rows.

A split of leaf l moves the rows of l whose bin is in one range of bins to the new leaf and keeps
the others in l. Leaves and bins are bytes, so one SIMD instruction handles 32 or 64 rows, and
columns are read sequentially. Ranges of bins are cyclic: bin 0 follows bin 255.
"""

import numpy as np

from algorithms.runtime.jit import kernel

AT_ONCE = 1 << 12  # rows per block; their leaves stay in the first-level cache
MAX_LEAVES = 256  # a byte can number so many leaves
COLUMN, FIRST, WIDTH, LEAF = range(4)  # columns of the ``runs`` of `list_runs`


@kernel
def list_runs(nodes, goes_left, place, length, number, runs):
    """Write the range of bins that each split sends right; return 0 if these bins are not a range.

    Parameters
    ----------
    nodes : NODE (n_nodes,), the children of split s = 0, 1, … at 2 s + 1 and 2 s + 2
    goes_left : uint8 (n_nodes, MAX_BINS), 0 or 1 for each bin of an inner node
    place : int64 (n_features,), column of each feature
    length : int64 (n_columns,), number of bins of each column
    number : int64 (n_nodes,), written: the leaf that a node is, or was before it was split
    runs : int64 (n_nodes // 2, 4), written for each split: the COLUMN, the FIRST bin of the range,
        its WIDTH minus one, and the LEAF that is split; the new leaf of split s is s + 1

    Returns
    -------
    1, or 0 if the bins of a split that go right are not one cyclic range
    """
    number[0] = 0
    for at in range(len(nodes)):
        left = nodes[at]["left"]
        if left < 0:
            continue
        split = left // 2
        number[left], number[left + 1] = number[at], split + 1
        column = place[nodes[at]["feature"]]
        last = length[column] - 1
        starts, first, end = 0, 0, 0
        for b in range(last + 1):
            if not goes_left[at, b]:
                if b == 0 or goes_left[at, b - 1]:
                    starts, first = starts + 1, b
                if b == last or goes_left[at, b + 1]:
                    end = b if b < last or starts == 1 else end
        is_cyclic = starts == 2 and not goes_left[at, 0] and not goes_left[at, last]
        if starts != 1 and not is_cyclic:
            return 0
        runs[split, COLUMN], runs[split, LEAF] = column, number[at]
        runs[split, FIRST], runs[split, WIDTH] = first, (end - first) % MAX_LEAVES
    return 1


@kernel
def place_rows(columns, runs, first, last, scratch, leaf_of):
    """Write the leaf of each of the rows first … last − 1.

    Parameters
    ----------
    columns : uint8 (n_columns, n_rows)
    runs : result of `list_runs`, for fewer than MAX_LEAVES splits
    scratch : uint8 (AT_ONCE,), scratch space
    leaf_of : (n_rows,) uint16 or uint32, written
    """
    for start in range(first, last, AT_ONCE):
        n, row = np.uint64(min(AT_ONCE, last - start)), np.uint64(start)
        for i in range(n):
            scratch[i] = 0
        for split in range(len(runs)):
            column, new = columns[runs[split, COLUMN]], np.uint8(split + 1)
            begin, width = np.uint8(runs[split, FIRST]), np.uint8(runs[split, WIDTH])
            leaf = np.uint8(runs[split, LEAF])
            for i in range(n):
                current = scratch[i]
                goes_right = (np.uint8(column[row + i] - begin) <= width) & (current == leaf)
                scratch[i] = new if goes_right else current
        for i in range(n):
            leaf_of[row + i] = scratch[i]
