"""Combinations of categorical columns and earlier splits, encoded as levels.

The parts of a combination are added one after another: the code so far and the code of the next
part make a key. If there could be many more keys than rows, keys are numbered by first appearance,
so that codes fit into int32.
"""

from typing import NamedTuple

import numpy as np

from algorithms.estimator.deferred_imports import pd
from algorithms.symmetric.categories import UNSEEN

DENSE = 1 << 12  # number of keys up to which they are never renumbered
MULTIPLIER = np.uint64(0x4906BA494954CB65)  # of CatBoost's hash of a combination


class Projection(NamedTuple):
    """Categorical columns and splits whose combined values are the levels of a statistic."""

    columns: tuple = ()  # positions of categorical columns, ascending
    borders: tuple = ()  # (column, border, whether missing values lie above), in split order
    levels: tuple = ()  # (column, code) of one-hot splits, in split order

    def __setstate__(self, state):
        raise ValueError("the model was pickled by an earlier version; train it again")

    @property
    def is_single(self):
        """Whether the projection is one categorical column."""
        return len(self.columns) == 1 and not (self.borders or self.levels)

    @property
    def complexity(self):
        """Number of columns, in which all splits together count as one (CatBoost's length)."""
        return len(self.columns) + bool(self.borders or self.levels)

    @property
    def is_redundant(self):
        """Whether a part occurs twice."""
        return any(len(set(part)) < len(part) for part in self)

    @property
    def sources(self):
        """Positions of the columns of X that are used, ascending."""
        parts = (*self.columns, *(one[0] for one in (*self.borders, *self.levels)))
        return tuple(sorted(set(parts)))

    def with_column(self, column):
        """Return the combination with one more categorical column."""
        return Projection(tuple(sorted((*self.columns, column))), self.borders, self.levels)


class Combiner:
    """Levels of a projection, numbered on the training rows.

    Parameters
    ----------
    projection : Projection
    parts : list of int (n_rows,) arrays, the codes of each part, none negative
    n_codes : int, number of codes of the first part; some may have no rows
    """

    def __init__(self, projection, parts, n_codes):
        self.projection = projection
        self.steps = []  # (number of codes, keys) of each further part
        codes, self.size = parts[0], n_codes
        dense = max(DENSE, 2 * len(codes))
        for part in parts[1:]:
            width, keys = int(part.max(initial=0)) + 1, None
            codes = codes.astype(np.int64) * width + part
            self.size *= width
            if self.size > dense:
                codes, distinct = pd.factorize(codes)
                keys, self.size = pd.Index(distinct), len(distinct)
            self.steps.append((width, keys))
        self.codes = codes.astype(np.int32)
        self.n_levels = np.count_nonzero(np.bincount(self.codes, minlength=self.size))

    @classmethod
    def without_training(cls, projection, steps, size):
        """Return a combiner of a file, which has no training rows.

        Parameters
        ----------
        projection : Projection
        steps : list of (number of codes, pd.Index of keys or None)
        size : int, number of codes
        """
        found = cls.__new__(cls)
        found.projection, found.steps, found.size, found.codes = projection, steps, size, None
        return found

    def transform(self, parts):
        """Return the level of each new row, int (n_rows,), UNSEEN where training lacks it.

        Parameters
        ----------
        parts : as in the constructor, UNSEEN where a category is absent from training
        """
        codes = parts[0]
        for part, (width, keys) in zip(parts[1:], self.steps, strict=True):
            known = (codes >= 0) & (part >= 0) & (part < width)
            found = np.where(known, codes.astype(np.int64) * width + part, UNSEEN)
            codes = found if keys is None else keys.get_indexer(found)
        return codes

    def hash_levels(self, hashes):
        """Return CatBoost's hash of each level, uint64 (size,).

        Parameters
        ----------
        hashes : list of int32 arrays, the hashes of the levels of each categorical column
        """
        first, *rest = hashes
        found = add_hash(np.zeros(len(first), np.uint64), first)
        sides = np.arange(2)  # codes of a split
        for number, (width, keys) in enumerate(self.steps):
            codes = np.arange(len(found) * width) if keys is None else keys.to_numpy()
            own = rest[number] if number < len(rest) else sides
            found = add_hash(found[codes // width], own[codes % width])
        return found

    def without_rows(self):
        """Drop the levels of the training rows, which prediction does not need; return self."""
        self.codes = None
        return self


class HashCombiner:
    """Levels of a projection, identified by CatBoost's hashes of the combined parts.

    Parameters
    ----------
    projection : Projection
    hashes : uint64 (n_levels,), distinct
    """

    def __init__(self, projection, hashes):
        self.projection, self.index = projection, pd.Index(np.asarray(hashes, np.uint64))

    @property
    def size(self):
        """Number of levels."""
        return len(self.index)

    def transform(self, parts):
        """Return the level of each row, int (n_rows,), UNSEEN where training lacks it.

        Parameters
        ----------
        parts : list of int (n_rows,), hashes of categories, and 0 or 1 for splits
        """
        hashes = np.zeros(len(parts[0]), np.uint64)
        for part in parts:
            hashes = add_hash(hashes, part)
        return self.index.get_indexer(hashes)

    def without_rows(self):
        """Return self: there are no rows to drop."""
        return self


def add_hash(hashes, part):
    """Return CatBoost's hashes of combinations with one more part, uint64.

    Parameters
    ----------
    hashes : uint64 (n,), hashes of the earlier parts, 0 if there is none
    part : int (n,), the hash of a category, or 0 or 1
    """
    own = np.asarray(part).astype(np.int64).view(np.uint64)
    return MULTIPLIER * (hashes + MULTIPLIER * own)


def projection_parts(projection, codes_of, X):
    """Return the codes of each part of a projection: list of int (n_rows,).

    Parameters
    ----------
    projection : Projection
    codes_of : dict, position of a categorical column → its codes
    X : float32 (n_rows, n_features), NaN where missing
    """
    parts = [codes_of[j] for j in projection.columns]
    for column, border, nan_right in projection.borders:
        values = X[:, column]
        parts.append(((values > border) | (np.isnan(values) & nan_right)).astype(np.int32))
    for column, level in projection.levels:
        parts.append((codes_of[column] == level).astype(np.int32))
    return parts
