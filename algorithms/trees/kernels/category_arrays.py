"""The arrays by which the categories of a node are ordered.

A category is a code, 0, 1, …, and stands in X as that number. In a column of categories the list
of a node holds its categories one after another, in any order: a flag marks the first entry of
each. When a node is searched they stand in the order in which they are tried, so a split on
categories, as one on numbers, lies before an entry of the list.
"""

from typing import NamedTuple

import numpy as np

MOST_TRIED = 10  # categories, missing values as one, up to which all ways to part them are tried


class Categories(NamedTuple):
    """Which features hold categories, and what is written of those of a node."""

    counts: np.ndarray  # int64 (n_features,): codes of the feature; 0: it holds numbers
    first: np.ndarray  # int64 (most + 1,): entry with which each category begins
    code: np.ndarray  # float32 (most,): its code
    key: np.ndarray  # float64 (most,): what they are ordered by
    order: np.ndarray  # int64 (most,): the categories, ordered
    sums: np.ndarray  # float64 (most, n_totals): totals of each, as in `layout.Growth`
    spare: np.ndarray  # float64 (3, n_totals), scratch
