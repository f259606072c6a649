"""Weights of classes, and of rows brought near 1, so that no product of sums overflows."""

from numbers import Real

import numpy as np
from sklearn.utils import compute_sample_weight

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


def weights_by_class(given, labels, *, may_be_negative=False, may_vanish=False):
    """Return the weight of each row by its label, float64 (n_rows,).

    Parameters
    ----------
    given : dict, list or str, the parameter ``class_weight``
    labels : (n_rows,)
    may_be_negative : bool
        Whether trees are grown on such weights, as scikit-learn's are.
    may_vanish : bool
        Whether all rows may have the weight 0, as they may there.

    Raises
    ------
    ValueError
        Where a weight is none, or no row has a weight and that is not allowed.
    """
    check_class_weight(given, may_be_negative=may_be_negative)
    found = compute_sample_weight(given, labels)
    if not (may_vanish or found.any()):
        raise ValueError("class_weight must leave at least one non-zero weight to the rows")
    return found


def check_class_weight(given, *, may_be_negative=False):
    """Raise ValueError where a ``class_weight``, if it is a dict, has a weight that is none."""
    least = -np.inf if may_be_negative else 0.0
    wanted = "a finite number" if may_be_negative else "a finite number of at least 0"
    for label, weight in given.items() if isinstance(given, dict) else ():
        is_number = isinstance(weight, Real)
        if not is_number or not np.isfinite(weight) or weight < least:
            raise ValueError(f"class_weight of {label!r} is {weight!r}; it must be {wanted}")
