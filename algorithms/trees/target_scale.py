"""Grow regression trees on targets of any unit, and far from 0.

A tree makes a leaf of a node whose impurity is at most 2⁻⁵², which is in the unit of y²: with y
around 1e-9 each node would be one. And the impurity is a difference of sums of squares, which has
no correct digits where y is far from 0 and varies little. So trees are grown on (y − shift) 2⁻ᵖ,
and what they say is brought back. A product by a power of two is exact. For targets of ordinary
units, shift and p are 0 and the tree is the same to the bit.
"""

from dataclasses import dataclass, replace

import numpy as np

SMALL, LARGE = 2.0**-10, 2.0**200  # half ranges of y that are left as they are
FAR = 2.0**12  # middle of y in half ranges from which on it is shifted
IN_SQUARES = "squared_error"  # the criterion whose impurity is in the unit of y²


@dataclass(frozen=True)
class TargetScale:
    """What is subtracted from y, and the power of two that the rest is divided by."""

    shift: float = 0.0
    power: int = 0
    criterion: str = IN_SQUARES

    @property
    def is_none(self):
        """Whether y stays what it is."""
        return self.shift == 0.0 and self.power == 0

    @property
    def _power_of_impurity(self):
        return 2 * self.power if self.criterion == IN_SQUARES else self.power

    def apply(self, y):
        """Return y as a tree is grown on it."""
        return y if self.is_none else np.ldexp(y - self.shift, -self.power)

    def apply_to_impurity(self, value):
        """Return a parameter that is compared with decreases of impurity."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self._power_of_impurity))

    def apply_to_target(self, target, rules):
        """Return a `growing.Target` and `layout.Rules` as a tree is grown by them."""
        if self.is_none:
            return target, rules
        least = self.apply_to_impurity(rules.min_impurity_decrease)
        return replace(target, y=self.apply(target.y)), rules._replace(min_impurity_decrease=least)

    def restore_values(self, values):
        """Return what a tree says in the unit of y."""
        return values if self.is_none else np.ldexp(values, self.power) + self.shift

    def restore(self, tree):
        """Bring the values and impurities of a grown `Tree` back to the unit of y, in place."""
        if self.is_none:
            return
        tree.values[:] = self.restore_values(tree.values)
        impurity = tree.nodes["impurity"]
        with np.errstate(over="ignore", under="ignore"):
            tree.nodes["impurity"] = np.ldexp(impurity, self._power_of_impurity)


def find_target_scale(y, weight=None, criterion=IN_SQUARES):
    """Return the `TargetScale` of the rows that weigh something.

    Parameters
    ----------
    y : (n_rows,) float64
    weight : (n_rows,) float64, optional
    criterion : "squared_error", "absolute_error" or "poisson"
        "poisson" looks at ratios to the mean: y is not shifted.
    """
    least, most = range_of(y, weight)
    middle, half = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
    if not np.isfinite(half) or half <= 0.0:
        return TargetScale()
    shift = 0.0
    if criterion == "poisson":
        half = most
    elif abs(middle) > FAR * half:
        shift = middle
    power = 0 if SMALL <= half <= LARGE else int(np.frexp(half)[1])
    return TargetScale(shift, power, criterion)


def range_of(y, weight):
    """Return the least and the largest y of the rows that weigh something; NaN without any."""
    if weight is not None and not weight.all():
        y = y[weight != 0.0]
    return (y.min(), y.max()) if len(y) else (np.nan, np.nan)


def is_small(values):
    """Return whether all values are so small that trees on them need a scale."""
    return bool(np.abs(values).max(initial=0.0) < SMALL)
