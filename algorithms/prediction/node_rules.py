"""What the nodes of any `harness.TreeEnsemble` ask, brought to one form without loss.

Libraries differ in three ways: `<` or `<=`, whether X is rounded to float32 first, and whether
tiny values are read as 0. Rounding keeps the order of numbers, so each numeric question is the
same as ``x <= end`` on the float64 x as it stands, for some `end`. With float32, `end` is the
middle between the last float32 that goes left and the next one, or just below it: a tie is
rounded to the even one of the two.
"""

import numpy as np

from harness import Missing

BEYOND = 2.0**128  # what follows the largest float32: values that round to it are infinite


def ends_left(ensemble):
    """Return the largest float64 that each node's numeric question sends left, (n_nodes,).

    NaN where none is sent left. Of leaves and of questions about categories it says nothing.
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
    """Return the last values that go left, where values up to a size are read as 0."""
    last = np.where((last >= -size) & (last < 0), before(-size), last)
    return np.where((last >= 0) & (last < size), size, last)


def before(values):
    """Return the number before each, in the values' own dtype."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(-np.inf))


def after(values):
    """Return the number after each, in the values' own dtype."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(np.inf))


def last_single(values):
    """Return the largest float32 that is at most each float64 value."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    above = found.astype(np.float64) > values
    return np.where(above, before(found), found)


def end_of_rounding(last):
    """Return the largest float64 that rounds to a float32 at most ``last``."""
    both = (last, after(last))
    ends = [np.clip(side.astype(np.float64), -BEYOND, BEYOND) for side in both]
    middle = ends[0] / 2 + ends[1] / 2
    is_even = np.ascontiguousarray(last, np.float32).view(np.uint32) % 2 == 0
    found = np.where(is_even, middle, before(middle))
    return np.where(last == np.inf, np.inf, found)


def nan_goes_left(ensemble, ends):
    """Return where each node sends NaN, bool (n_nodes,).

    Parameters
    ----------
    ends : of `ends_left`
    """
    asks_set = ensemble.categories >= 0
    number = np.where(asks_set, ensemble.categories, 0)
    listed_left = np.append(ensemble.members_left, False)  # one more, where there are no sets
    first = np.append(ensemble.set_codes, -1)[ensemble.set_indptr]
    holds_zero = np.append(np.diff(ensemble.set_indptr) > 0, False) & (first == 0)  # codes ascend
    as_zero = np.where(asks_set, (holds_zero == listed_left)[number], ends >= 0)
    no_member = asks_set & ~listed_left[number]
    found = np.where(ensemble.missing == Missing.NAN_AS_ZERO, as_zero, ensemble.default_left)
    return np.where(ensemble.missing == Missing.NONE, no_member, found)
