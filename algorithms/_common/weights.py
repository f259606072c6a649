"""Bring weights that are very large or very small near 1, so that no product of sums overflows."""

import numpy as np

FAR = 32  # powers of two from 1 up to which weights are left as they are


def bring_near_one(weight):
    """Return weights times 2⁻ᵏ, and k: 0 where the largest is not far from 1.

    Sums, quotients and products of weights have the same bits as without it, wherever those are
    finite and not 0.

    Parameters
    ----------
    weight : (n_rows,) float64, or None
    """
    if weight is None:
        return None, 0
    largest = np.abs(weight).max(initial=0.0)
    power = int(np.frexp(largest)[1])
    if largest == 0.0 or not np.isfinite(largest) or abs(power) <= FAR:
        return weight, 0
    return np.ldexp(weight, -power), power
