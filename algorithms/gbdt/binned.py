"""Rows in bins, for many models to be trained on; and how the harness asks for binning apart.

`fit` bins and trains in one call, as scikit-learn's estimators do. Here the two are apart, as in
LightGBM, whose `Dataset` is binned once: so each can be timed against its like.
"""

from copy import copy
from typing import Any, NamedTuple

from harness import EstimatorAdapter


class Binned(NamedTuple):
    """What trees are grown from, round by round.

    Bins of crowds are written anew before each tree, so a training leaves nothing to the next.
    """

    bins: Any  # hist.layout.Bins
    binner: Any  # Binner
    order: tuple  # of rows that lie otherwise than they are numbered, as `pack_rows` takes it
    crowds: list  # of Crowd: columns of more categories than bins
    rules: Any  # hist.layout.Rules


class Rows(NamedTuple):
    """Training rows as an unfitted booster has read and binned them."""

    model: Any  # knows classes, columns and categories; not to be trained itself
    X: Any  # as read, of DART; else None
    y: Any
    weight: Any
    binned: Binned


class HistogramAdapter(EstimatorAdapter):
    """Drive a histogram booster in two steps, which together are `fit`."""

    def prepare(self, X, y, weight):
        """Bring the rows into bins; in parity mode all is left to `fit`."""
        model = self.build(self.spec)
        if model.parity is not None:
            return super().prepare(X, y, weight)
        return model._read_and_bin(X, y, weight)  # noqa: SLF001 - the other half of its own part

    def fit(self, native):
        """Train a new booster."""
        if not isinstance(native, Rows):
            super().fit(native)
            return
        self.model = copy(native.model)._fit_binned(native)  # noqa: SLF001


def adapter(build):
    """Return an adapter factory; ``build(spec)`` returns an unfitted booster."""
    return lambda spec: HistogramAdapter(build, spec)
