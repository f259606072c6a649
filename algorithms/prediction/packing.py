"""Conversion of an ensemble's nodes, category sets and values for the prediction kernels."""

import numpy as np

from algorithms.prediction.category_values import WORD, CategoryNumbers, count_words
from algorithms.prediction.kernels.linear_walk import LinearTerms
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

MANY_WORDS = 1 << 17  # words of all category sets above which codes are renumbered


def summed_values(e):
    """Return the contribution of each node to the sum, float64 (n_nodes, n_values)."""
    value = e.value
    if e.combination == "vote":  # a leaf votes for its largest value
        value = np.where(np.arange(value.shape[1]) == value.argmax(axis=1)[:, None], 1.0, e.against)
    weight = np.repeat(e.weight, np.diff(e.offsets))
    return (weight[:, None] * value).astype(e.sum_dtype).astype(np.float64)


def linear_terms(e):
    """Return the `LinearTerms` of an ensemble with linear leaves."""
    linear = e.linear
    terms = linear.start, linear.feature, linear.coefficient
    return LinearTerms(linear.constant, e.value[:, 0].copy(), *terms)


def reading_of(ensemble):
    """Return the `Reading` of an ensemble."""
    return Reading(
        ensemble.input_dtype == "float32",
        float(ensemble.zero_within),
        ensemble.sum_dtype == "float32" and ensemble.combination != "median",
    )


def pack_steps(ensemble):
    """Return an ensemble's nodes as STEP, and the bit set words of its category sets."""
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
    is_categorical = ensemble.categories >= 0
    number = ensemble.categories[is_categorical]
    steps["threshold"][is_categorical] = first[number]
    steps["words"][is_categorical] = length[number]
    steps["kind"][is_categorical] += IS_SET + MEMBERS_LEFT * ensemble.members_left[number]
    return steps, bits


def pack(ensemble):
    """Return the `CategoryNumbers` of an ensemble or None, followed by its `pack_steps`.

    Codes are renumbered if the sets would need many bits.
    """
    many = count_words(ensemble).sum() > MANY_WORDS
    numbers = CategoryNumbers(ensemble) if many else None
    return numbers, *pack_steps(numbers.ensemble if many else ensemble)


def pack_sets(e):
    """Return the first word of each category set, its number of words, and all words."""
    sets = np.repeat(np.arange(len(e.members_left)), np.diff(e.set_indptr))
    length = count_words(e)
    first = np.cumsum(length) - length
    bits = np.zeros(length.sum(), np.uint64)
    at = first[sets] + e.set_codes // WORD
    np.bitwise_or.at(bits, at, np.uint64(1) << (e.set_codes % WORD).astype(np.uint64))
    return first, length, bits
