"""Number of representable numbers between two numbers."""

from __future__ import annotations

import math

import numpy as np


def ulps_between(one: float, other: float, dtype: str) -> tuple[int | None, str]:
    """Return the steps from one number to another, and the dtype of the steps.

    Parameters
    ----------
    dtype
        float32 or float64; float32 is used only where both numbers are exact in it.

    Returns
    -------
    steps
        None if a number is NaN.
    """
    if math.isnan(one) or math.isnan(other):
        return None, dtype
    exact = all(float(np.float32(v)) == v for v in (one, other) if abs(v) < 3e38)
    if dtype == "float64" or not exact:
        return abs(
            _place(one, np.float64, np.int64) - _place(other, np.float64, np.int64)
        ), "float64"
    return abs(_place(one, np.float32, np.int32) - _place(other, np.float32, np.int32)), "float32"


def _place(value: float, dtype: type[np.floating], bits: type[np.signedinteger]) -> int:
    """Return the position of a number among all of its dtype, zero at 0."""
    number = int(np.array(value, dtype).view(bits))
    return number if number >= 0 else int(np.iinfo(bits).min) - number
