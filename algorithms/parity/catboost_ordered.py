"""Ordered boosting by CatBoost's arithmetic."""

import math

import numpy as np

from algorithms.parity.catboost_categories import CatBoostCategoryGrower
from algorithms.parity.catboost_grower import CatBoostGrower
from algorithms.symmetric.grower import NO_NOISE, SCORES
from algorithms.symmetric.kernels.segment_scores import SegmentRows
from algorithms.symmetric.ordered_boosting import OrderedBooster
from algorithms.symmetric.ordered_grower import (
    SegmentHistograms,
    SegmentScan,
    numeric_candidates,
)
from algorithms.symmetric.segment_leaves import SegmentLeaves

KEPT_BITS = np.uint64(0xFFFF000000000000)  # sign, exponent and four bits of the mantissa
PARTS = 4  # of the argument of the exponential function
MANTISSA, HALF = np.uint32(0x007FFFFF), np.uint32(0x3F000000)
UNIT = np.float32(2.0**-23)
LOG_2 = np.float32(0.69314718)
LOG_TERMS = np.array([124.22551499, 1.498030302, 1.72587999, 0.3520887068], np.float32)


class CatBoostOrderedGrower(SegmentHistograms, CatBoostGrower):
    """Grower of the trees that CatBoost grows with ``boosting_type="Ordered"``."""

    most_kept = np.inf

    def _candidates(self):
        """Return the `Candidates`."""
        return self.static.arrays

    def _widths(self):
        """Return the number of bins of each static candidate, int64."""
        return self.static.widths

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownTree`; parameters are those of `SegmentHistograms.grow`."""
        self.before = 0.0
        return SegmentHistograms.grow(self, g, weight, l2, noise, seed)


class CatBoostOrderedCategoryGrower(SegmentHistograms, CatBoostCategoryGrower):
    """Grower of CatBoost's trees with ``boosting_type="Ordered"`` and categorical columns."""

    most_kept = np.inf

    def _make_histograms(self):
        """Leave the allocation of histograms to `start_tree`."""

    def _candidates(self):
        """Return the `Candidates` that are the same at all levels."""
        return self.static.arrays

    def _widths(self):
        """Return the number of bins of each static candidate, int64."""
        return self.static.widths

    def grow(self, g, weight, _l2, _noise, _seed):
        """Return the `GrownCategoricalTree`; parameters are those of `SegmentHistograms.grow`."""
        self.before, self.splits, self.statistic_scans = 0.0, [], {}
        self.segment_rows = SegmentRows(
            self.fold.position, self.fold.segments, self.segment_l2, g, weight
        )
        if not (len(self.static) or self.original.counted):
            return self._finish([])
        return self._finish(self._find_splits_by_level(self.fold.order.copy(), None, 0.0, 0))

    def _scan_level(self, groups, noise, seed):
        """Find the best split of each static candidate and of each statistic."""
        super()._scan_level(groups, noise, seed)
        scoring = SCORES[self.params.score_function], NO_NOISE, np.uint32(0)
        projections, kept, self.level_best = self._projections(), {}, []
        self.level_bins = self.original.bins_of(projections, 0, self.workers)
        for projection, own in zip(projections, self.level_bins, strict=True):
            columns = np.ascontiguousarray(own.rows.T)
            candidates = numeric_candidates(columns, own.n_bins - 1)
            scan = self.statistic_scans.get(projection) or SegmentScan(own.n_bins, self)
            scan.scan(candidates, groups, scoring, (0, len(columns)))
            scan.is_new = False
            if not projection.is_single:
                kept[projection] = scan
            self.level_best.append((scan.best_score.copy(), scan.best_split.copy()))
        self.statistic_scans = kept


class CatBoostSegmentLeaves(SegmentLeaves):
    """Segments whose factors are scaled by CatBoost's fast logarithm and exponential function."""

    def _scaled_factor(self, factor, rate):
        """Return factorʳᵃᵗᵉ, approximately; a factor above float32's range counts as infinite."""
        distinct, place = np.unique(factor, return_inverse=True)
        with np.errstate(over="ignore"):
            short = distinct.astype(np.float32)
        scaled = fast_exp(fast_log(short).astype(np.float64) * rate)
        return scaled[place].reshape(factor.shape)

    def _quantile_weights(self):
        """Return the weights of the residuals, which CatBoost uses in segments."""
        return self.weight


class CatBoostOrderedBooster(OrderedBooster):
    """Ordered boosting that builds CatBoost's trees."""

    segment_leaves = CatBoostSegmentLeaves


def fast_log(x):
    """Return the natural logarithm of positive float32 numbers with an error of some 1e-5.

    The logarithm of infinity is that of 2¹²⁸, as its bits continue those of finite numbers.
    """
    bits = x.view(np.uint32)
    mantissa = ((bits & MANTISSA) | HALF).view(np.float32)
    a, b, c, d = LOG_TERMS
    log = bits.astype(np.float32) * UNIT - a - b * mantissa - c / (d + mantissa)
    return LOG_2 * log


def fast_exp(x):
    """Return the exponentials of float64 numbers as products of exponentials of short numbers."""
    rest, result = x.copy(), np.ones_like(x)
    for _ in range(PARTS):
        short = (rest.view(np.uint64) & KEPT_BITS).view(np.float64)
        result *= np.array([exponential(value) for value in short.tolist()])
        rest -= short
    return result * (1.0 + rest)


def exponential(value):
    """Return the C library's eˣ, infinite where it overflows."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
