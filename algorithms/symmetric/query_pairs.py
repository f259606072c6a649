"""Queries of a ranking by the ids of their rows, and pairs of a more and a less relevant row."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d

from algorithms.gbdt.query_groups import find_starts, mean_weights


def read_group_id(group_id, n_rows, name="group_id"):
    """Return the first row of each query and after them the number of rows, int64.

    Parameters
    ----------
    group_id : array-like (n_rows,), numbers or text; rows of one query are consecutive
    n_rows : int
    name : str, name of the argument for error messages

    Raises
    ------
    ValueError
        If ids are missing, or the rows of a query are not consecutive.
    """
    if group_id is None:
        raise ValueError(f"{name} is missing: it has the id of the query of each row")
    ids = column_or_1d(np.asarray(group_id))
    if len(ids) != n_rows:
        raise ValueError(f"{name} has {len(ids)} entries for {n_rows} rows")
    if ids.dtype.kind == "f":
        assert_all_finite(ids, input_name=name)
    message = f"rows of one query must be consecutive: sort the rows by {name}"
    return np.append(find_starts(ids, message), n_rows).astype(np.int64)


def query_weights(weight, bounds):
    """Return the mean weight of the rows of each query, float64 (n_queries,).

    Parameters
    ----------
    weight : (n_rows,), or (0,) if all are 1
    bounds : from `read_group_id`
    """
    if not len(weight):
        return np.ones(len(bounds) - 1)
    return mean_weights(weight.astype(np.float64), bounds)


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows of one query, the more relevant row first, in the order of the queries."""

    winner: np.ndarray  # int64 (n_pairs,)
    loser: np.ndarray  # int64 (n_pairs,)
    weight: np.ndarray  # float64 (n_pairs,)
    spans: np.ndarray  # int64 (n_queries + 1,): first pair of each query

    @classmethod
    def from_labels(cls, label, bounds):
        """Return all pairs of rows of a query with different labels; their weights are 1.

        Parameters
        ----------
        label : (n_rows,)
        bounds : from `read_group_id`
        """
        winners, losers = [], []
        for start, end in pairwise(bounds):
            own = label[start:end]
            won, lost = np.nonzero(own[:, None] > own)
            winners.append(won + start)
            losers.append(lost + start)
        spans = sum_up([len(one) for one in winners])
        pairs = (np.concatenate(rows).astype(np.int64) for rows in (winners, losers))
        return cls(*pairs, np.ones(spans[-1]), spans)

    @classmethod
    def from_rows(cls, pairs, bounds, weight=None):
        """Return given pairs.

        Parameters
        ----------
        pairs : array-like of int (n_pairs, 2), rows of winners and losers
        bounds : from `read_group_id`
        weight : array-like (n_pairs,), optional

        Raises
        ------
        ValueError
            If a row does not exist, the rows of a pair do not belong to one query, or a weight is
            invalid.
        """
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
            raise ValueError("pairs must have two columns of row numbers: winners and losers")
        rows = rows.astype(np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < bounds[-1]:
            raise ValueError(f"pairs must hold row numbers from 0 to {bounds[-1] - 1}")
        query = np.searchsorted(bounds, rows, side="right") - 1
        if (query[:, 0] != query[:, 1]).any() or (rows[:, 0] == rows[:, 1]).any():
            raise ValueError("pairs must hold two different rows of one query")
        weight = read_pair_weights(weight, len(rows))
        order = np.argsort(query[:, 0], kind="stable")
        spans = sum_up(np.bincount(query[:, 0], minlength=len(bounds) - 1))
        winner, loser = np.ascontiguousarray(rows[order].T)
        return cls(winner, loser, weight[order], spans)

    def scale(self, weight):
        """Return the pairs with weights times those of their queries, float64 (n_queries,)."""
        return replace(self, weight=self.weight * np.repeat(weight, np.diff(self.spans)))

    def keep(self, numbers, queries):
        """Return the pairs of some queries.

        Parameters
        ----------
        numbers : int64 (n_rows,), new number of each row, -1 if it is left out
        queries : int64, numbers of the queries
        """
        kept = numbers[self.winner] >= 0
        spans = sum_up(np.diff(self.spans)[queries])
        rows = (numbers[one[kept]] for one in (self.winner, self.loser))
        return Pairs(*rows, self.weight[kept], spans)


def sum_up(counts):
    """Return 0 and the cumulative sums of counts, int64."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def read_pair_weights(given, n_pairs):
    """Return the weights of pairs, float64 (n_pairs,); by default 1."""
    if given is None:
        return np.ones(n_pairs)
    weight = column_or_1d(np.asarray(given)).astype(np.float64)
    if len(weight) != n_pairs or not np.isfinite(weight).all() or (weight < 0.0).any():
        raise ValueError("pairs_weight must hold a number of at least 0 for each pair")
    return weight


class TrainingQueries:
    """Queries of the training rows, from the arguments of ``fit``.

    Parameters
    ----------
    group_id : array-like (n_rows,)
    pairs : array-like of int (n_pairs, 2), or None for all pairs with different labels
    pairs_weight : array-like (n_pairs,), or None
    eval_group_id : list of array-like, one an evaluation set
    """

    def __init__(self, group_id, pairs=None, pairs_weight=None, eval_group_id=()):
        self.group_id, self.eval_group_id = group_id, eval_group_id
        self.pairs_given, self.pairs_weight = pairs, pairs_weight
        self.bounds, self.pairs = None, None

    def read(self, n_rows):
        """Read the queries and the given pairs of a table."""
        self.bounds = read_group_id(self.group_id, n_rows)
        if self.pairs_given is not None:
            self.pairs = Pairs.from_rows(self.pairs_given, self.bounds, self.pairs_weight)
        elif self.pairs_weight is not None:
            raise ValueError("pairs_weight needs pairs")

    def keep(self, kept):
        """Keep some rows, which are all rows of some queries; ``kept`` has their numbers."""
        sizes = np.diff(self.bounds)
        queries = np.unique(np.repeat(np.arange(len(sizes)), sizes)[kept])
        if self.pairs is not None:
            numbers = np.full(self.bounds[-1], -1, np.int64)
            numbers[kept] = np.arange(len(kept))
            self.pairs = self.pairs.keep(numbers, queries)
        self.bounds = sum_up(sizes[queries])

    def find_pairs(self, label, weight):
        """Return the given pairs, or those of the labels.

        Parameters
        ----------
        label : (n_rows,)
        weight : float64 (n_queries,)
        """
        pairs = self.pairs
        if pairs is None:
            pairs = Pairs.from_labels(label, self.bounds)
        return pairs.scale(weight)
