"""From derivatives to records: choose what a step is worth, and round."""

import math

import numpy as np

from algorithms._kernels.hist_layout import Scale
from algorithms._kernels.hist_pack import FEW_ROWS, STRIDE, measure, pack

MEAN_BITS = 17  # the mean |g| is about 2¹⁷ steps
MOST_BITS = 30  # and the largest at most 2³⁰
INFINITE = 0x7F800000  # bits of float32's infinity; those of NaN are above
BLOCK = 1 << 13  # rows whose sums are taken together, however many threads there are
H_SHIFT = 0x9E3779B9


def choose_step(values, workers, what):
    """Return the step of some derivatives, a power of two.

    Parameters
    ----------
    values : (n_rows,) float32
    workers : Workers
    what : name of the values, for the error

    Raises
    ------
    ValueError
        Where a value is not finite.
    """
    n = len(values)
    n_blocks = -(-n // BLOCK)
    stride = STRIDE if n >= FEW_ROWS else 1
    found = np.zeros((n_blocks, 2))

    def share(first, last):
        for block in range(first, last):
            start = block * BLOCK
            measure(values, start, min(start + BLOCK, n), stride, found[block])

    workers.share(share, n_blocks)
    bits = found[:, 1].max()
    if bits >= INFINITE:
        raise ValueError(f"{what} of the loss are not finite: targets or weights are too large")
    largest = float(np.int32(bits).view(np.float32))
    if largest == 0.0:
        return 1.0
    mean = max(found[:, 0].sum() * stride / n, math.ldexp(largest, MEAN_BITS - MOST_BITS))
    by_mean = math.frexp(mean)[1] - 1 - MEAN_BITS
    by_largest = math.frexp(largest)[1] - MOST_BITS
    return math.ldexp(1.0, max(by_mean, by_largest, -960))


def pack_rows(g, h, seed, records, workers):
    """Write the records of all rows, and return the `Scale` of their steps.

    Parameters
    ----------
    g : (n_rows,) float32
    h : (n_rows,) float32, or (0,) where every row's is 1
    seed : int below 2³², of the tree
    records : (n_rows,) int64, written
    workers : Workers
    """
    step_g = choose_step(g, workers, "gradients")
    step_h = choose_step(h, workers, "hessians") if len(h) else 1.0

    def share(first, last):
        first, last = first * BLOCK, min(last * BLOCK, len(g))
        pack(g, h, 1.0 / step_g, 1.0 / step_h, seed, records, first, last)

    workers.share(share, -(-len(g) // BLOCK))
    return Scale(step_g, step_h)
