"""Target statistics of categorical columns: ordered in training, of all rows in prediction.

With the target classes c and the prior P, the statistic of level x is

    Borders                   (#{c > b} + P) / (n + 1)         for each border b of the target
    Buckets                   (#{c = k} + P) / (n + 1)         for each class k
    BinarizedTargetMeanValue  (Σ c / borders + P) / (n + 1)
    Counter                   (n + P) / (max n + 1)

In training n and # count the rows of level x that come earlier in a permutation, so the target of
a row never enters its own statistic; Counter counts all rows. In prediction they count all training
rows, and a level that is absent from them has n = 0.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.ctr_options import BORDERS, BUCKETS, COUNTER, MEAN, CtrOptions
from algorithms.symmetric.kernels import target_statistics as kernels
from algorithms.symmetric.kernels.target_statistics import sum_classes, write_statistics
from algorithms.symmetric.projections import Projection

BELOW_NEXT = np.float32(0.999999)  # bin + this is CatBoost's border above the values of the bin
KINDS = {
    BORDERS: kernels.BORDERS,
    BUCKETS: kernels.BUCKETS,
    MEAN: kernels.MEAN,
    COUNTER: kernels.COUNTER,
}


@dataclass(frozen=True)
class StatisticFormula:
    """Value of a statistic on the scale of its bins; all numbers are float32.

    ((good + prior) / (total + weight) + shift) · scale
    """

    prior: float
    weight: float
    shift: float
    scale: float

    def value(self, good, total):
        """Return the values, float32, as CatBoost's prediction computes them.

        Parameters
        ----------
        good : (n_levels,), numerators without the prior
        total : (n_levels,) or number, denominators without the weight of the prior
        """
        prior, weight, shift, scale = (
            np.float32(one) for one in (self.prior, self.weight, self.shift, self.scale)
        )
        good, total = np.asarray(good, np.float32), np.asarray(total, np.float32)
        return ((good + prior) / (total + weight) + shift) * scale


@dataclass(frozen=True)
class Statistic:
    """One target statistic of a projection: a kind, a target border or class, and a prior."""

    projection: Projection
    options: CtrOptions
    target: int  # border or class of the target
    prior: int  # index of the prior

    @property
    def group(self):
        """Kind and projection, whose first use is penalized by `model_size_reg`."""
        return self.options.kind, self.projection

    @property
    def table_key(self):
        """Key of the `CountTable`, which statistics of several priors and targets share."""
        own = self.options
        return self.projection, own.kind, own.target_borders, own.target_border_type

    @property
    def sources(self):
        """Positions of the columns of X from which it is computed."""
        return self.projection.sources

    @property
    def formula(self):
        """The `StatisticFormula`."""
        own = self.options
        shift, norm = own.shifts[self.prior], own.norms[self.prior]
        scale = np.float32(own.n_borders) / norm
        prior = np.float32(own.priors[self.prior])
        return StatisticFormula(float(prior), 1.0, float(shift), float(scale))

    def border(self, split_bin):
        """Return the border above the values of a bin, float32."""
        return np.float32(split_bin) + BELOW_NEXT


@dataclass(frozen=True)
class StoredStatistic:
    """One target statistic of a model that was read from a file."""

    projection: Projection
    table_key: int  # number of its table in the file
    target: int  # border or class of the target
    formula: StatisticFormula

    @property
    def sources(self):
        """Positions of the columns of X from which it is computed."""
        return self.projection.sources


@dataclass(frozen=True)
class CountTable:
    """Counts of the levels of a projection over all training rows."""

    kind: str
    # (n_levels + 1, n_columns): rows of each target class for Borders and Buckets; the sum of the
    # target's classes and the number of rows for BinarizedTargetMeanValue; the number of rows for
    # Counter. The last entry, all zeros, is a level that is absent from training.
    counts: np.ndarray
    total: int = 0  # largest number of rows of a level, for Counter

    def sums(self, target):
        """Return the numerators and denominators of a statistic, as `StatisticFormula` takes them.

        Parameters
        ----------
        target : border or class of the target
        """
        counts = self.counts
        if self.kind == COUNTER:
            return counts[:, 0], self.total
        if self.kind == MEAN:
            return counts[:, 0], counts[:, 1]
        good = counts[:, target] if self.kind == BUCKETS else counts[:, target + 1 :].sum(axis=1)
        return good, counts.sum(axis=1)

    def values(self, statistic):
        """Return the value of a statistic for each level, float32 (n_levels + 1,).

        The index UNSEEN, −1, selects the value of a level that is absent from training.
        """
        return statistic.formula.value(*self.sums(statistic.target))


def count_levels(codes, n_levels, options, classes):
    """Return the `CountTable` of a kind of statistic over all training rows.

    Parameters
    ----------
    codes : int32 (n_rows,)
    n_levels : int
    options : CtrOptions
    classes : TargetClasses
    """
    if options.kind == COUNTER:
        totals = np.bincount(codes, minlength=n_levels + 1)
        return CountTable(COUNTER, totals[:, None], int(totals.max()))
    own, n_classes = classes.of(options)
    if options.kind == MEAN:
        sums = np.zeros(n_levels + 1, np.float32)
        sum_classes(codes, own, np.float32(n_classes - 1), sums)
        totals = np.bincount(codes, minlength=n_levels + 1)
        return CountTable(MEAN, np.column_stack([sums.astype(np.float64), totals]))
    flat = codes.astype(np.int64) * n_classes + own
    counts = np.bincount(flat, minlength=(n_levels + 1) * n_classes)
    return CountTable(options.kind, counts.reshape(-1, n_classes))


def statistics_of(projection, ctrs, classes):
    """Return the `Statistic`s of a projection in CatBoost's order, list.

    Parameters
    ----------
    projection : Projection
    ctrs : sequence of CtrOptions
    classes : TargetClasses
    """
    found = []
    for options in ctrs:
        n_targets = target_count(options, classes)
        found += [
            Statistic(projection, options, target, prior)
            for target in range(n_targets)
            for prior in range(len(options.priors))
        ]
    return found


def target_count(options, classes):
    """Return the number of target borders or classes for which a statistic is computed."""
    if options.kind in (MEAN, COUNTER):
        return 1
    n_classes = classes.of(options)[1]
    return n_classes if options.kind == BUCKETS else n_classes - 1


def ctr_arrays(ctrs, classes):
    """Return the `CtrArrays` of some options, which are made once.

    Parameters
    ----------
    ctrs : tuple of CtrOptions
    classes : TargetClasses
    """
    if ctrs not in classes.arrays:
        classes.arrays[ctrs] = make_ctr_arrays(ctrs, classes)
    return classes.arrays[ctrs]


def make_ctr_arrays(ctrs, classes):
    """Return the `CtrArrays` of some options; parameters are those of `ctr_arrays`."""
    of_rows = np.zeros((len(ctrs), len(classes.y)), np.uint16)
    n_classes = np.zeros(len(ctrs), np.int64)
    for number, options in enumerate(ctrs):
        if options.kind != COUNTER:
            of_rows[number], n_classes[number] = classes.of(options)
    n_priors = np.array([len(options.priors) for options in ctrs], np.int64)
    n_targets = np.array([target_count(options, classes) for options in ctrs], np.int64)
    repeated = [[options.priors, options.shifts, options.norms] for options in ctrs]
    repeated = [np.tile(own, count) for own, count in zip(repeated, n_targets, strict=True)]
    return kernels.CtrArrays(
        np.array([KINDS[options.kind] for options in ctrs], np.int64),
        of_rows,
        n_classes,
        np.array([options.n_borders for options in ctrs], np.int64),
        n_priors,
        np.cumsum(n_targets * n_priors),
        *np.concatenate(repeated, axis=1).astype(np.float32),
    )


def make_count_scratch(ctrs, n_levels):
    """Return the `CountScratch` for projections of at most ``n_levels`` levels.

    Parameters
    ----------
    ctrs : CtrArrays
    n_levels : int
    """
    n_rows = ctrs.classes.shape[1]
    n_targets = (np.diff(ctrs.ends, prepend=0) // ctrs.n_priors).max()
    has_mean = (ctrs.kinds == kernels.MEAN).any()
    return kernels.CountScratch(
        np.empty(n_levels * (1 + ctrs.n_classes.max()), np.int32),
        np.empty(n_levels if has_mean else 0, np.float32),
        np.empty((n_targets, n_rows), np.float32),
        np.empty(n_rows, np.float32),
    )


def ordered_bins(codes, n_levels, ctrs, classes, order):
    """Return the bins of all statistics of a projection, uint8 (n_rows, n_statistics).

    Parameters
    ----------
    codes : int32 (n_rows,)
    n_levels : int
    ctrs : tuple of CtrOptions
    classes : TargetClasses
    order : uint32 (n_rows,), the permutation; (0,) means ascending
    """
    arrays = ctr_arrays(ctrs, classes)
    out = np.empty((arrays.ends[-1], len(codes)), np.uint8)
    write_statistics(codes, n_levels, order, arrays, make_count_scratch(arrays, n_levels), out)
    return np.ascontiguousarray(out.T)
