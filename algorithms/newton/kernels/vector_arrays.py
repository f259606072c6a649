"""Arrays of trees whose leaves hold one value for each output.

    gain = Σ_k score(G_kL, H_kL) + score(G_kR, H_kR) − score(G_k, H_k)     over the outputs k
    score(G, H) = T(G)² / (H + λ)     0 if H < `min_child_weight`, as in XGBoost 3.2

A histogram entry is a vector of `lanes` sums: G of all outputs, padded to a multiple of `WIDTH`,
then H in the same way; or G and one H if it is the same for all outputs. Derivatives are rounded at
random to integer multiples of a unit, a power of two, that is as small as int32 sums allow. So sums
are exact: they do not depend on the order of the rows, and the tree does not depend on the number
of threads.
"""

from typing import NamedTuple

import numpy as np

WORDS = 4  # of 64 bits, one bit for each entry of a column
BLOCK = 1 << 9  # rows whose derivatives are copied at a time
MIN_H = 1e-16
LINE = 8  # numbers of 64 bits in a cache line
NEXT, N_NODES, N_OPEN, N_FREE, N_LEAVES, SMALL, LARGE, SUBTRACTS, STATES = range(9)
LIFO, LEVEL_ORDER, BEST_FIRST = range(3)

NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("depth", np.int64),
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("slot", np.int64),  # index of its histogram, or −1
        ("feature", np.int64),  # of its best split, or `NO_SPLIT`
        ("bin", np.int64),  # the last bin that goes left
        ("missing_left", np.int64),
        ("gain", np.float64),
    ]
)


class VectorRules(NamedTuple):
    """Limits on a tree, and the regularization of its values."""

    n_outputs: int
    shared_h: int  # 1: all outputs have the same H
    first_h: int  # lane of the first H
    max_depth: int  # 0: no limit
    max_leaves: int
    order: int  # of splits: LIFO, LEVEL_ORDER or BEST_FIRST
    min_child_weight: float
    reg_lambda: float
    reg_alpha: float
    max_delta_step: float
    least_gain: float
    level_columns: int  # columns drawn for each level, then for each node
    node_columns: int
    seed: int  # of these draws


class Rounding(NamedTuple):
    """Units of the derivatives, and the random numbers that they are rounded with."""

    per_unit: np.ndarray  # float64 (lanes,), units per 1
    shifts: np.ndarray  # float64 (lanes,), added to the random number of a row, modulo 1
    first_h: int  # lane of the first h
    seed: np.uint32


class ApproximateScore(NamedTuple):
    """Constants of `score_group`, float32 (first_h,), by output."""

    unit_h: np.ndarray  # factor of an integer H: its unit times a factor s with (H + λ) s ≤ 1
    least: np.ndarray  # slightly below s times the minimum of H; infinite without an output
    reg_lambda: np.ndarray  # s λ
    weight: np.ndarray  # factor of a score: at most 1


class VectorGrowth(NamedTuple):
    """Arrays of a tree that grows."""

    rows: np.ndarray  # uint32 (n_used,), ascending at first; in the end by leaf
    spare: np.ndarray  # uint32 (n_used,)
    columns: np.ndarray  # int64: columns of the table that hold an allowed feature
    allowed: np.ndarray  # uint8 (n_features,)
    weights: np.ndarray  # float64 (n_features,), chances of the draws; (0,): equal
    offsets: np.ndarray  # int64 (n_columns,), first entry of each column in a histogram
    cells: np.ndarray  # int32 (n_slots, entries × lanes); the last two slots are temporary
    filled: np.ndarray  # uint64 (n_slots, n_columns, WORDS), see `filled_entries`
    free: np.ndarray  # int64 (n_slots,), stack of free slots
    open: np.ndarray  # int64 (max_leaves,), leaves that may be split
    nodes: np.ndarray  # NODE (2 max_leaves − 1,)
    sums: np.ndarray  # int32 (n_nodes, lanes)
    left_sums: np.ndarray  # int32 (n_nodes, lanes), of the left side of the best split
    groups: np.ndarray  # uint64 (n_nodes, n_words)
    goes_left: np.ndarray  # uint8 (n_nodes, MAX_BINS), by code of the column
    found: np.ndarray  # float64 (2, n_features, 3): gain, bin and missing_left of each feature
    found_left: np.ndarray  # int32 (2, n_features, lanes), sums of the left side of these splits
    drawn: np.ndarray  # uint8 (2, n_features)
    keys: np.ndarray  # float64 (n_features,)
    units: np.ndarray  # float64 (lanes,), unit of each lane; 1 in lanes that are not used
    g_units: np.ndarray  # float64 (lanes,), 0 also in the lanes of H
    approximate: ApproximateScore
    scale: np.ndarray  # float64 (1,), factor of a score that makes it an approximate one
    bins: np.ndarray  # int32 (n_threads, MAX_BINS × lanes)
    bins_filled: np.ndarray  # uint64 (n_threads, WORDS)
    left: np.ndarray  # int32 (n_threads, MAX_BINS + 1, lanes)
    approximate_scores: np.ndarray  # float32 (n_threads, MAX_BINS)
    scores: np.ndarray  # float64 (n_threads, MAX_BINS)
    numbers: np.ndarray  # int64 (n_threads, MAX_BINS)
    best: np.ndarray  # float64 (n_threads, 2, LINE)
    work: np.ndarray  # int32 (n_threads, BLOCK, lanes), derivatives of a block of rows
    state: np.ndarray  # int64 (STATES,)


class VectorRoundArrays(NamedTuple):
    """Rounds of softmax that one call adds, and their trees; without rounds it grows one tree.

    The fields from ``work`` to ``added`` are scratch space.
    """

    learning_rate: float
    score: np.ndarray  # float64 (n_outputs, n_rows), added to
    code: np.ndarray  # float64 (n_rows,), the class of each row
    weight: np.ndarray  # float64 (n_rows,), or (0,) if every row has weight 1
    g: np.ndarray  # float32 (n_outputs, n_rows), written
    h: np.ndarray  # float32 (n_outputs, n_rows), written
    seeds: np.ndarray  # uint32 (n_rounds,), of the rounding of derivatives
    per_unit: np.ndarray  # float64 (lanes,), ones; written; as in `Rounding`
    shifts: np.ndarray  # float64 (lanes,), as in `Rounding`
    g_totals: np.ndarray  # float64 (n_blocks, n_outputs), sums of |g| by block of rows
    h_totals: np.ndarray  # float64 (n_blocks, n_outputs)
    work: np.ndarray  # float32 (n_threads, n_outputs + 2, softmax.ROWS)
    numbers: np.ndarray  # float64 (n_threads, ROUNDED)
    whole: np.ndarray  # int32 (n_threads, lanes, ROUNDED), zeros
    leaf_of: np.ndarray  # uint32 (n_rows,), written: leaf of each row
    added: np.ndarray  # float64 (n_outputs, n_nodes), written: values of the last tree
    first_threshold: np.ndarray  # int64 (n_features + 1,), first threshold of each feature
    thresholds: np.ndarray  # float32
    nodes: np.ndarray  # newton.tree.NODE (n_rounds, n_nodes), zeros; written
    values: np.ndarray  # float32 (n_rounds, n_nodes, n_outputs), written
    n_nodes: np.ndarray  # int64 (n_rounds,), zeros; written: nodes of each finished tree
    problem: np.ndarray  # int64 (1,), the last result of `write_units`; −1 if interrupted


class ScanScratch(NamedTuple):
    """Units, and scratch space of a thread that scans histograms."""

    units: np.ndarray  # as in `VectorGrowth`
    g_units: np.ndarray
    approximate: ApproximateScore
    scale: np.ndarray
    bins: np.ndarray  # int32 (MAX_BINS × lanes,), sums of the bins of a bundled feature
    bins_filled: np.ndarray  # uint64 (WORDS,), bits of these bins
    left: np.ndarray  # int32 (MAX_BINS + 1, lanes): zeros, then sums of one side of thresholds
    approximate_scores: np.ndarray  # float32 (MAX_BINS,), approximate scores of these thresholds
    scores: np.ndarray  # float64 (MAX_BINS,), their scores
    numbers: np.ndarray  # int64 (MAX_BINS,), their bins
    best: np.ndarray  # float64: the best gain that this thread has found in the node
    found_left: np.ndarray  # int32 (lanes,), written: sums of the left side of the best threshold


class NodeStats(NamedTuple):
    """Sums of a node that is scanned."""

    sums: np.ndarray  # int32 (lanes,)
    score: float
    h_total: float  # Σ H of all outputs
