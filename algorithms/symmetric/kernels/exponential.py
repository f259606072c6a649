"""Exponential function with a table of 2048 powers of two and a cubic, as CatBoost computes it.

eˣ = 2ᵏ · 2^(i/2048) · e^−t          x = (2048 k + i) ln 2 / 2048 − t
"""

import math

import numpy as np

from algorithms.runtime.intrinsics import bits_of_double, double_of_bits
from algorithms.runtime.jit import inner_kernel, kernel

BITS = 11
SIZE = 1 << BITS
MANTISSA = (1 << 52) - 1
PER_UNIT = SIZE / math.log(2.0)
UNIT = 1.0 / PER_UNIT
SHIFT = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest integer in the lowest bits
ADJUST = (1 << (BITS + 10)) - SIZE
SIXTH, THREE = 0.16666666685227835064, 3.0000000027955394
LARGEST, SMALLEST = 709.78272569338397, -708.39641853226408
POWERS = np.array([2.0 ** (i * (1.0 / SIZE)) for i in range(SIZE)]).view(np.int64) & MANTISSA


@inner_kernel
def table_exp(x):
    """Return eˣ; x is clipped to the range of float64."""
    x = max(min(x, LARGEST), SMALLEST)
    shifted = x * PER_UNIT + SHIFT
    whole = np.int64(bits_of_double(shifted))
    t = (shifted - SHIFT) * UNIT - x
    power = (((whole + ADJUST) >> BITS) << 52) | POWERS[whole & (SIZE - 1)]
    y = (THREE - t) * (t * t)
    y = (y * SIXTH - t) + 1.0
    return y * double_of_bits(power)


@kernel
def exponentiate(values):
    """Replace values by their exponentials.

    Parameters
    ----------
    values : (n,) float64, written
    """
    for i in range(len(values)):
        values[i] = table_exp(values[i])
