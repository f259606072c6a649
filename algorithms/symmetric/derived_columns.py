"""Numeric columns derived from categorical ones: target statistics and indicators of a level.

The derived columns that the trees of a model use are numbered after the columns of X. For
prediction they are appended to X as numeric columns.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.projections import projection_parts

INDICATOR_BORDER = np.float32(0.5)


@dataclass(frozen=True)
class Indicator:
    """Indicator column: 1 in rows where a categorical column has a certain level, else 0."""

    column: int
    level: int

    @property
    def sources(self):
        """Positions of the columns of X from which it is computed."""
        return (self.column,)

    def border(self, _split_bin):
        """Return the border of its only split, float32."""
        return INDICATOR_BORDER


class DerivedColumns:
    """The derived columns of a model, in order of their first use.

    Parameters
    ----------
    categories : CategoricalColumns
    n_features : int, columns of X
    count : function of a `Statistic` → (`Combiner`, `CountTable`) of the training rows, or None
    """

    def __init__(self, categories, n_features, count=None):
        self.categories, self.n_features, self.count = categories, n_features, count
        self.features, self.numbers = [], {}
        self.combiners, self.tables, self.values = {}, {}, {}  # by projection, key, statistic

    def __getstate__(self):
        return {**self.__dict__, "count": None}

    @property
    def n_columns(self):
        """Number of columns of X with the derived ones."""
        return self.n_features + len(self.features)

    def number(self, feature):
        """Return the column number of an `Indicator` or `Statistic`; add it if it is new."""
        if feature not in self.numbers:
            if isinstance(feature, Indicator):
                self.add(feature)
            else:
                self.add_statistic(feature, *self._counted(feature))
        return self.numbers[feature]

    def _counted(self, statistic):
        """Return the `Combiner` and the `CountTable` of a statistic of the training rows."""
        table = self.tables.get(statistic.table_key)
        return (
            self.count(statistic)
            if table is None
            else (self.combiners[statistic.projection], table)
        )

    def add(self, feature):
        """Give a new feature the next column number."""
        self.numbers[feature] = self.n_columns
        self.features.append(feature)

    def add_statistic(self, statistic, combiner, table):
        """Add a new statistic with its levels and counts.

        Parameters
        ----------
        statistic : Statistic or StoredStatistic
        combiner : Combiner or HashCombiner
        table : CountTable
        """
        self.add(statistic)
        self.combiners.setdefault(statistic.projection, combiner)
        self.tables.setdefault(statistic.table_key, table)
        self.values[statistic] = table.values(statistic)

    def finish(self):
        """Release the data that only training needs."""
        self.count = None
        for combiner in self.combiners.values():
            combiner.without_rows()

    def append(self, X, codes):
        """Return X with the missing derived columns appended, float32 (n_rows, n_columns).

        Parameters
        ----------
        X : float32 (n_rows, at least n_features)
            It may have some of the derived columns.
        codes : int32 (n_categorical, n_rows)
        """
        missing = self.features[X.shape[1] - self.n_features :]
        if not missing:
            return X
        codes_of = dict(zip(self.categories.columns, codes, strict=True))
        levels, first = {}, X.shape[1]
        table = np.empty((len(X), self.n_columns), np.float32)
        table[:, :first] = X
        for out, feature in zip(table.T[first:], missing, strict=True):
            if isinstance(feature, Indicator):
                out[:] = codes_of[feature.column] == feature.level
                continue
            projection = feature.projection
            if projection not in levels:
                parts = projection_parts(projection, codes_of, X)
                levels[projection] = self.combiners[projection].transform(parts)
            out[:] = self.values[feature][levels[projection]]
        return table

    def share_back(self, amounts):
        """Return amounts by column of X, float64 (…, n_features).

        The amount of a derived column is divided equally among its source columns.

        Parameters
        ----------
        amounts : float64 (…, n_columns)
        """
        out = amounts[..., : self.n_features].copy()
        for number, feature in enumerate(self.features, self.n_features):
            for column in feature.sources:
                out[..., column] += amounts[..., number] / len(feature.sources)
        return out
