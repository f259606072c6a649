"""Radix sort of numbers in linear time, 11 bits per pass.

Numbers, read as unsigned integers with the sign bit flipped (all bits if it was set), compare like
the numbers. A digit that all numbers share is skipped: integers need few passes.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.presort import BITS, BUCKETS, IN_DIGIT, start_buckets

PASSES = 6  # for 64 bits; 32 bits need three
ONE = np.uint64(1)


@kernel
def sort_values(values, bits, spare, counts):
    """Sort numbers, missing ones last.

    Parameters
    ----------
    values : (n,) float64 or float32 without −0.0, written
    bits : (n,) uint64 or uint32, the same memory
    spare : (n,) of the same dtype, scratch
    counts : (PASSES, BUCKETS) uint32, scratch
    """
    top = np.uint64(8 * bits.itemsize - 1)
    passes = (8 * bits.itemsize + BITS - 1) // BITS
    write_keys(values, bits, counts, top, passes)
    given, taken = bits, spare
    for digit in range(passes):
        if start_buckets(counts, digit, np.uint64(len(bits))):
            fill_digit(given, taken, counts, digit)
            given, taken = taken, given
    sign = ONE << top
    for i in range(np.uint64(len(bits))):
        key = np.uint64(given[i])
        bits[i] = key ^ (((key >> top) - ONE) | sign)


@inner_kernel
def write_keys(values, bits, counts, top, passes):
    """Replace each number by its key, and count the digits."""
    for digit in range(passes):
        for b in range(BUCKETS):
            counts[digit, b] = 0
    sign = ONE << top
    every = sign | (sign - ONE)
    for i in range(np.uint64(len(bits))):
        raw = np.uint64(bits[i])
        key = (raw ^ ((np.uint64(0) - (raw >> top)) | sign)) & every
        if np.isnan(values[i]):
            key = every
        bits[i] = key
        for digit in range(passes):
            counts[digit, (key >> np.uint64(digit * BITS)) & IN_DIGIT] += np.uint32(1)


@inner_kernel
def fill_digit(given, taken, counts, digit):
    """Move keys to the buckets of a digit, stably."""
    shift = np.uint64(digit * BITS)
    for i in range(np.uint64(len(given))):
        bucket = (np.uint64(given[i]) >> shift) & IN_DIGIT
        to = counts[digit, bucket]
        counts[digit, bucket] = np.uint32(to + np.uint32(1))
        taken[to] = given[i]
