"""Permutations of the rows and their segments, for ordered boosting.

A segment is a prefix of a permutation: its body, and a tail of the rows that follow. The tails lie
one after the other, so each row after the first body is in one tail:

    body₁ = min(100, n / 50), or 1 for n ≤ 500      tail ends at ⌈body · m⌉, the next body's end

with m = `fold_len_multiplier`. Each segment has its own scores of its rows. Leaf values come from
the body alone, so the scores of a tail do not depend on the targets of its rows.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.symmetric.kernels.segment_scores import BODY, START, TAIL

LEARNING_FOLDS = 3  # permutations, as in CatBoost; the first one is the order of the rows
ORDER = 101  # salt of seeds, beside those of `Booster`
FEW_ROWS, MAX_IN_FIRST_BODY, SHARE = 500, 100, 50
MAX_IN_BLOCK, BLOCKS = 256, 1000  # rows of a block of a permutation, and number of blocks


@dataclass(frozen=True)
class Fold:
    """A permutation of the rows, and its segments.

    An *entry* is a row of a segment. The entries of a segment lie one after the other.
    """

    order: np.ndarray  # uint32 (n_rows,), rows in the order of the permutation
    position: np.ndarray  # uint32 (n_rows,), place of each row in the permutation
    segments: np.ndarray  # int64 (n_segments, 3): end of the body, end of the tail, first entry

    @property
    def rows(self):
        """Row of each entry, uint32 (n_entries,)."""
        return np.concatenate([self.order[:end] for end in self.segments[:, TAIL]])

    @property
    def spans(self):
        """Entries of each segment: list of slices."""
        return [slice(start, start + end) for _, end, start in self.segments.tolist()]

    @property
    def tails(self):
        """Entries in the tail of each segment: list of slices."""
        return [slice(start + body, start + end) for body, end, start in self.segments.tolist()]


def make_fold(order, multiplier):
    """Return the `Fold` of a permutation.

    Parameters
    ----------
    order : uint32 (n_rows,)
    multiplier : float above 1
    """
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=order.dtype)
    return Fold(order, position, find_segments(len(order), multiplier))


def find_segments(n_rows, multiplier):
    """Return the segments of a permutation, int64 (n_segments, 3); see `Fold`."""
    body = min(MAX_IN_FIRST_BODY, n_rows // SHARE) if n_rows > FEW_ROWS else 1
    found, start = [], 0
    while not found or body < n_rows:
        tail = min(int(np.ceil(body * multiplier)), n_rows)
        found.append((body, tail, start))
        start += tail
        body = tail
    segments = np.empty((len(found), 3), np.int64)
    segments[:, [BODY, TAIL, START]] = found
    return segments


def find_block(block, n_rows):
    """Return the number of consecutive rows that stay together in a permutation.

    Parameters
    ----------
    block : int, `fold_permutation_block`; 0 means n / 1000 + 1, at most 256
    n_rows : int
    """
    return block or min(MAX_IN_BLOCK, n_rows // BLOCKS + 1)


def draw_order(n_rows, block, seed):
    """Return a permutation of blocks of rows, uint32 (n_rows,).

    Parameters
    ----------
    n_rows : int
    block : int, as in `find_block`
    seed : int below 2³²
    """
    block = find_block(block, n_rows)
    blocks = np.argsort(hash_numbers(seed, -(-n_rows // block)), kind="stable")
    order = (blocks[:, None] * block + np.arange(block)).ravel()
    return order[order < n_rows].astype(np.uint32)


def learning_orders(params, n_rows, seed):
    """Return the learning permutations, list of uint32 (n_rows,): one with ``has_time``."""
    orders = [np.arange(n_rows, dtype=np.uint32)]
    if not params.has_time:
        seeds = [seed_of(seed, ORDER, number) for number in range(1, LEARNING_FOLDS)]
        orders += [draw_order(n_rows, params.fold_permutation_block, one) for one in seeds]
    return orders
