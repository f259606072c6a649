"""Growth of trees on tables with categorical columns, with exact integer histograms.

The statistics of categorical columns are numeric columns that depend on a permutation of the rows.
The splits of a tree are chosen with one of three permutations. A fourth one gives the statistics
that assign rows to leaves. With ``has_time`` the only permutation is the order of the rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.combination_search import CombinationSearch
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.derived_files import describe_parts, read_parts
from algorithms.symmetric.feature_penalties import (
    columns_of_projection,
    columns_of_source,
    columns_of_split,
)
from algorithms.symmetric.grower import SMALL, SymmetricGrower, quantiles_of
from algorithms.symmetric.kernels.category_tree import BIN, LISTED, STATIC
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.tree_split import GrownCategoricalTree, TreeSplit

PERMUTATION = 4  # salt of seeds, after those of `SymmetricGrower`


@dataclass(frozen=True)
class StaticTable:
    """Bins in one permutation of the columns that are candidates in all trees."""

    rows: np.ndarray  # uint8 (n_rows, n_columns)
    columns: np.ndarray  # uint8 (n_columns, n_rows)
    n_bins: np.ndarray  # int64 (n_columns,)


class CategoryGrower(SymmetricGrower):
    """Grower for a `CategoricalTable`; the result does not depend on the number of threads.

    Parameters
    ----------
    params : the estimator
    data : CategoricalTable
    n_outputs : int, scores per row
    workers : Workers
    """

    def __init__(self, params, data, n_outputs, workers):
        self.data, self.used_groups = data, set()
        self.sources = self._list_sources()
        self.levels = np.array([self._count_levels(one) for one in self.sources], np.int64)
        self.is_exempt = np.array([isinstance(one, (int, Indicator)) for one in self.sources], bool)
        shape = len(data.orders), len(self.sources), len(data.X)
        self.all_columns = np.empty(shape, np.uint8)
        self.all_rows = np.empty((shape[0], shape[2], shape[1]), np.uint8)
        self.tables = [self._static_table(k) for k in range(len(data.orders))]
        super().__init__(params, self.tables[0], n_outputs, workers)

    def get_state(self):
        """Return the arrays and the JSON values from which a snapshot continues, two dicts."""
        arrays, _ = super().get_state()
        arrays["is_exempt"] = self.is_exempt
        if "search" in self.__dict__:
            arrays |= self.search.get_state()
        return arrays, {"used": [[kind, describe_parts(own)] for kind, own in self.used_groups]}

    def set_state(self, arrays, values):
        """Continue from the arrays and the JSON values of a snapshot."""
        super().set_state(arrays, values)
        self.is_exempt[:] = arrays["is_exempt"]
        self.used_groups.update((kind, read_parts(own)) for kind, own in values["used"])
        if "used_keys" in arrays:
            self.search.set_state(arrays)

    def _column_signs(self):
        """Return the monotone constraint of each static column, int64 (n_columns,)."""
        signs = np.zeros(len(self.sources), np.int64)
        numeric = self.data.table.features
        signs[: len(numeric)] = self.params.signs[numeric]
        return signs

    def _list_sources(self):
        """Return the source of each static column: a number, an `Indicator` or a `Statistic`."""
        data = self.data
        sources = list(range(len(data.table.features)))
        for j in data.one_hot:
            first = 1 if data.sizes[j] == 2 else 0  # one of two indicators is enough
            sources += [Indicator(j, level) for level in range(first, data.sizes[j])]
        for projection in data.single_projections():
            sources += data.bins(projection).statistics
        return sources

    def _count_levels(self, source):
        """Return the number of levels of a statistic, 0 of another column."""
        is_numeric = isinstance(source, (int, Indicator))
        return 0 if is_numeric else self.data.bins(source.projection).n_levels

    def _static_table(self, number):
        """Return the `StaticTable` of a permutation."""
        data = self.data
        indicators = [s for s in self.sources if isinstance(s, Indicator)]
        parts = [data.table.columns, *(self._indicator(one)[None] for one in indicators)]
        n_bins = [data.table.n_bins, np.full(len(indicators), 2)]
        for projection in data.single_projections():
            own = data.bins(projection, number)
            parts.append(own.rows.T)
            n_bins.append(own.n_bins)
        rows, columns = self.all_rows[number], self.all_columns[number]
        np.concatenate(parts, out=columns)
        rows[:] = columns.T
        return StaticTable(rows, columns, np.concatenate(n_bins))

    def _indicator(self, one):
        """Return 1 for rows that have the level of an `Indicator`, else 0; uint8 (n_rows,)."""
        return (self.data.codes_of[one.column] == one.level).astype(np.uint8)

    def _find_splits(self, rows, usable, noise, seed):
        """Return the splits of a tree: list of (number of the split, bin)."""
        self.permutation = self.draw_permutation(seed)
        self.table = self.tables[self.permutation]
        self.search.start_tree(self.permutation, self.are_usable(usable))
        self.n_splits, self.leaf_of = 0, None
        return super()._find_splits(rows, usable, noise, seed)

    def draw_permutation(self, seed):
        """Return the number of the permutation whose statistics choose the splits of a tree."""
        return seed_of(seed, PERMUTATION) % max(len(self.tables) - 1, 1)

    @cached_property
    def search(self):
        """The `CombinationSearch`."""
        return CombinationSearch(self)

    def _find_splits_alone(self, rows, _usable, noise, seed):
        """Return the splits, found in the calling thread."""
        given = self.scoring(quantiles_of(noise)), self.level_seeds(seed)
        count, self.leaf_of = self.search.grow(self.records, rows, *given)
        return list(enumerate(self.search.splits[:count, BIN].tolist()))

    def _sign(self, number):
        """Return the monotone constraint of a split."""
        split = self.search.make_split(number)
        return 0 if split.numeric is None else self.params.signs[split.numeric[0]]

    def _scan_level(self, groups, noise, seed):
        """Find the best split of each static column and of each combination's statistics."""
        super()._scan_level(groups, noise, seed)
        scoring = self.scoring(quantiles_of(noise)), seed
        self.search.scan(self.n_splits, self.records, groups, scoring)

    def _best(self, usable, noise, seed):
        """Return the number of the best split in this tree, and its bin."""
        number = self.n_splits
        self.n_splits += 1
        penalized = None if self.penalties is None else self._penalize_level(usable)
        split_bin = self.search.choose(number, quantiles_of(noise), seed)
        if penalized is not None:
            combination, column, _ = self.search.splits[number].tolist()
            self.penalties.parent_score = float(penalized[combination][column])
            self.penalties.mark_used(columns_of_split(self.search.make_split(number)))
        return number, split_bin

    def _columns_of(self, candidates):
        """Return the columns of X of static columns, list of tuples."""
        features = self.data.table.features
        sources = [self.sources[f] for f in candidates]
        return [
            (int(features[one]),) if isinstance(one, int) else columns_of_source(one)
            for one in sources
        ]

    def _penalize_level(self, usable):
        """Replace the scores of a level, so that the largest gain is chosen.

        A score times the factor of `model_size_reg` becomes the gain.

        Returns
        -------
        dict, number of a combination → penalized scores of its statistics, float64; `STATIC` →
        those of the static columns
        """
        tree = self.search.tree
        search, scores = tree.search, tree.candidates.score
        n_listed = int(search.state[LISTED])
        listed, slots = search.listed[:n_listed], search.listed_slots[:n_listed]
        levels = tree.cache.n_levels[slots]
        most = max([1.0, *self.levels[usable].tolist(), *levels.tolist()])
        power = -self.params.model_size_reg

        factor = np.where(self.is_exempt[usable], 1.0, (1.0 + self.levels[usable] / most) ** power)
        penalized = {STATIC: np.empty(len(self.sources))}
        penalized[STATIC][usable], self.best_score[usable] = self._penalized_gains(
            self.best_score[usable], self._columns_of(usable), factor
        )
        for c, number in enumerate(listed.tolist()):
            columns = columns_of_projection(self.search.read_key(search.keys[number].tolist()))
            is_exempt = search.is_exempt[number]
            factor = np.where(is_exempt, 1.0, (1.0 + levels[c] / most) ** power)
            penalized[number], scores[c] = self._penalized_gains(
                scores[c], [columns] * scores.shape[1], factor
            )
        return penalized

    def _penalized_gains(self, scores, columns, factor):
        """Return the penalized scores, and the gains before the factor of `model_size_reg`.

        Parameters
        ----------
        scores, factor : float64 (n,)
        columns : list of n tuples of columns of X
        """
        penalized = self.penalties.penalize(scores, columns) * factor
        gains = self.penalties.weight_gains(penalized - self.penalties.parent_score, columns)
        return penalized, gains / factor

    def _model_size_factors(self, levels, is_exempt):
        """Return the factor of each score: below 1 for statistics that no tree has used.

        Parameters
        ----------
        levels : (n_candidates,), levels of a statistic's projection
        is_exempt : bool (n_candidates,), columns without a penalty
        """
        factors = (1.0 + levels / max(levels.max(initial=0.0), 1.0)) ** -self.params.model_size_reg
        return np.where(is_exempt, 1.0, factors)

    def _mark_used(self, split):
        """Exempt the statistics of a split's group from `model_size_reg`."""
        if not split.is_statistic or (group := split.feature.group) in self.used_groups:
            return
        self.used_groups.add(group)
        if split.feature.projection.is_single:
            self.is_exempt |= [hasattr(s, "group") and s.group == group for s in self.sources]

    def make_split(self, f, split_bin, column):
        """Return the `TreeSplit` of a static column.

        Parameters
        ----------
        f : int, number of the static column
        split_bin : int
        column : uint8 (n_rows,), bins of the column, or None
        """
        source = self.sources[f]
        if isinstance(source, int):
            return TreeSplit(column, split_bin, numeric=self.numeric_split(source, split_bin))
        return TreeSplit(column, 0 if isinstance(source, Indicator) else split_bin, source)

    def numeric_split(self, source, split_bin):
        """Return the column of X, the border, and whether missing values lie above it."""
        table = self.data.table
        feature = int(table.features[source])
        return feature, table.borders[source][split_bin], bool(table.nan_right[feature])

    def _column(self, f):
        """Return the bins of a split's column, uint8 (n_rows,)."""
        return self.search.column(f)

    def _leaf_column(self, split, permutation):
        """Return the bins of a split's column in a permutation, uint8 (n_rows,)."""
        if not split.is_statistic or permutation == self.permutation:
            return split.column
        own = self.data.bins(split.feature.projection, permutation)
        return own.rows[:, own.statistics.index(split.feature)]

    def _follow_splits(self, columns, bins):
        """Return the leaf of each row, uint16 (n_rows,).

        Parameters
        ----------
        columns : uint8 (at least n_splits, n_rows), bins of the column of each split
        bins : int64 (n_splits,)
        """
        n_rows, features = len(self.data.X), np.arange(len(bins))
        leaf_of = np.zeros(n_rows, np.uint16)

        def fill(first, last):
            first, last = first * SMALL, min(last * SMALL, n_rows)
            find_leaves(columns, features, bins, leaf_of, first, last)

        if len(bins):
            self.workers.share(fill, -(-n_rows // SMALL))
        return leaf_of

    def _finish(self, splits):
        """Return the `GrownCategoricalTree` of some splits of this tree."""
        numbers, bins = np.array(splits, np.int64).reshape(-1, 2).T.copy()
        leaf_of = self.leaf_of if len(splits) else np.zeros(len(self.data.X), np.uint16)
        if leaf_of is None:
            leaf_of = self._follow_splits(self.search.leaf_columns(numbers), bins)
        chosen = [self.search.make_split(number) for number in numbers]
        return GrownCategoricalTree(np.arange(len(chosen)), bins, leaf_of, chosen)
