"""Shift and scale of regression targets, for targets of any unit and far from 0.

A node becomes a leaf if its impurity is at most 2⁻⁵². The impurity has the unit of y², so with y
around 1e-9 every node would be a leaf. Also, the impurity is a difference of sums of squares, which
has no correct digits if y is far from 0 and varies little. So trees are grown on (y − shift) 2⁻ᵖ,
and their values are converted back. A product with a power of two is exact. For targets of ordinary
units, shift and p are 0, and the tree is unchanged bit for bit.
"""

from dataclasses import dataclass, replace

import numpy as np

SMALL, LARGE = 2.0**-10, 2.0**200  # half ranges of y that are not scaled
FAR = 2.0**12  # minimum midpoint of y, in half ranges, for which it is shifted
IN_SQUARES = "squared_error"  # the criterion whose impurity is in the unit of y²


@dataclass(frozen=True)
class TargetScale:
    """The shift subtracted from y, and the power of two by which the result is divided."""

    shift: float | np.ndarray = 0.0  # (n_outputs,) if y is (n_rows, n_outputs)
    power: int = 0
    criterion: str = IN_SQUARES

    @property
    def is_none(self):
        """Return whether y stays unchanged."""
        return not np.any(self.shift) and self.power == 0

    @property
    def _power_of_impurity(self):
        return 2 * self.power if self.criterion == IN_SQUARES else self.power

    def apply(self, y):
        """Return the shifted and scaled y."""
        return y if self.is_none else np.ldexp(y - self.shift, -self.power)

    def apply_to_impurity(self, value):
        """Return a parameter that is compared with decreases of impurity, scaled."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self._power_of_impurity))

    def apply_to_target(self, target, rules):
        """Return a scaled `grower.Target` and `tree_arrays.Rules`."""
        if self.is_none:
            return target, rules
        least = self.apply_to_impurity(rules.min_impurity_decrease)
        return replace(target, y=self.apply(target.y)), rules._replace(min_impurity_decrease=least)

    def restore_values(self, values):
        """Return a tree's values in the unit of y."""
        return values if self.is_none else np.ldexp(values, self.power) + self.shift

    def restore(self, tree):
        """Convert the values and impurities of a grown `Tree` back to the unit of y, in place."""
        if self.is_none:
            return
        tree.values[:] = self.restore_values(tree.values)
        impurity = tree.nodes["impurity"]
        with np.errstate(over="ignore", under="ignore"):
            tree.nodes["impurity"] = np.ldexp(impurity, self._power_of_impurity)


def find_target_scale(y, weight=None, criterion=IN_SQUARES):
    """Return the `TargetScale` for the rows with nonzero weight.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, n_outputs) float64
        Each output has its own shift; the power is that of the output with the largest range.
    weight : (n_rows,) float64, optional
    criterion : "squared_error", "absolute_error" or "poisson"
        "poisson" depends on ratios to the mean, so y is not shifted.
    """
    columns = y[:, None] if y.ndim == 1 else y
    shifts, halves, sizes = zip(
        *(measure_range(column, weight, criterion) for column in columns.T), strict=True
    )
    if not np.isfinite(halves).all() or max(halves) <= 0.0:
        return TargetScale()
    size = max(sizes)
    power = 0 if SMALL <= size <= LARGE else int(np.frexp(size)[1])
    return TargetScale(shifts[0] if y.ndim == 1 else np.array(shifts), power, criterion)


def measure_range(y, weight, criterion):
    """Return the shift of an output, half its range, and the number that determines the power."""
    least, most = range_of(y, weight)
    middle, half = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
    if criterion == "poisson":
        return 0.0, half, most
    return (middle if abs(middle) > FAR * half else 0.0), half, half


def needs_scale(least, most):
    """Return whether `find_target_scale` changes a target, by "squared_error".

    Parameters
    ----------
    least, most : smallest and largest y, float64 arrays or numbers
    """
    middle, half = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
    is_usual = (half >= SMALL) & (half <= LARGE) & (abs(middle) <= FAR * half)
    return np.isfinite(half) & (half > 0.0) & ~is_usual


def range_of(y, weight):
    """Return the smallest and the largest y of the rows with nonzero weight; NaN without any."""
    if weight is not None and not weight.all():
        y = y[weight != 0.0]
    return (y.min(), y.max()) if len(y) else (np.nan, np.nan)


def is_small(values):
    """Return whether all values are so small that trees need a scale."""
    return bool(np.abs(values).max(initial=0.0) < SMALL)
