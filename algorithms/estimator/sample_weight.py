"""Sample weights: class weights, rows with weight 0, and the scale of the weights."""

from copy import copy
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import compute_sample_weight

FAR = 32  # weights within 2^±32 are not rescaled
SUMMED_PARAMS = frozenset(  # parameters of boosters that are compared with sums of weights
    {
        "cat_l2",
        "cat_smooth",
        "gamma",
        "linear_lambda",
        "min_child_weight",
        "min_split_gain",
        "reg_alpha",
        "reg_lambda",
    }
)


def bring_near_one(weight):
    """Return weights times 2⁻ᵏ, and k; k is 0 if the largest weight is not far from 1.

    Sums, quotients and products of weights have the same mantissas as without scaling, if they are
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
        If all weights are 0.
    """
    kept = weight > 0.0
    if kept.all():
        return weight, X, *others
    if not kept.any():
        raise ValueError("sample_weight is zero for all rows")
    X = X[kept] if sparse.issparse(X) else np.ascontiguousarray(X[kept])
    return weight[kept], X, *(None if one is None else one[kept] for one in others)


def split_unit(weight):
    """Return weights divided by their common value, and this value.

    If all weights are equal, the result is (None, their value). If all are equal or 0, the equal
    ones become 1. Other weights are unchanged, with the value 1.

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
    """Return a copy of a booster, the weights divided by the largest one, and the largest one.

    Equal weights become None. In the copy, parameters that are compared with sums of weights are
    divided by the largest weight, too. So the trees are those of the original weights, and do not
    depend on the rounding of multiples of the weights. The caller must multiply gains and sums of
    hessians by the largest weight.

    Parameters
    ----------
    params : HistogramBoosting or NewtonBoosting, with numeric parameters
    weight : (n_rows,) float64 above 0, or None
    extremes : (least, largest) weight of the whole table, if ``weight`` is a part of it
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
        If given, "balanced" counts only rows with a non-zero weight.
    may_be_negative : bool
        Whether negative weights are allowed, as in scikit-learn's trees.
    may_vanish : bool
        Whether all rows may have weight 0, as in scikit-learn's trees.

    Raises
    ------
    ValueError
        If a weight is invalid, or if all weights are 0 and that is not allowed.
    """
    check_class_weight(given, may_be_negative=may_be_negative)
    counted = None if weight is None or given != "balanced" else np.flatnonzero(weight)
    weights = compute_sample_weight(given, labels, indices=counted)
    if not (may_vanish or weights.any()):
        raise ValueError("class_weight must leave at least one non-zero weight to the rows")
    return weights


def check_class_weight(given, *, may_be_negative=False):
    """Raise ValueError if a ``class_weight`` dict has an invalid weight."""
    least = -np.inf if may_be_negative else 0.0
    wanted = "a finite number" if may_be_negative else "a finite number of at least 0"
    for label, weight in given.items() if isinstance(given, dict) else ():
        is_number = isinstance(weight, Real)
        if not is_number or not np.isfinite(weight) or weight < least:
            raise ValueError(f"class_weight of {label!r} is {weight!r}; it must be {wanted}")
