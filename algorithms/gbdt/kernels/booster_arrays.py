"""The arrays that the kernels of the histogram booster share.

A row's gradient and hessian are whole numbers of steps, packed into one int64, the *record*:

    record = g · 2³² + h          −2³⁰ ≤ g ≤ 2³⁰,  0 ≤ h ≤ 2³⁰

so one addition sums both. A *cell* is such a sum: of the rows of a leaf that have one bin in one
feature. It is exact while Σ|g| < 2³¹ and Σh < 2³²: a leaf for which that holds is *narrow* and
keeps its histogram as cells; a *wide* leaf keeps two planes of int64, g and h.

Whole numbers have no order of summation: the same rows give the same histogram, however many
threads or machines have shared them.

A *column* of the table holds a feature's bins; or a *bundle*: several features, of which a row has
at most one that is not at its default bin (Ke et al. 2017, section 4). Its cell 0 stands for all of
them at their defaults, and each has a cell for every other bin. What the default bin holds is what
remains of the leaf's sums. Columns that almost all rows are at the default of are *listed*: only
their other bins are kept, row by row.
"""

from typing import NamedTuple

import numpy as np

HALF = 32  # bits of a record's lower half
LOW = (1 << HALF) - 1
MOST_G = (1 << 31) - 1  # bound on Σ|g| within which cells are exact
MOST_H = (1 << 32) - 1  # bound on Σh

MAX_BINS = 256
CACHE_LINE = 8  # cells
TILE = 64  # features whose cells are filled at once: they fit the second-level cache
NO_FEATURE = -1
NOISE = 4.0  # gains below this many squared steps a row can come from rounding alone

LEAF = np.dtype(
    [
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("depth", np.int64),
        ("node", np.int64),
        ("g", np.int64),  # Σg and Σh of its rows, in steps
        ("h", np.int64),
        ("spread", np.int64),  # Σ|g|, in steps; read of wide leaves only
        ("wide", np.int64),
        ("slot", np.int64),  # of its histogram
        ("plane", np.int64),  # of the h of its histogram, where it is wide
        ("lower", np.float64),  # bounds on its value
        ("upper", np.float64),
        ("value", np.float64),
    ]
)
BEST = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int64),  # NO_FEATURE: none was found
        ("bin", np.int64),  # the last one that goes left
        ("missing_left", np.int64),
        ("g", np.int64),  # of the left side, in steps
        ("h", np.int64),
        ("ridge", np.float64),  # λ of its sides
        ("is_set", np.int64),  # 1: `left_bins` says which bins go left
    ]
)
NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("feature", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("is_set", np.int64),
        ("gain", np.float64),
        ("value", np.float64),
        ("h", np.float64),
        ("count", np.int64),
    ]
)


class FeatureLayout(NamedTuple):
    """Where the features lie in the columns of the table."""

    column: np.ndarray  # int64 (n_features,)
    first: np.ndarray  # int64 (n_features,): cell, in its column, of its first bin that has one
    default: np.ndarray  # int64 (n_features,): bin without a cell, or −1: each bin is a cell
    start: np.ndarray  # int64 (n_columns + 1,): where the features of a column begin in `features`
    features: np.ndarray  # int64 (n_features,): features by column, those with `pairs` last
    pairs: np.ndarray  # int64 (n_columns,): features of a column with two bins and one cell
    length: np.ndarray  # int64 (n_columns,): cells


class SparseColumns(NamedTuple):
    """The columns that come after those of `Bins.rows`: what is not at the default in each row."""

    start: np.ndarray  # int64 (n_rows + 1,), or (1,) where nothing is listed
    cells: np.ndarray  # uint32: cells of the whole histogram, row by row
    of_feature: np.ndarray  # int64 (n_features + 1,): where a feature's entries begin
    rows: np.ndarray  # uint32, ascending within a feature
    bins: np.ndarray  # uint8: cells of the column


class Bins(NamedTuple):
    """The table, each value replaced by the number of its bin, in both orders."""

    rows: np.ndarray  # uint8 (n_rows, n_dense): histograms read whole rows
    columns: np.ndarray  # uint8 (n_dense, n_rows): partitions read one column
    count: np.ndarray  # int64 (n_features,): bins of a feature, that of missing values included
    missing: np.ndarray  # int64 (n_features,): bin of missing values, the last one, or −1
    is_categorical: np.ndarray  # int64 (n_features,): 1 where bins are categories
    sizes: np.ndarray  # int32 (n_features, MAX_BINS): how many categories, of these; (0, …): none
    monotone: np.ndarray  # int64 (n_features,): −1, 0, 1
    groups: np.ndarray  # uint64 (n_features, n_words): bits, groups that it may interact in
    layout: FeatureLayout
    sparse: SparseColumns


class Rules(NamedTuple):
    """What a tree may look like."""

    num_leaves: int
    max_depth: int
    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    max_delta_step: float  # bound on |value|; 0: none
    path_smooth: float
    cat_smooth: float
    cat_l2: float
    max_cat_threshold: int
    max_cat_to_onehot: int  # up to as many bins, each category is tried alone
    min_data_per_group: int
    extra_trees: int  # 1: one threshold is drawn for each feature of a node
    plain: int  # 1: neither alpha, max_step, smooth nor a monotone feature: the fast scan serves
    seed: int
    sets_by_value: int = 0  # 1: sets as of `newton.sets`; 0: as of `hist.careful`
    noise: float = NOISE  # squared steps a row that a gain must exceed


class Scale(NamedTuple):
    """What a step of the records is worth."""

    g: float
    h: float
    room: int = (
        0  # any so many rows fit into a cell; 0: single rows are so large that one must look
    )


class Growth(NamedTuple):
    """What a tree is grown in, and the result; used again for every tree."""

    rows: np.ndarray  # uint32 (n_rows,): first those trained on, of a leaf together
    spare: np.ndarray  # uint32 (n_rows,)
    columns: np.ndarray  # int64: those that may be used, ascending
    allowed: np.ndarray  # uint8 (n_features,): 1 where a feature may be used
    column: np.ndarray  # uint8 (n_rows,): zeros between two partitions by listed columns
    leaves: np.ndarray  # LEAF (num_leaves,)
    groups: np.ndarray  # uint64 (num_leaves, n_words): bits, groups that a leaf may still use
    found: np.ndarray  # BEST (num_leaves,): best split of each leaf
    left_bins: np.ndarray  # uint8 (num_leaves, MAX_BINS): bins that go left, where `is_categorical`
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, MAX_BINS): of each inner node and bin
    cells: (
        np.ndarray
    )  # int64 (num_leaves, n_cells), by slot: a narrow leaf's, see `hist.restrict_groups`,
    # or g of a wide one
    heavy: np.ndarray  # int64 (num_leaves, n_cells), by plane: h of a wide leaf
    state: np.ndarray  # int64: see below


class Scratch(NamedTuple):
    """What each member of a team has of its own, by rank."""

    cells: np.ndarray  # int64 (size, n_cells); zeros between two histograms
    wide: np.ndarray  # int64 (size, 2, n_cells); zeros likewise
    sums: np.ndarray  # int64 (size, N_SUMS)
    small: np.ndarray  # int64 (size, 8, MAX_BINS): g, h of the smaller child, of the larger, sums,
    # g and h of one feature of a bundle
    scores: np.ndarray  # float64 (size, MAX_BINS)
    order: np.ndarray  # int64 (size, MAX_BINS)
    best: np.ndarray  # BEST (size, 2): of the smaller and of the larger child
    left_bins: np.ndarray  # uint8 (size, 2, MAX_BINS), likewise


# Places in `state` and in `sums`.
# How many leaves there are, which is split next (−1: none), planes taken, rows that are grown on.
LEAVES, NEXT, PLANES, ROWS = range(4)
STATES = 8
SPREAD, TOTAL_G, TOTAL_H, FLUSHED, TO_LEFT, LISTED_FLUSHED = range(6)
N_SUMS = 16  # two cache lines
