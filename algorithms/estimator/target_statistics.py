"""Target statistics of categorical columns: smoothed means of the targets of each category.

    statistic of category c = (Σ w y over the rows of c + a · mean) / (Σ w over the rows of c + a)

A training row must not enter its own statistic, or the column would contain its target. So the rows
are divided into folds, and the statistic of a training row is computed from the other folds. The
statistic of a new row is computed from all training rows; that of an unknown category is the mean.
"""

import numpy as np


class TargetStatistics:
    """Extra columns for categorical columns: statistics of each target, and the category's count.

    Parameters
    ----------
    prior : float
        Weight a of the mean of all targets.
    """

    def __init__(self, prior):
        self.prior = prior

    def fit(self, X, columns, targets, weight, fold):
        """Compute the statistics, and return the extra columns of the training rows.

        Parameters
        ----------
        X : (n_rows, n_features) float array of category codes, NaN where missing
        columns : numbers of the categorical columns
        targets : (n_rows, n_targets) float64
        weight : (n_rows,) float64, or None
        fold : (n_rows,) int64, the fold of each row; every number below the largest one occurs

        Returns
        -------
        float64 (n_rows, len(columns) · (n_targets + 1))
        """
        weight = np.ones(len(X)) if weight is None else weight
        self.mean = weight @ targets / weight.sum()
        self.columns, self.categories, self.tables = list(columns), [], []
        extra = []
        for column in self.columns:
            values = X[:, column]
            self.categories.append(np.unique(values[~np.isnan(values)]))
            number = self._numbers(values, self.categories[-1])
            counts, sums = self._sums_by_fold(number, targets, weight, fold)
            total, all_sums = counts.sum(axis=0), sums.sum(axis=0)
            self.tables.append(np.column_stack([self._means(total, all_sums), total]))
            others = self._means(total - counts, all_sums - sums)
            extra.append(np.column_stack([others[fold, number], total[number]]))
        return np.hstack(extra)

    def transform(self, X):
        """Return the extra columns of new rows."""
        extra = []
        for column, categories, table in zip(
            self.columns, self.categories, self.tables, strict=True
        ):
            extra.append(table[self._numbers(X[:, column], categories)])
        return np.hstack(extra)

    def shares(self, n_features):
        """Return the share of each feature in each extra column, (n_features, n_extra)."""
        sources = np.repeat(self.columns, [table.shape[1] for table in self.tables])
        return np.eye(n_features)[:, sources]

    def _sums_by_fold(self, number, targets, weight, fold):
        """Return Σ w (n_folds, n_categories), and Σ w y (n_folds, n_categories, n_targets)."""
        n_categories, n_folds = len(self.categories[-1]) + 2, int(fold.max()) + 1
        cell, n_cells = fold * n_categories + number, n_folds * n_categories
        counts = np.bincount(cell, weight, n_cells).reshape(n_folds, n_categories)
        sums = [np.bincount(cell, weight * target, n_cells) for target in targets.T]
        return counts, np.stack(sums, axis=-1).reshape(n_folds, n_categories, -1)

    def _means(self, counts, sums):
        """Return the smoothed means."""
        return (sums + self.prior * self.mean) / (counts[..., None] + self.prior)

    @staticmethod
    def _numbers(values, categories):
        """Return the number of each value's category: the last but one if unknown, last if missing.

        Categories that training has not seen have no rows, so their statistic is the mean.
        """
        number = np.searchsorted(categories, values)
        is_known = number < len(categories)
        is_known[is_known] = categories[number[is_known]] == values[is_known]
        number[~is_known] = len(categories)
        number[np.isnan(values)] = len(categories) + 1
        return number
