"""Arrays that the kernels of the histogram booster share.

The gradient and the hessian of a row are quantized to integers and packed into one int64, the
*record* of the row:

    record = g · 2³² + h          −2³⁰ ≤ g ≤ 2³⁰,  0 ≤ h ≤ 2³⁰

so that one addition sums both. A *cell* is a packed histogram entry: the sum of the records of the
rows of a leaf that have one bin of one feature. It is exact while Σ|g| < 2³¹ and Σh < 2³². A leaf
within these bounds is *narrow* and stores its histogram as cells; a *wide* leaf stores two int64
planes, one of g and one of h.

Integer sums do not depend on the order of the summands: the same rows give the same histogram with
any number of threads or machines.

A *column* of the table holds the bins of one feature, or a *bundle* of several features (exclusive
feature bundling; Ke et al. 2017, section 4): in each row, at most one of them is outside its
default bin. Cell 0 of a bundle sums the rows in which all features are in their default
bins; each feature has one cell for every other bin. The sums of a default bin are the sums of the
leaf minus those of the other bins. Columns in which almost all rows are in the default bin are
*sparse*: only the other bins are stored, row by row.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.thread_team import ThreadTeam

HALF = 32  # bits of the lower half of a record
LOW = (1 << HALF) - 1
MAX_G = (1 << 31) - 1  # packed cells are exact up to this Σ|g|
MAX_H = (1 << 32) - 1  # and up to this Σh

MAX_BINS = 256
CACHE_LINE = 8  # cells
TILE = 64  # features whose histograms are built together: they fit the second-level cache
NO_FEATURE = -1
NO_FORCED = np.empty((0, 4), np.int64)
NOISE = 4.0  # smaller gains, in squared steps per row, can come from rounding alone

LEAF = np.dtype(
    [
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("depth", np.int64),
        ("node", np.int64),
        ("g", np.int64),  # Σg and Σh of its rows, in steps
        ("h", np.int64),
        ("spread", np.int64),  # Σ|g|, in steps; used for wide leaves only
        ("wide", np.int64),
        ("slot", np.int64),  # index of its histogram in `Growth.cells`
        ("plane", np.int64),  # index of its h in `Growth.heavy`, if it is wide
        ("lower", np.float64),  # bounds on its value
        ("upper", np.float64),
        ("value", np.float64),
    ]
)
BEST = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int64),  # NO_FEATURE: no split
        ("bin", np.int64),  # the last bin that goes left
        ("missing_left", np.int64),
        ("g", np.int64),  # of the left side, in steps
        ("h", np.int64),
        ("reg_lambda", np.float64),  # reg_lambda of its children
        ("is_categorical", np.int64),  # 1: categorical; bins that go left: `left_bins`
    ]
)
NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("feature", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("is_categorical", np.int64),
        ("gain", np.float64),
        ("value", np.float64),
        ("h", np.float64),
        ("count", np.int64),
    ]
)


class FeatureLayout(NamedTuple):
    """Positions of the features in the columns of the table."""

    column: np.ndarray  # int64 (n_features,)
    first: np.ndarray  # int64 (n_features,): index, in its column, of its first cell
    default: np.ndarray  # int64 (n_features,): the bin without a cell, or −1: all bins have one
    start: np.ndarray  # int64 (n_columns + 1,): start of each column's features in `features`
    features: np.ndarray  # int64 (n_features,): features by column, those of two bins last
    pairs: np.ndarray  # int64 (n_columns,): number of features with two bins and one cell
    length: np.ndarray  # int64 (n_columns,): number of cells


class SparseColumns(NamedTuple):
    """Sparse columns, numbered after those of `Bins.rows`: the entries outside default bins."""

    start: np.ndarray  # int64 (n_rows + 1,), start of each row's entries in `cells`; (1,): none
    cells: np.ndarray  # uint32: indices into the whole histogram, row by row
    of_feature: np.ndarray  # int64 (n_features + 1,): start of each feature's entries in `rows`
    rows: np.ndarray  # uint32, ascending within a feature
    bins: np.ndarray  # uint8: index of the cell in its column


class Bins(NamedTuple):
    """Binned table, stored in both row-major and column-major order, or in row-major order only."""

    rows: np.ndarray  # uint8 (n_rows, n_dense): histograms read whole rows
    columns: np.ndarray  # uint8 (n_dense, n_rows): partitions read one column; or (0, n_rows)
    count: np.ndarray  # int64 (n_features,): number of bins, including that of missing values
    missing: np.ndarray  # int64 (n_features,): bin of missing values, the last one; −1: none
    is_categorical: np.ndarray  # int64 (n_features,): 1 where bins are categories
    sizes: np.ndarray  # int32 (n_features, MAX_BINS): categories in each bin; (0, …): no categories
    monotone: np.ndarray  # int64 (n_features,): −1, 0, 1
    groups: np.ndarray  # uint64 (n_features, n_words): bit set of its interaction groups
    layout: FeatureLayout
    sparse: SparseColumns
    flat_rows: np.ndarray  # uint8 (n_rows · n_dense,): the memory of ``rows``


class Rules(NamedTuple):
    """Constraints and regularization of a tree; names are those of LightGBM's parameters."""

    num_leaves: int
    max_depth: int
    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    max_delta_step: float  # bound on |leaf value|; 0: none
    path_smooth: float
    cat_smooth: float
    cat_l2: float
    max_cat_threshold: int
    max_cat_to_onehot: int  # features of at most this many bins get one-vs-rest splits
    min_data_per_group: int
    extra_trees: int  # 1: one threshold is drawn for each feature of a node
    plain: (
        int  # 1: no reg_alpha, max_delta_step, path_smooth or monotone feature: use the fast scan
    )
    sets_by_value: int = 0  # 1: splits of `categorical_split`; 0: those of `constrained_split`
    noise: float = NOISE  # a gain must exceed this many squared steps per row
    monotone_penalty: float = 0.0
    feature_fraction_bynode: float = 1.0
    root_value: int = 0  # 1: the root's node has a value and Σh like all others


class Scale(NamedTuple):
    """Quantization steps of gradients and hessians, and the seed of a tree."""

    g: float
    h: float
    room: int = 0  # any such number of rows fits into a cell; 0: sums must be checked for overflow
    seed: int = 0  # of the draws in the nodes: features, and thresholds of extra trees


class Growth(NamedTuple):
    """Arrays of a growing tree and its result, reused for every tree."""

    rows: np.ndarray  # uint32 (n_rows,): first the training rows, grouped by leaf
    spare: np.ndarray  # uint32 (n_rows,), scratch space
    columns: np.ndarray  # int64: the columns that may be used, ascending
    weight: np.ndarray  # float64 (n_features,): factors of gains; 0: not allowed in this tree
    leaf_weight: np.ndarray  # float64 (2, n_features): of the smaller and the larger new leaf
    column: np.ndarray  # uint8 (n_rows,): a sparse column made dense for a partition, else zeros
    leaves: np.ndarray  # LEAF (num_leaves,)
    groups: np.ndarray  # uint64 (num_leaves, n_words): bit set of the groups a leaf may still use
    best: np.ndarray  # BEST (num_leaves,): best split of each leaf
    left_bins: (
        np.ndarray
    )  # uint8 (num_leaves, MAX_BINS): bins that go left, if the split is categorical
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, MAX_BINS): of each inner node and bin
    cells: (
        np.ndarray
    )  # int64 (num_leaves, n_cells), by slot: a narrow leaf's, see `hist.restrict_groups`,
    # `narrow_leaf`), or g of wide ones
    heavy: np.ndarray  # int64 (num_leaves, n_cells), by plane: h of a wide leaf
    state: np.ndarray  # int64: see below
    forced: np.ndarray = NO_FORCED  # int64 (n_forced, 4), from `forced_splits.find_forced_bins`
    queue: np.ndarray = NO_FORCED  # int64 (n_forced, 4): forced split and leaf, in their order


class CategoryBins(NamedTuple):
    """Columns of more categories than bins, whose bins are chosen for each tree of a batch.

    The codes of all columns are numbered one after another; the last code of each column stands for
    missing values.
    """

    features: np.ndarray  # int64 (n,)
    n_bins: np.ndarray  # int64 (n,), bins of each column, without the one for missing values
    first: np.ndarray  # int64 (n + 1,), number of the first code of each column
    codes: np.ndarray  # uint32 (n, n_rows), category of each row, from 0 in each column
    cat_smooth: float  # minimum number of rows of a category that gets a bin
    cat_smooth_h: float  # the same in units of h, added to H in G / (H + s)
    sums: np.ndarray  # int64 (size, n_codes, 2), scratch space of each thread: Σg and Σh by code
    slopes: np.ndarray  # float64 (n_codes,), scratch space
    orders: np.ndarray  # int64 (2, n_codes), scratch space
    is_frequent: np.ndarray  # bool (n_codes,), scratch space
    bins: np.ndarray  # uint8 (n_rounds, n_scores, n_codes), written: bin of each code in each tree


class RoundArrays(NamedTuple):
    """Arrays and constants of the boosting rounds that one kernel call adds; see `boosting_rounds`.

    The threads of a team divide the trees of a round, or grow each tree together. Each thread has
    its own `rank` and `work`, and if it grows trees alone, its own `tables` and `bounds`; the other
    arrays are shared. Without seeds, the kernel grows one tree on given packed gradients.
    """

    team: ThreadTeam
    rank: int  # rank of the calling thread
    kind: int  # loss, as in `gradients.differentiate`, or SOFTMAX
    constant: float  # parameter of the loss, such as the quantile level
    learning_rate: float
    weight_unit: float  # factor of gains
    stride: int  # every stride-th row enters the mean |g|
    seeds: np.ndarray  # uint32 (n_rounds, n_scores), of the rounding of gradients
    extra_seeds: np.ndarray  # uint32 (n_rounds, n_scores), of the random thresholds of extra trees
    score: np.ndarray  # float64 (n_scores, n_rows), updated
    y: np.ndarray  # float64 (n_scores, n_rows); (1, n_rows) class codes for softmax
    weight: np.ndarray  # float64 (n_rows,), or (0,) if all are 1
    g: np.ndarray  # float32 (n_scores, n_rows), written
    h: np.ndarray  # float32 (n_scores, n_rows), written; or (n_scores, 0) if all are 1
    work: np.ndarray  # float64 (n_scores + 2, gradients.ROWS), scratch space of softmax
    categories: CategoryBins
    tables: np.ndarray  # int64, as in `gradient_packing.write_records`
    steps: np.ndarray  # float64 (n_scores, 2), ones at first; NaN if gradients are not finite
    bounds: np.ndarray  # int64 (2,), bounds on |g| and h in quantization steps
    no_rows: np.ndarray  # uint32 (0,)
    rows: np.ndarray  # uint32, ascending: rows that the trees are grown on; (0,): all rows
    held_out: np.ndarray  # uint32: the other rows, whose scores are updated as well
    held_out_scores: np.ndarray  # float64 (n_rounds, n_scores, n_held_out), written: after each
    # round
    taken: np.ndarray  # int64 (n_rounds,), zeros at first: number of started trees
    continues: np.ndarray  # int64 (n_rounds,), zeros at first: 1 if training goes on after it
    nodes: np.ndarray  # NODE (n_rounds, n_scores, 2 num_leaves − 1), written
    goes_left: np.ndarray  # uint8 (n_rounds, n_scores, 2 num_leaves − 1, MAX_BINS), written for
    # categories
    n_leaves: np.ndarray  # int64 (n_rounds, n_scores), zeros at first: leaves of finished trees
    is_newton: int = 0  # 1: as `newton.rounds`: if all h are 1, Σh is the number of rows; leaf
    # values are float32; training goes on after a round that changes no score
    h_factor: float = 1.0  # factor of the softmax hessians
    float32_scores: int = 0  # 1: scores are rounded to float32 after each tree


class Scratch(NamedTuple):
    """Scratch space of each thread of a team, by rank."""

    cells: np.ndarray  # int64 (size, n_cells); zeros between two histograms
    wide: np.ndarray  # int64 (size, 2, n_cells); zeros between two histograms
    sums: np.ndarray  # int64 (size, N_SUMS)
    small: np.ndarray  # int64 (size, 8, MAX_BINS): g and h of the smaller child and of the larger
    # one, left sums, g and h of one feature of a bundle
    scores: np.ndarray  # float64 (size, MAX_BINS)
    order: np.ndarray  # int64 (size, MAX_BINS)
    best: np.ndarray  # BEST (size, 2): best splits of the smaller and of the larger child
    left_bins: np.ndarray  # uint8 (size, 2, MAX_BINS): bins that go left in these splits


# Indices into `Growth.state`: number of leaves, leaf to split next (−1: none), number of planes in
# use, number of training rows, first and last + 1 waiting entry of `Growth.queue`, whether the leaf
# to split next has been split, and the bits of the gain that a new leaf must exceed to be split.
# Then indices into `Scratch.sums`.
LEAVES, NEXT, PLANES, ROWS, FORCED_FIRST, FORCED_LAST, IS_SPLIT, MIN_USEFUL_GAIN = range(8)
STATES = 8
SPREAD, TOTAL_G, TOTAL_H, FLUSHED, TO_LEFT, SPARSE_FLUSHED = range(6)
N_SUMS = 16  # two cache lines
