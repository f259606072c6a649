"""Arrays for ordering the categories of a node.

A category is a code 0, 1, …, stored in X as that number. In a categorical column, a node's list
holds its categories one after another, in any order; a flag marks the first entry of each. When a
node is searched, they are in the order in which they are tried. So a split on categories, like one
on numbers, lies before an entry of the list.
"""

from typing import NamedTuple

import numpy as np

MAX_TRIED = (
    10  # maximum number of categories (missing counts as one) for which all subsets are tried
)


class Categories(NamedTuple):
    """The categorical features, and data of the categories of a node."""

    counts: np.ndarray  # int64 (n_features,): number of codes of the feature; 0: numeric
    first: np.ndarray  # int64 (most + 1,): first entry of each category
    code: np.ndarray  # float32 (most,): its code
    key: np.ndarray  # float64 (most,): sort key of each category
    order: np.ndarray  # int64 (most,): the categories, ordered
    sums: np.ndarray  # float64 (most, n_totals): totals of each, as in `tree_arrays.Growth`
    spare: np.ndarray  # float64 (3, n_totals), scratch
