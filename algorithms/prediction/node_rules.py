"""Splits of any `harness.TreeEnsemble`, converted without loss to ``x <= end`` in float64.

Libraries differ in three ways: `<` or `<=`, whether X is rounded to float32 first, and whether
tiny values are read as 0. Rounding is monotone, so each numeric split is equivalent to
``x <= end`` on the float64 x, for some `end`. With float32, `end` is the middle between the last
float32 that goes left and the next one, or just below it, since ties round to even.
"""

import numpy as np

from harness import Missing

BEYOND = 2.0**128  # successor of the largest float32: values that round to it are infinite


def ends_left(ensemble):
    """Return the largest float64 that each numeric split sends left, (n_nodes,).

    NaN if no value goes left. The values of leaves and categorical splits are arbitrary.
    """
    single = ensemble.input_dtype == "float32"
    strict = ensemble.comparison == "<"
    last = last_single(ensemble.threshold) if single else ensemble.threshold
    last = np.where(strict & (last == ensemble.threshold), before(last), last)
    if ensemble.zero_within:
        size = np.array(ensemble.zero_within)
        last = past_zeros(last, last_single(size) if single else size)
    nothing = strict & (ensemble.threshold == -np.inf)
    return np.where(nothing, np.nan, end_of_rounding(last) if single else last)


def past_zeros(last, size):
    """Return the last values that go left if values up to ``size`` are read as 0."""
    last = np.where((last >= -size) & (last < 0), before(-size), last)
    return np.where((last >= 0) & (last < size), size, last)


def before(values):
    """Return the predecessor of each number, in the values' dtype."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(-np.inf))


def after(values):
    """Return the successor of each number, in the values' dtype."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(np.inf))


def last_single(values):
    """Return the largest float32 that is not above each float64 value."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    above = rounded.astype(np.float64) > values
    return np.where(above, before(rounded), rounded)


def end_of_rounding(last):
    """Return the largest float64 that rounds to a float32 at most ``last``."""
    both = (last, after(last))
    ends = [np.clip(side.astype(np.float64), -BEYOND, BEYOND) for side in both]
    middle = ends[0] / 2 + ends[1] / 2
    is_even = np.ascontiguousarray(last, np.float32).view(np.uint32) % 2 == 0
    end = np.where(is_even, middle, before(middle))
    return np.where(last == np.inf, np.inf, end)


def nan_goes_left(ensemble, ends):
    """Return whether each node sends NaN left, bool (n_nodes,).

    Parameters
    ----------
    ends : as returned by `ends_left`
    """
    is_categorical = ensemble.categories >= 0
    number = np.where(is_categorical, ensemble.categories, 0)
    listed_left = np.append(ensemble.members_left, False)  # one more, in case there are no sets
    first = np.append(ensemble.set_codes, -1)[ensemble.set_indptr]
    holds_zero = np.append(np.diff(ensemble.set_indptr) > 0, False) & (
        first == 0
    )  # codes are ascending
    as_zero = np.where(is_categorical, (holds_zero == listed_left)[number], ends >= 0)
    no_member = is_categorical & ~listed_left[number]
    to_left = np.where(ensemble.missing == Missing.NAN_AS_ZERO, as_zero, ensemble.default_left)
    return np.where(ensemble.missing == Missing.NONE, no_member, to_left)
