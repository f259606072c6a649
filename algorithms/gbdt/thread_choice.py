"""Choose by the amount of work how many threads grow the trees of a booster.

Several threads share a tree, or each thread grows whole trees of a round with several scores, or
one thread grows all trees. A second thread waits at some hundred barriers per tree, and other
processes may keep it waiting longer.
"""

from algorithms.gbdt.bundles import stride_of
from algorithms.runtime.threads import count_processors

SMALL = 300_000  # values × columns below which one thread grows a tree faster than several
MAX_WORK = 500_000  # estimated ns of a tree, up to which one thread adds rounds
ROW_WORK = 16  # ns of a tree for each row: gradients, packing, partitions and scores
FEW_VALUES = 1 << 13  # values below which one thread grows the trees of a round faster
MIN_VALUES_FOR_THREADS = 1 << 13  # values of X below which one thread does all of a fit
ROWS_TO_MARK = 1 << 16  # rows from which on several threads share a pass over rows
ENTRY_BYTES = 8  # of a histogram entry
MAX_BYTES = 1 << 28  # maximum size of the histograms of trees that grow concurrently


def fit_threads(X, threads):
    """Return how many of the threads train on a table: one if it has few values.

    Starting a second thread and waiting for it takes as long as several trees.
    """
    return 1 if X.size < MIN_VALUES_FOR_THREADS else threads


def count_values(bins):
    """Return the number of stored values of `Bins`."""
    return bins.rows.size + len(bins.sparse.cells)


def tree_threads(bins, workers):
    """Return how many threads share a tree on `Bins`."""
    if count_values(bins) * len(bins.layout.length) < SMALL:
        return 1
    if len(bins.rows) >= ROWS_TO_MARK:
        return workers.threads
    return min(workers.threads, count_processors())  # more would wait for each other


def round_threads(binned, workers, n_trees):
    """Return how many threads grow whole trees of a round; 1: trees are grown one after another.

    Several threads on a small tree spend much time waiting for each other. So if a round has at
    least as many trees as there are threads, each thread grows whole trees. With high-cardinality
    columns each tree has its own bins, so they cannot grow at the same time.

    Parameters
    ----------
    binned : Binned
    workers : Workers
    n_trees : trees per round
    """
    bins = binned.bins
    threads = min(workers.threads, count_processors())
    n_rows = len(bins.rows)
    n_entries = stride_of(bins.layout) * len(bins.layout.length)
    fits = threads * min(binned.rules.num_leaves, n_rows) * n_entries * ENTRY_BYTES <= MAX_BYTES
    is_small = n_rows < ROWS_TO_MARK and fits and not binned.high_cardinality
    is_shared = 1 < threads <= n_trees and count_values(bins) >= FEW_VALUES and is_small
    return threads if is_shared else 1


def is_faster_alone(grower):
    """Return whether one thread adds rounds with a grower faster than several."""
    bins, rules = grower.bins, grower.rules
    leaves = min(rules.num_leaves, len(bins.rows) // max(rules.min_child_samples, 1) + 1)
    work = ROW_WORK * len(bins.rows) + 2 * count_values(bins)
    work += 3 * leaves * bins.layout.length.sum()
    return grower.size == 1 or work <= MAX_WORK
