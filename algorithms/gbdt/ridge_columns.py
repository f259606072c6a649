"""Extra columns of ridge regressions: functions of the numeric features.

A tree needs many axis-parallel splits to approximate an oblique boundary. One split on a linear
function of the features replaces them. The functions are ridge regressions of the targets (for a
classifier, of the indicators of the classes) on standardized features z.

With random Fourier features √2 cos(wᵀz + b) as further regressors, the function is not linear but
approximates kernel ridge regression with a Gaussian kernel (Rahimi and Recht, NIPS 2007).

A training row must not enter its own column, or the column would contain its target. So the rows
are divided into folds, and the column of a training row is computed by the regression on the other
folds. The column of a new row is computed by the regression on all training rows.

The last bits of BLAS results depend on the number of threads, so one thread computes them.
"""

from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

LIMIT = 4.0  # standardized values are between −LIMIT and LIMIT
CACHED_VALUES = 1 << 15  # number of products in a block, which fit the processor's cache
NO_FREQUENCIES = np.empty((0, 0))


class RidgeColumns:
    """Out-of-fold predictions of ridge regressions.

    Parameters
    ----------
    penalty : float
        Penalty λ of the squared slopes of standardized features, in rows.
    n_fourier : int, default=0
        Number of random Fourier features.
    seed : int, default=0
        Seed of the random Fourier features.
    """

    frequencies = NO_FREQUENCIES  # (n_numeric, n_fourier); also of earlier pickled objects

    def __init__(self, penalty, n_fourier=0, seed=0):
        self.penalty, self.n_fourier, self.seed = penalty, n_fourier, seed

    def fit(self, X, columns, targets, weight, fold):
        """Fit the regressions, and return the extra columns of the training rows.

        Parameters
        ----------
        X : (n_rows, n_features) float array, NaN where missing
        columns : int64 (n_numeric,), indices of the numeric columns
        targets : (n_rows, n_targets) float64
        weight : (n_rows,) float64, or None
        fold : int64 (n_rows,), 0 … n_folds − 1; no fold is empty

        Returns
        -------
        float64 (n_rows, n_targets)
        """
        self.columns = np.asarray(columns)
        self.mean, self.scale = mean_and_scale(X[:, self.columns].astype(np.float64))
        self._draw_frequencies()
        values = self._regressors(X)
        weighted = values if weight is None else values * (weight / weight.mean())[:, None]
        with blas_libraries().limit(limits=1, user_api="blas"):
            return self._fit_folds(values, weighted, targets, fold)

    def _fit_folds(self, values, weighted, targets, fold):
        """Fit the regressions on standardized values; return the extra columns."""
        rows_of_folds = [fold == k for k in range(int(fold.max()) + 1)]
        products = np.array([weighted[own].T @ values[own] for own in rows_of_folds])
        moments = np.array([weighted[own].T @ targets[own] for own in rows_of_folds])
        extra = np.empty(targets.shape)
        for k, own in enumerate(rows_of_folds):  # a difference of sums would cancel
            is_other = np.arange(len(products)) != k
            slopes = self._solve(products[is_other].sum(axis=0), moments[is_other].sum(axis=0))
            extra[own] = add_products(values[own], slopes)
        self.slopes = self._solve(products.sum(axis=0), moments.sum(axis=0))
        return extra

    def transform(self, X):
        """Return the extra columns of new rows, float64 (n_rows, n_targets)."""
        return add_products(self._regressors(X), self.slopes)

    def shares(self, n_features):
        """Return each feature's share of the absolute slopes, float64 (n_features, n_targets).

        The slope of a random Fourier feature is divided by the absolute frequencies.
        """
        n_numeric = len(self.columns)
        sizes = np.abs(self.slopes[:n_numeric]) + np.finfo(float).tiny
        if self.frequencies.size:
            weights = np.abs(self.frequencies)
            sizes += weights / weights.sum(axis=0) @ np.abs(self.slopes[n_numeric:-1])
        shares = np.zeros((n_features, sizes.shape[1]))
        shares[self.columns] = sizes / sizes.sum(axis=0)
        return shares

    def _draw_frequencies(self):
        """Draw the frequencies w and phases b of the random Fourier features.

        The variance of a frequency is 1 / n_numeric, so the kernel of two rows whose features
        differ by one standard deviation each is exp(−1/2).
        """
        if self.n_fourier:
            rng = np.random.Generator(np.random.PCG64(self.seed))
            n_numeric = len(self.columns)
            self.frequencies = rng.normal(size=(n_numeric, self.n_fourier)) / np.sqrt(n_numeric)
            self.phases = rng.uniform(0.0, 2.0 * np.pi, self.n_fourier)

    def _regressors(self, X):
        """Return standardized features, random Fourier features and a column of ones.

        Standardized features are 0 where missing.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            values = (X[:, self.columns].astype(np.float64) - self.mean) / self.scale
        values = np.clip(np.nan_to_num(values, nan=0.0), -LIMIT, LIMIT)
        parts = [values, np.ones((len(values), 1))]
        if self.frequencies.size:
            angles = add_products(values, self.frequencies) + self.phases
            parts.insert(1, np.sqrt(2.0) * np.cos(angles))
        return np.hstack(parts)

    def _solve(self, products, moments):
        """Return the slopes, and the constants as the last row; all are 0 if no row has weight."""
        total_weight = products[-1, -1]
        if not total_weight > np.finfo(float).eps * self.penalty:
            return np.zeros_like(moments)
        penalized = products.copy()
        penalized[np.diag_indices(len(products) - 1)] += self.penalty
        return np.linalg.solve(penalized, moments)


@cache
def blas_libraries():
    """Return the controller of the BLAS libraries that are loaded; finding them takes a while."""
    return ThreadpoolController()


def mean_and_scale(values):
    """Return mean and standard deviation of the finite values of each column, (n_columns,).

    The scale is 1 where they are all equal or where their squares overflow.
    """
    is_finite = np.isfinite(values)
    count = np.maximum(is_finite.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(is_finite, values / count, 0.0).sum(axis=0)
        variance = np.where(is_finite, (values - mean) ** 2 / count, 0.0).sum(axis=0)
        scale = np.sqrt(variance)
    return mean, np.where((scale > 0.0) & np.isfinite(scale), scale, 1.0)


def add_products(values, slopes):
    """Return values @ slopes; the bits of a row do not depend on the other rows."""
    total = np.zeros((len(values), slopes.shape[1]))
    n_rows = max(1, CACHED_VALUES // max(1, slopes.shape[1]))  # in a block
    for first in range(0, len(values), n_rows):
        block = slice(first, first + n_rows)
        for column, slope in zip(values[block].T, slopes, strict=True):
            total[block] += column[:, None] * slope
    return total
