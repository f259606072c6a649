"""Sums that have no order: numbers are added up by exponent, as integers.

    x = m · 2^e,  m whole, |m| < 2⁵³ (float32: 2²⁴)          table[e] += m

Two tables are merged by adding them, so a sum over rows is the same however many threads or
machines have shared them. An int64 holds 2³⁸ float32 mantissas; those of float64 are kept in two
halves of 27 and 26 bits.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel

EXPONENTS, SINGLE_EXPONENTS = 2048, 256
LOW_BITS = 27
LOW = (1 << LOW_BITS) - 1
FRACTION = (1 << 52) - 1
SINGLE_FRACTION = (1 << 23) - 1
SMALLEST_EXPONENT = -149  # of a float32: 2⁻¹⁴⁹ is the least there is
ABSOLUTE = np.int32(0x7FFFFFFF)


@kernel
def add_doubles(values, table):
    """Add finite numbers to the sums of their exponents.

    Parameters
    ----------
    values : (n,) float64
    table : (EXPONENTS, 2) int64, added to: Σ of the low and of the high half of mantissas
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
    """Add the sizes |v| of some float32 numbers, and note the largest.

    Parameters
    ----------
    values : (n,) float32; values[first : last] are looked at
    start : first of those that are added; from it on every ``stride``-th one
    table : (SINGLE_EXPONENTS + 1,) int64, added to: Σ of mantissas by exponent; the last one is
        raised to the bits of max |v| over all of first … last − 1, which are ordered as the
        values are, infinity and NaN above all others
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
    """Add the sizes of those float32 numbers that places[first : last] name; see `add_sizes`."""
    bits = values.view(np.int32)
    for k in range(np.uint64(first), np.uint64(last)):
        add_size(bits[np.uint64(places[k])], table)


@inner_kernel
def add_size(bits, table):
    """Add the size of one number, given as its bits."""
    own = np.int64(bits & ABSOLUTE)
    exponent = own >> 23
    mantissa = own & SINGLE_FRACTION
    table[exponent] += mantissa | (SINGLE_FRACTION + 1) if exponent else mantissa
