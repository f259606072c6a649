"""Growth of a whole symmetric tree with categorical columns in the calling thread.

It makes the same tree as the levels of `symmetric/category_grower.py`, without the cost of a call
of Python for each step.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.symmetric.kernels.category_tree import (
    BIN,
    COLUMN,
    COMBINATION,
    LISTED,
    NEW,
    PERMUTATION,
    Candidates,
    CombinationArrays,
    StaticColumns,
    choose_split,
    find_slot,
    list_combinations,
)
from algorithms.symmetric.kernels.combination_statistics import StatisticCodes
from algorithms.symmetric.kernels.combinations import (
    CategoryScratch,
    LevelRows,
    LevelScoring,
    ScoreScratch,
    StatisticCache,
    order_records,
    scan_combinations,
    write_column,
    write_combinations,
)
from algorithms.symmetric.kernels.grow_tree import (
    find_redundant_split,
    scan_level,
    split_leaves,
)
from algorithms.symmetric.kernels.leaf_steps import copy_to
from algorithms.symmetric.kernels.partition import find_leaves
from algorithms.symmetric.kernels.target_statistics import CtrArrays


class CategoryTree(NamedTuple):
    """What the growth of a tree with categorical columns needs besides `GrowthArrays`."""

    search: CombinationArrays
    static: StaticColumns
    candidates: Candidates
    cache: StatisticCache
    ctrs: CtrArrays
    codes: StatisticCodes
    n_bins: np.ndarray  # int64 (n_statistics,), bins of the statistics of a combination
    stride: int  # see `LevelScoring`
    model_size_reg: float
    orders: np.ndarray  # uint32 (n_permutations, n_rows), the last one assigns leaves; (1, 0): none
    leaf_columns: np.ndarray  # uint8 (depth, n_rows), scratch space
    records: np.ndarray  # int64 (n_outputs, n_rows), scratch space: see `LevelRows`
    chunks: np.ndarray  # uint32 (n_rows,), scratch space: see `LevelRows`
    is_narrow: np.ndarray  # bool (2, n_leaves), scratch space: see `LevelRows`


class TreeScratch(NamedTuple):
    """Scratch space of one thread."""

    categories: CategoryScratch
    scores: ScoreScratch


@kernel
def grow_category_tree(arrays, tree, scratch, records, rows, scoring, seeds, splits, leaf_of):
    """Write the splits of a tree, and the leaf of each row; return the number of splits.

    `start_search` comes before.

    Parameters
    ----------
    arrays : GrowthArrays
    tree : CategoryTree
    scratch : TreeScratch
    records, rows, scoring, seeds : as in `grow_alone`
    splits : int64 (depth, 3), written: see `choose_split`
    leaf_of : uint16 (n_rows,), written
    """
    starts, ends = arrays.spans[0], arrays.spans[1]
    spare, search = arrays.spare[: len(rows)], tree.search
    starts[0], ends[0] = 0, len(rows)
    n_leaves, n_splits = 1, len(splits)
    kind, l2, step, noise = scoring.kind, scoring.l2, scoring.step, scoring.noise
    permutation = search.state[PERMUTATION]
    order_of_bases = tree.orders[permutation][:0]  # empty: the order of the bases
    for level in range(len(splits)):
        list_combinations(search, tree.static, splits, level, scratch.categories)
        write_new(tree, scratch, order_of_bases)
        bins = tree.static.rows[permutation]
        scan_level(arrays, bins, records, rows, n_leaves, scoring, seeds[level, 0])
        seed = np.int64(seeds[level, 0])
        own = LevelScoring(kind, noise, seed, tree.n_bins, tree.stride, l2, step)
        level_rows = LevelRows(rows, starts, ends, tree.records, tree.chunks, tree.is_narrow)
        order_records(records, level_rows, n_leaves)
        scan_combinations(
            tree.cache.codes, tree.codes, (search.listed, search.listed_slots), level_rows,
            n_leaves, own, search.kept, scratch.scores,
            (tree.candidates.score, tree.candidates.bin), 0, search.state[LISTED],
        )  # fmt: skip
        split = splits[level]
        choose_split(
            search, tree.static, tree.candidates, tree.cache.n_levels, noise, seeds[level, 1],
            tree.model_size_reg, split,
        )  # fmt: skip
        column = tree.leaf_columns[0]
        if split[COMBINATION] >= 0:
            codes = tree.cache.codes[search.known.slots[split[COMBINATION]]]
            write_column(tree.codes, split[COLUMN], codes, column)
        else:
            column = tree.static.columns[permutation, split[COLUMN]]
        split_leaves(column, split[BIN], rows, spare, starts, ends, n_leaves)
        rows, spare = spare, rows
        n_leaves *= 2
        redundant = find_redundant_split(starts, ends, n_leaves)
        if redundant >= 0:
            for later in range(redundant, level):
                for field in range(splits.shape[1]):
                    splits[later, field] = splits[later + 1, field]
            n_splits = level
            break
    assign_leaves(tree, scratch, splits[:n_splits], leaf_of)
    return n_splits


@inner_kernel
def write_new(tree, scratch, order):
    """Write the statistics of the new combinations; ``order`` is as in `write_combinations`."""
    write_combinations(
        tree.search.parts, tree.search.new, order, tree.ctrs, tree.codes, scratch.categories,
        tree.cache, 0, tree.search.state[NEW],
    )  # fmt: skip


@kernel
def find_leaf_slots(tree, splits, slots):
    """Write the slots of the statistics that assign leaves; those without statistics are `new`.

    Parameters
    ----------
    tree : CategoryTree
    splits : int64 (n, 3), the splits of the tree
    slots : int64 (at least n,), written for the splits by combinations
    """
    tree.search.state[NEW] = 0
    last = len(tree.orders) - 1
    for level in range(len(splits)):
        number = splits[level, COMBINATION]
        if number >= 0:
            slots[level] = find_slot(tree.search, number, last)


@kernel
def copy_leaf_columns(tree, splits, slots):
    """Write the columns that assign leaves; parameters are those of `find_leaf_slots`."""
    for level in range(len(splits)):
        out, column = tree.leaf_columns[level], splits[level, COLUMN]
        if splits[level, COMBINATION] >= 0:
            write_column(tree.codes, column, tree.cache.codes[slots[level]], out)
        else:
            copy_to(tree.static.columns[len(tree.orders) - 1, column], out)


@inner_kernel
def assign_leaves(tree, scratch, splits, leaf_of):
    """Write the leaf of each row."""
    slots = tree.search.listed_slots  # of the last level, not used any more
    find_leaf_slots(tree, splits, slots)
    write_new(tree, scratch, tree.orders[len(tree.orders) - 1])
    copy_leaf_columns(tree, splits, slots)
    for level in range(len(splits)):
        slots[level] = level
    given = slots[: len(splits)], splits[:, BIN], leaf_of, 0, len(leaf_of)
    find_leaves(tree.leaf_columns, *given)
