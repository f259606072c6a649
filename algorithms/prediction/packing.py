"""An ensemble's nodes, sets, values and rules, as kernels walk them."""

import numpy as np

from algorithms.prediction.category_values import WORD, CategoryNumbers, count_words
from algorithms.prediction.kernels.walk import (
    IS_SET,
    MEMBERS_LEFT,
    MISSING_LEFT,
    STEP,
    ZERO_MISSING,
    Reading,
)
from algorithms.prediction.node_rules import ends_left, nan_goes_left
from harness import Missing

MANY_WORDS = 1 << 17  # of all category sets, 64 codes each, beyond which codes are numbered anew


def summed_values(e):
    """Return what each node adds to a sum, float64 (n_nodes, n_values)."""
    value = e.value
    if e.combination == "vote":  # a leaf votes for its largest value
        value = np.where(np.arange(value.shape[1]) == value.argmax(axis=1)[:, None], 1.0, e.against)
    weight = np.repeat(e.weight, np.diff(e.offsets))
    return (weight[:, None] * value).astype(e.sum_dtype).astype(np.float64)


def reading_of(ensemble):
    """Return the `Reading` of an ensemble."""
    return Reading(
        ensemble.input_dtype == "float32",
        float(ensemble.zero_within),
        ensemble.sum_dtype == "float32" and ensemble.combination != "median",
    )


def pack_steps(ensemble):
    """Return an ensemble's nodes as STEP, and the words of its category sets."""
    inner = ensemble.left >= 0
    here = np.arange(ensemble.n_nodes)
    ends = ends_left(ensemble)
    steps = np.zeros(ensemble.n_nodes, STEP)
    steps["threshold"] = np.where(inner, ends, np.inf)
    steps["feature"] = np.where(inner, ensemble.feature, 0)
    steps["left"] = np.where(inner, ensemble.left, here)
    steps["right"] = np.where(inner, ensemble.right, here)
    steps["kind"] = MISSING_LEFT * (nan_goes_left(ensemble, ends) & inner)
    steps["kind"] += ZERO_MISSING * (inner & (ensemble.missing == Missing.ZERO))
    first, length, bits = pack_sets(ensemble)
    asks_set = ensemble.categories >= 0
    number = ensemble.categories[asks_set]
    steps["threshold"][asks_set] = first[number]
    steps["words"][asks_set] = length[number]
    steps["kind"][asks_set] += IS_SET + MEMBERS_LEFT * ensemble.members_left[number]
    return steps, bits


def pack(ensemble):
    """Return `pack_steps` of an ensemble, after the `CategoryNumbers` that its steps ask, if any.

    Codes are numbered anew where sets would need many bits.
    """
    many = count_words(ensemble).sum() > MANY_WORDS
    numbers = CategoryNumbers(ensemble) if many else None
    return numbers, *pack_steps(numbers.ensemble if many else ensemble)


def pack_sets(e):
    """Return the first word of each category set, how many it has, and all words."""
    sets = np.repeat(np.arange(len(e.members_left)), np.diff(e.set_indptr))
    length = count_words(e)
    first = np.cumsum(length) - length
    bits = np.zeros(length.sum(), np.uint64)
    at = first[sets] + e.set_codes // WORD
    np.bitwise_or.at(bits, at, np.uint64(1) << (e.set_codes % WORD).astype(np.uint64))
    return first, length, bits
