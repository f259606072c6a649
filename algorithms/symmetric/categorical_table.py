"""Training rows with categorical columns: one-hot columns, target statistics, combinations."""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.derived_columns import DerivedColumns
from algorithms.symmetric.projections import Combiner, Projection, projection_parts
from algorithms.symmetric.segments import learning_orders
from algorithms.symmetric.target_statistics import count_levels, ordered_bins, statistics_of

PERMUTATIONS = 4  # three to choose splits, one to assign rows to leaves
KEPT = 50  # number of combinations whose statistics are cached, as in CatBoost
ASCENDING = np.empty(0, np.uint32)  # means the order of the rows


@dataclass(frozen=True)
class StatisticBins:
    """Bins of the target statistics of one projection in one permutation."""

    statistics: list  # of Statistic
    n_levels: int
    rows: np.ndarray  # uint8 (n_rows, n_statistics)
    n_bins: np.ndarray  # int64 (n_statistics,), bins of each statistic


class CategoricalTable:
    """Numeric bins and categorical columns of the training rows.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    table : BinnedTable
    X : float32 (n_rows, n_features), zeros in categorical columns
    categories : (Categories, int32 (n_categorical, n_rows)), the columns and their codes
    classes : TargetClasses
    """

    def __init__(self, params, table, X, categories, classes):
        categories, codes = categories
        self.params, self.table, self.X, self.classes = params, table, X, classes
        self.codes_of = dict(zip(categories.columns, codes, strict=True))
        sizes = {j: len(own) for j, own in zip(categories.columns, categories.levels, strict=True)}
        varied = [j for j, size in sizes.items() if size > 1]
        self.sizes = sizes
        self.one_hot = [j for j in varied if sizes[j] <= params.one_hot_max_size]
        self.counted = [j for j in varied if sizes[j] > params.one_hot_max_size]
        self.derived = DerivedColumns(categories, X.shape[1], self._count)
        self._combiners, self._bins = OrderedDict(), OrderedDict()
        self.orders = [ASCENDING]

    @property
    def size(self):
        """Number of entries in the bins of numeric columns and of single columns' statistics."""
        per_column = sum(len(own.priors) for own in self.params.simple_ctr)
        return self.rows.size + per_column * len(self.X) * len(self.codes_of)

    @property
    def columns(self):
        """Bins of the numeric columns, uint8 (n_used, n_rows)."""
        return self.table.columns

    @property
    def rows(self):
        """Bins of the numeric columns, uint8 (n_rows, n_used)."""
        return self.table.rows

    def permute(self, seed):
        """Draw the permutations; with ``has_time`` the order of the rows is used instead."""
        if self.params.has_time or not self.counted:
            return
        rng, n_rows = np.random.default_rng(seed), len(self.X)
        self.orders = [rng.permutation(n_rows).astype(np.uint32) for _ in range(PERMUTATIONS)]
        if self.params.boosting_type == "Ordered":
            self.orders[:-1] = learning_orders(self.params, n_rows, seed)

    def combiner(self, projection):
        """Return the `Combiner` of a projection on the training rows."""
        if projection not in self._combiners:
            self._combiners[projection] = self._make_combiner(projection)
        self._combiners.move_to_end(projection)
        return self._combiners[projection]

    def _make_combiner(self, projection):
        """Return the `Combiner` of a projection."""
        parts = projection_parts(projection, self.codes_of, self.X)
        return Combiner(projection, parts, self.sizes[projection.columns[0]])

    def _count(self, statistic):
        """Return the `Combiner` and the `CountTable` of a `Statistic`."""
        combiner = self.combiner(statistic.projection)
        table = count_levels(combiner.codes, combiner.size, statistic.options, self.classes)
        return combiner, table

    def ctrs(self, projection):
        """Return the `CtrOptions` of a projection, sequence."""
        return self.params.simple_ctr if projection.is_single else self.params.combinations_ctr

    def bins(self, projection, number=0):
        """Return the `StatisticBins` of a projection in permutation ``number``."""
        key = number, projection
        found = self._bins.get(key)
        if found is None:
            self._bins[key] = found = self._make_bins(projection, number, self.combiner(projection))
        self._bins.move_to_end(key)
        return found

    def bins_of(self, projections, number, workers):
        """Return the `StatisticBins` of several projections, list; threads compute the new ones."""
        missing = [one for one in projections if (number, one) not in self._bins]

        def make(projection):
            combiner = self._combiners.get(projection) or self._make_combiner(projection)
            return combiner, self._make_bins(projection, number, combiner)

        made = dict(zip(missing, workers.each(make, missing), strict=True))
        for one, (combiner, bins) in made.items():
            self._combiners[one], self._bins[number, one] = combiner, bins
        found = [self.bins(one, number) for one in projections]
        n_single = len(self.counted) * len(self.orders)
        for cache in (self._combiners, self._bins):
            trim(cache, KEPT + n_single + len(projections))
        return found

    def _make_bins(self, projection, number, combiner):
        """Compute the `StatisticBins` of a projection."""
        ctrs, order = self.ctrs(projection), self.orders[number]
        bins = ordered_bins(combiner.codes, combiner.size, ctrs, self.classes, order)
        statistics = statistics_of(projection, ctrs, self.classes)
        n_bins = np.array([one.options.n_borders + 1 for one in statistics], np.int64)
        return StatisticBins(statistics, combiner.n_levels, bins, n_bins)

    def single_projections(self):
        """Return the `Projection` of each single column that has target statistics, list."""
        return [Projection((j,)) for j in self.counted]

    def combinations(self, splits, columns):
        """Return the combinations that are candidates at the next level of a tree, list.

        A combination consists of all numeric and one-hot splits of the tree, or of the columns of
        a statistic that the tree uses, and of one more categorical column.

        Parameters
        ----------
        splits : list of TreeSplit, the splits of the tree so far
        columns : list of int, the categorical columns to add
        """
        return self.extend((base, columns) for base in find_bases(splits))

    def extend(self, pairs):
        """Return the combinations of projections with one more column each, list.

        Parameters
        ----------
        pairs : iterable of (Projection, list of int), the columns to add to a projection
        """
        found = {}
        for base, columns in pairs:
            if base.is_redundant or base.complexity >= self.params.max_ctr_complexity:
                continue
            for j in columns:
                if j not in base.columns:
                    found[base.with_column(j)] = None
        return list(found)


def find_bases(splits):
    """Return the projections that combinations extend, list; ``splits`` are `TreeSplit`s."""
    borders = tuple(one.numeric for one in splits if one.numeric is not None)
    levels = tuple((s.feature.column, s.feature.level) for s in splits if s.is_indicator)
    used = [s.feature.projection for s in splits if s.is_statistic]
    bases = [Projection((), borders, levels)] if borders or levels else []
    return list(dict.fromkeys(bases + used))


def trim(cache, count):
    """Remove the oldest combinations from a cache until it has ``count`` entries.

    A key is a projection, or a tuple that ends with one. Entries of single columns are kept.
    """
    excess = len(cache) - count
    if excess > 0:
        keys = (key if isinstance(key, Projection) else key[-1] for key in cache)
        old = [key for key, own in zip(cache, keys, strict=True) if not own.is_single]
        for key in old[:excess]:
            del cache[key]
