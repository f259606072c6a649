"""The heap of best-first growth, which pops equal improvements in the C++ library's order.

scikit-learn keeps its frontier with ``std::push_heap`` and ``std::pop_heap``; which of two equal
nodes is split first decides the tree once leaves run out. This is the heap of GNU's libstdc++: a
pop moves the hole to the bottom, always to the better child (the right one if equal), and lets
the last entry rise from there.
"""

from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.tree_arrays import HEAP


@inner_kernel
def push_split(growth, slot):
    """Add a split, named by its slot."""
    size = growth.state[HEAP]
    growth.state[HEAP] = size + 1
    rise(growth, size, slot)


@inner_kernel
def pop_split(growth):
    """Take the slot of the split with the largest improvement."""
    heap, splits = growth.heap, growth.splits
    size = growth.state[HEAP] - 1
    growth.state[HEAP] = size
    best = heap[0]
    if size == 0:
        return best
    last = heap[size]
    hole = 0
    child = 2  # the right one
    while child < size:
        right = splits[heap[child]]["improvement"]
        if right < splits[heap[child - 1]]["improvement"]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
        child = 2 * hole + 2
    if child == size:  # a left child alone
        heap[hole] = heap[child - 1]
        hole = child - 1
    rise(growth, hole, last)
    return best


@inner_kernel
def rise(growth, hole, slot):
    """Put a slot into a hole, or above it, past all that improve less."""
    heap, splits = growth.heap, growth.splits
    while hole > 0:
        parent = (hole - 1) // 2
        if not splits[heap[parent]]["improvement"] < splits[slot]["improvement"]:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = slot
