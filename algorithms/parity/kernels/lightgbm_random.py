"""LightGBM's random generator, and its sample of the rows for binning.

With a 32-bit state x:
    x ← 214013 x + 2531011 mod 2³²; a short is bits 16 … 30 of x, an integer its lowest 31
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

LOW = 0xFFFFFFFF
SHORT = 0x7FFF
INTEGER = 0x7FFFFFFF


@inner_kernel
def step(x):
    """Return the next state of the generator."""
    return (214013 * x + 2531011) & LOW


@kernel
def draw_sample(seed, wanted, drawn):
    """Mark a sample of rows; 1 < wanted < len(drawn).

    A large sample is drawn sequentially: each row with the probability (rows still to draw) /
    (rows not yet visited). A small sample is drawn by Floyd's algorithm.

    Parameters
    ----------
    seed : int
    wanted : number of rows to draw
    drawn : (n_rows,) uint8, zeros, written
    """
    x = seed & LOW
    n, count = len(drawn), 0
    if wanted > n / np.log2(wanted):
        for i in range(n):
            x = step(x)
            if ((x >> 16) & SHORT) / 32768.0 < (wanted - count) / (n - i):
                drawn[i] = 1
                count += 1
        return
    for row in range(n - wanted, n):
        x = step(x)
        other = (x & INTEGER) % (row + 1)
        drawn[row if drawn[other] else other] = 1
