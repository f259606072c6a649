"""Sample weights: class weights, rows without weight, and the unit that weights are given in."""

from copy import copy
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import compute_sample_weight

FAR = 32  # powers of two from 1 up to which weights are left as they are
SUMMED_PARAMS = frozenset(  # of boosters: they are compared with sums of weights
    {
        "cat_l2",
        "cat_smooth",
        "gamma",
        "min_child_weight",
        "min_split_gain",
        "reg_alpha",
        "reg_lambda",
    }
)


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


def drop_unweighted(weight, X, *others):
    """Return the weights and the rows of X and other arrays whose weight is above 0.

    Parameters
    ----------
    weight : (n_rows,) float64, at least 0
    X : array or CSR or CSC matrix (n_rows, n_features)
    others : arrays (n_rows, ...), or None

    Raises
    ------
    ValueError
        Where all weights are 0.
    """
    kept = weight > 0.0
    if kept.all():
        return weight, X, *others
    if not kept.any():
        raise ValueError("sample_weight is zero for all rows")
    X = X[kept] if sparse.issparse(X) else np.ascontiguousarray(X[kept])
    return weight[kept], X, *(None if one is None else one[kept] for one in others)


def split_unit(weight):
    """Return weights without their common unit, and the unit.

    Weights that are all equal are no weights: (None, their value). Where others are 0, the equal
    ones become 1. Weights that differ stay as they are, in the unit 1.

    Parameters
    ----------
    weight : (n_rows,) float64, or None
    """
    if weight is None or not len(weight):
        return weight, 1.0
    unit = float(weight.max())
    is_present = weight == unit
    if not 0.0 < unit < np.inf or not (is_present | (weight == 0.0)).all():
        return weight, 1.0
    return (None if is_present.all() else is_present.astype(np.float64)), unit


def split_unit_of_params(params, weight, extremes=None):
    """Return a copy of a booster, the weights divided by the largest one, and that one.

    Weights that are all equal become None. In the copy the parameters that are compared with sums
    of weights are divided by the largest weight, too. So the trees are those of the weights as they
    were given, and do not depend on the rounding of multiples of the weights. Gains and sums of
    hessians are to be multiplied by the largest weight.

    Parameters
    ----------
    params : HistogramBoosting or NewtonBoosting, its parameters numbers
    weight : (n_rows,) float64 above 0, or None
    extremes : (least, largest) weight of the whole table, where ``weight`` is of a part of it
    """
    params = copy(params)
    if weight is None:
        return params, None, 1.0
    least, unit = extremes or (float(weight.min()), float(weight.max()))
    weight = None if least == unit else weight / unit
    if unit != 1.0:
        with np.errstate(over="ignore"):
            for name in SUMMED_PARAMS & vars(params).keys():
                setattr(params, name, float(np.float64(getattr(params, name)) / unit))
    return params, weight, unit


def weights_by_class(given, labels, weight=None, *, may_be_negative=False, may_vanish=False):
    """Return the weight of each row by its label, float64 (n_rows,).

    Parameters
    ----------
    given : dict, list or str, the parameter ``class_weight``
    labels : (n_rows,)
    weight : (n_rows,), optional
        Where it is given, "balanced" counts the rows whose weight is not 0; else it counts all.
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
    counted = None if weight is None or given != "balanced" else np.flatnonzero(weight)
    found = compute_sample_weight(given, labels, indices=counted)
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
