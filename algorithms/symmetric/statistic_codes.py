"""Codes of a combination's target statistics: one code for the bins of all priors of a target.

The bins of statistics that differ in the prior alone depend on one pair (numerator, number of
earlier rows). Few tuples of bins occur: at the defaults 15 borders and the priors 0, ½ and 1
give about 150.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from algorithms.symmetric.kernels.combination_statistics import StatisticCodes
from algorithms.symmetric.kernels.target_statistics import COUNTER, MEAN

N_SMALL = 128  # numbers of earlier rows below which the code is found in a table
MAX_CODES = 256  # of a set of statistics
MAX_KEYS = 1 << 16  # possible tuples of bins of a set


class CodeTables(NamedTuple):
    """Codes of one set of statistics."""

    n_codes: int
    code_by_counts: np.ndarray  # uint8 (N_SMALL, N_SMALL), by total and numerator
    code_by_bins: np.ndarray  # uint8 (radix ** n_priors,), by the bins as the digits of a number
    bins: np.ndarray  # uint8 (n_statistics, MAX_CODES), bin of each code


def make_statistic_codes(ctrs):
    """Return the `StatisticCodes` of some `CtrArrays`."""
    first, numbers, tables = [0], [], {}
    start = 0
    for option, end in enumerate(ctrs.ends.tolist()):
        n_priors = int(ctrs.n_priors[option])
        own = slice(start, start + n_priors)
        fields = ctrs.priors, ctrs.shifts, ctrs.norms
        formulas = list(zip(*(one[own].tolist() for one in fields), strict=True))
        sets = join_priors(formulas, int(ctrs.kinds[option]), int(ctrs.n_borders[option]))
        for _ in range((end - start) // n_priors):
            for key in sets:
                first.append(first[-1] + len(key[0]))
                numbers.append(tables.setdefault(key, len(tables)))
        start = end
    made = [code_tables(*key) for key in tables]
    n_keys = max(len(one.code_by_bins) for one in made)
    code_by_bins = np.zeros((len(made), n_keys), np.uint8)
    for row, one in zip(code_by_bins, made, strict=True):
        row[: len(one.code_by_bins)] = one.code_by_bins
    set_of = np.repeat(np.arange(len(numbers)), np.diff(first))
    n_codes = np.array([made[number].n_codes for number in numbers], np.int64)
    bins = np.concatenate([made[number].bins for number in numbers])
    return StatisticCodes(
        np.array(first, np.int64),
        set_of,
        n_codes,
        bins,
        *sort_codes(bins, n_codes[set_of], int(ctrs.n_borders.max()) + 1),
        np.array(numbers, np.int64),
        np.array([one.code_by_counts for one in made]),
        code_by_bins,
    )


def sort_codes(bins, n_codes, n_bins):
    """Return the codes of each statistic in the order of their bins, and the end of each bin.

    Parameters
    ----------
    bins : uint8 (n_statistics, MAX_CODES)
    n_codes : int64 (n_statistics,)
    n_bins : int, largest number of bins

    Returns
    -------
    uint8 (n_statistics, MAX_CODES), int64 (n_statistics, n_bins)
    """
    order, ends = np.zeros(bins.shape, np.uint8), np.empty((len(bins), n_bins), np.int64)
    for own, count, out, out_ends in zip(bins, n_codes.tolist(), order, ends, strict=True):
        out[:count] = np.argsort(own[:count], kind="stable")
        out_ends[:] = np.cumsum(np.bincount(own[:count], minlength=n_bins))
    return order, ends


def join_priors(formulas, kind, n_borders):
    """Return the arguments of `code_tables` for the sets of statistics of a target, list.

    Parameters
    ----------
    formulas : list of (prior, shift, norm), the statistics of one target
    kind : BORDERS, BUCKETS, MEAN or COUNTER
    n_borders : int
    """
    together = tuple(formulas), n_borders
    if kind not in (MEAN, COUNTER) and can_join(formulas, n_borders) and code_tables(*together):
        return [together]
    return [((one,), n_borders) for one in formulas]


def can_join(formulas, n_borders):
    """Return whether bins of ``N_SMALL`` or more earlier rows differ by at most 1.

    Parameters are those of `join_priors`.
    """
    priors = [prior for prior, _, _ in formulas]
    is_plain = all(shift == 0.0 and norm == 1.0 for _, shift, norm in formulas)
    n_keys = (n_borders + 1) ** len(formulas)
    return is_plain and n_keys <= MAX_KEYS and n_borders * (max(priors) - min(priors)) < N_SMALL


@lru_cache
def code_tables(formulas, n_borders):
    """Return the `CodeTables` of a set of statistics, or None if there are too many codes.

    Parameters
    ----------
    formulas : tuple of (prior, shift, norm), for which `can_join` holds unless there is one
    n_borders : int
    """
    total, numerator = np.indices((N_SMALL, N_SMALL), np.float32)
    numerator = np.minimum(numerator, total)
    radix, keys = n_borders + 1, np.zeros((N_SMALL, N_SMALL), np.int64)
    for one in formulas:
        prior, shift, norm = (np.float32(number) for number in one)
        value = (numerator + prior) / (total + np.float32(1.0))
        keys = keys * radix + ((value + shift) / norm * np.float32(n_borders)).astype(np.uint8)
    codes = np.arange(radix)
    if len(formulas) > 1:
        codes = np.union1d(keys, keys_of_many_rows([one[0] for one in formulas], radix))
    if len(codes) > MAX_CODES:
        return None
    code_by_bins = np.zeros(radix ** len(formulas), np.uint8)
    code_by_bins[codes] = np.arange(len(codes))
    bins = np.zeros((len(formulas), MAX_CODES), np.uint8)
    bins[:, : len(codes)] = np.array(np.unravel_index(codes, (radix,) * len(formulas)))
    return CodeTables(len(codes), code_by_bins[keys], code_by_bins, bins)


def keys_of_many_rows(priors, radix):
    """Return the tuples of bins of ``N_SMALL`` or more earlier rows as the digits of numbers.

    The bins of two priors then differ by at most 1; a larger prior has no lower bin.
    """
    rank = np.argsort(np.argsort(priors, kind="stable"), kind="stable")
    is_higher = rank >= np.arange(1, len(priors) + 1)[:, None]  # the last row: all bins are equal
    bins = np.arange(radix)[:, None, None] + is_higher
    bins = bins[(bins < radix).all(axis=2)]
    return bins @ radix ** np.arange(len(priors))[::-1]
