"""Heap of best-first growth, which pops equal improvements in the order of the C++ library.

scikit-learn keeps its frontier with ``std::push_heap`` and ``std::pop_heap``. Which of two equal
nodes is split first decides the tree if ``max_leaf_nodes`` is reached. This is the heap of GNU's
libstdc++: a pop moves the hole to the bottom, always to the better child (the right one if equal),
and then sifts the last entry up from there.
"""

from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import HEAP


@inner_kernel
def push_split(growth, slot):
    """Add the split in a slot."""
    size = growth.state[HEAP]
    growth.state[HEAP] = size + 1
    sift_up(growth, size, slot)


@inner_kernel
def pop_split(growth):
    """Remove and return the slot of the split with the largest improvement."""
    heap, splits = growth.heap, growth.splits
    size = growth.state[HEAP] - 1
    growth.state[HEAP] = size
    best = heap[0]
    if size == 0:
        return best
    last = heap[size]
    hole = 0
    child = 2  # the right child
    while child < size:
        right = splits[heap[child]]["improvement"]
        if right < splits[heap[child - 1]]["improvement"]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
        child = 2 * hole + 2
    if child == size:  # only a left child
        heap[hole] = heap[child - 1]
        hole = child - 1
    sift_up(growth, hole, last)
    return best


@inner_kernel
def sift_up(growth, hole, slot):
    """Put a slot into a hole, or above it, past all entries that improve less."""
    heap, splits = growth.heap, growth.splits
    while hole > 0:
        parent = (hole - 1) // 2
        if not splits[heap[parent]]["improvement"] < splits[slot]["improvement"]:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = slot
