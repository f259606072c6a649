"""Binned training rows, and the harness adapter that times binning and training separately.

`fit` bins and trains in one call, as scikit-learn's estimators do. The adapter separates the two
steps, as LightGBM does with its `Dataset`, so that each step can be compared with LightGBM's.
"""

from copy import copy
from typing import Any, NamedTuple

from algorithms.gbdt.kernels.booster_arrays import NO_FORCED
from harness import EstimatorAdapter


class Binned(NamedTuple):
    """Input of training: bins, row order and growing rules.

    The bins of high-cardinality columns are rewritten before each tree, so the rows can be used for
    several trainings.
    """

    bins: Any  # booster_arrays.Bins
    binner: Any  # Binner
    order: tuple  # row order if rows are reordered, as in `pack_rows`
    high_cardinality: list  # of HighCardinalityColumn
    rules: Any  # booster_arrays.Rules
    forced: Any = NO_FORCED  # from `forced_splits.find_forced_bins`
    weight: Any = None  # float64 (n_features,), factors of gains; None: all are 1


class Rows(NamedTuple):
    """Training rows that an unfitted booster has read and binned."""

    model: Any  # booster that has read the classes, columns and categories; it is not trained
    X: Any  # validated X for DART, otherwise None
    y: Any
    weight: Any
    binned: Binned


class HistogramAdapter(EstimatorAdapter):
    """Adapter that runs a histogram booster in two steps: `prepare` bins, and `fit` trains."""

    def prepare(self, X, y, weight):
        """Bin the rows; in parity mode `fit` does all the work."""
        model = self.build(self.spec)
        if model.parity is not None:
            return super().prepare(X, y, weight)
        return model._read_and_bin(X, y, weight)  # noqa: SLF001 - same package

    def fit(self, native):
        """Train a new booster."""
        if not isinstance(native, Rows):
            super().fit(native)
            return
        self.model = copy(native.model)._fit_binned(native)  # noqa: SLF001


def adapter(build):
    """Return an adapter factory; ``build(spec)`` returns an unfitted booster."""
    return lambda spec: HistogramAdapter(build, spec)
