"""Reproducible exponential and logarithm, and hash-based random numbers.

The C math library gives different last bits on different processors, and cannot be vectorized here.
This exponential uses only additions and multiplications, so it is bitwise the same everywhere; its
maximum relative error is below 4e-16. Random numbers are hashes of a seed and an index.
"""

import numpy as np

from algorithms.runtime.intrinsics import bits_of_double, double_of_bits
from algorithms.runtime.jit import inner_kernel

SHIFT = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest integer in the lowest bits
PER_OCTAVE = 1.4426950408889634  # 1 / ln 2
LN2_HIGH = 0.693147180369123816490  # ln 2 in two parts; products of the first one are exact
LN2_LOW = 1.90821492927058770002e-10
LARGEST, SMALLEST = 709.0, -708.0
FRACTION = 2.0**-24
MANTISSA = (1 << 52) - 1
ONE_BITS = 1023 << 52  # the bits of 1.0
ROOT_TWO = 1.4142135623730951


@inner_kernel
def exp(x):
    """Return eˣ, with x clipped to −708 … 709."""
    x = min(max(x, SMALLEST), LARGEST)
    shifted = x * PER_OCTAVE + SHIFT
    n = shifted - SHIFT
    r = (x - n * LN2_HIGH) - n * LN2_LOW  # x = n ln 2 + r, |r| ≤ ln 2 / 2
    p = 1.0 / 6227020800.0  # Taylor: Σ rⁱ / i!, i = 0 … 13
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return double_of_bits(bits_of_double(p) + (bits_of_double(shifted) << 52))  # p · 2ⁿ


@inner_kernel
def log(x):
    """Return the natural logarithm of a normal number above 0; relative error below 1e-15."""
    bits = bits_of_double(x)
    exponent = np.int64((bits >> 52) & 2047) - 1023
    m = double_of_bits((bits & MANTISSA) | ONE_BITS)  # x = m 2^exponent, 1 ≤ m < 2
    if m > ROOT_TWO:
        m, exponent = m * 0.5, exponent + 1
    z = (m - 1.0) / (m + 1.0)  # ln m = 2 (z + z³/3 + z⁵/5 + …), |z| < 0.172
    square = z * z
    p = 1.0 / 21.0
    p = p * square + 1.0 / 19.0
    p = p * square + 1.0 / 17.0
    p = p * square + 1.0 / 15.0
    p = p * square + 1.0 / 13.0
    p = p * square + 1.0 / 11.0
    p = p * square + 1.0 / 9.0
    p = p * square + 1.0 / 7.0
    p = p * square + 1.0 / 5.0
    p = p * square + 1.0 / 3.0
    p = p * square + 1.0
    return exponent * LN2_HIGH + (2.0 * z * p + exponent * LN2_LOW)


@inner_kernel
def hash_of(seed, number):
    """Return a 32-bit hash of two numbers below 2³²."""
    x = np.uint32(np.uint32(number) * np.uint32(0x9E3779B1))
    x = np.uint32(x ^ np.uint32(seed))
    x = np.uint32(x ^ (x >> np.uint32(16)))
    x = np.uint32(x * np.uint32(0x7FEB352D))
    x = np.uint32(x ^ (x >> np.uint32(15)))
    x = np.uint32(x * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@inner_kernel
def uniform(seed, number):
    """Return a pseudo-random multiple of 2⁻²⁴ in [0, 1), a hash of two numbers below 2³²."""
    return np.float64(np.int32(hash_of(seed, number) >> np.uint32(8))) * FRACTION
