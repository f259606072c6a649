"""Exact sums of floating-point numbers: integer mantissas are added by exponent.

    x = m · 2^e,  m an integer, |m| < 2⁵³ (float32: 2²⁴)          table[e] += m

Tables are merged by addition, so a sum over rows does not depend on the order or on the number of
threads or machines. An int64 holds the sum of 2³⁸ float32 mantissas; those of float64 are divided
into two parts of 27 and 26 bits.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

EXPONENTS, SINGLE_EXPONENTS = 2048, 256
LOW_BITS = 27
LOW = (1 << LOW_BITS) - 1
FRACTION = (1 << 52) - 1
SINGLE_FRACTION = (1 << 23) - 1
MIN_EXPONENT = -149  # 2⁻¹⁴⁹ is the smallest positive float32
ABSOLUTE = np.int32(0x7FFFFFFF)


@kernel
def add_doubles(values, table):
    """Add finite numbers to a table of sums by exponent.

    Parameters
    ----------
    values : (n,) float64
    table : (EXPONENTS, 2) int64, added to: sums of the low and of the high parts of mantissas
    """
    bits = values.view(np.int64)
    for i in range(np.uint64(len(bits))):
        exponent = (bits[i] >> 52) & (EXPONENTS - 1)
        mantissa = bits[i] & FRACTION
        if exponent:
            mantissa |= FRACTION + 1
        sign = np.int64(1) if bits[i] >= 0 else np.int64(-1)
        table[exponent, 0] += sign * (mantissa & LOW)
        table[exponent, 1] += sign * (mantissa >> LOW_BITS)


@kernel
def add_sizes(values, start, first, last, stride, table):
    """Add the absolute values of some float32 numbers, and find the largest one.

    Parameters
    ----------
    values : (n,) float32; the maximum is over values[first : last]
    start : index of the first number that is added; then every ``stride``-th one is
    table : (SINGLE_EXPONENTS + 1,) int64, added to: sums of mantissas by exponent; the last entry
        becomes the bits of max |v| if these are larger; bits are ordered like absolute values,
        with infinity and NaN above all others
    """
    bits = values.view(np.int32)
    most = np.int32(0)
    for i in range(np.uint64(first), np.uint64(last)):
        most = max(most, bits[i] & ABSOLUTE)
    for i in range(np.uint64(start), np.uint64(last), np.uint64(stride)):
        add_size(bits[i], table)
    table[SINGLE_EXPONENTS] = max(table[SINGLE_EXPONENTS], np.int64(most))


@linked_kernel
def add_sizes_at(values, places, first, last, table):
    """Add |v| of the float32 numbers at the indices places[first : last]; see `add_sizes`."""
    bits = values.view(np.int32)
    for k in range(np.uint64(first), np.uint64(last)):
        add_size(bits[np.uint64(places[k])], table)


@inner_kernel
def add_size(bits, table):
    """Add the absolute value of one number, given by its bits."""
    magnitude = np.int64(bits & ABSOLUTE)
    exponent = magnitude >> 23
    mantissa = magnitude & SINGLE_FRACTION
    table[exponent] += mantissa | (SINGLE_FRACTION + 1) if exponent else mantissa
