"""Correctly rounded sums, independent of the order; see `exact_sum_kernels`."""

from fractions import Fraction

import numpy as np

from algorithms.runtime.exact_sum_kernels import EXPONENTS, LOW_BITS, SINGLE_EXPONENTS, add_doubles


def sum_table(values):
    """Return the sums of numbers by exponent, int64 (EXPONENTS, 2); tables can be added."""
    table = np.zeros((EXPONENTS, 2), np.int64)
    add_doubles(np.ascontiguousarray(values, np.float64), table)
    return table


def total_of(table):
    """Return the total of a table, rounded to float64; NaN if a number was not finite."""
    if table[-1].any():
        return np.nan
    total = 0
    for exponent in np.flatnonzero(table.any(axis=1)).tolist():
        low, high = table[exponent].tolist()
        total += (low + (high << LOW_BITS)) << max(exponent - 1, 0)
    try:
        return float(Fraction(total, 1 << 1074))
    except OverflowError:
        return np.inf if total > 0 else -np.inf


def exact_total(values):
    """Return the exact sum of numbers, rounded to float64."""
    return total_of(sum_table(values))


def size_table():
    """Return an empty table for `exact_sum_kernels.add_sizes`."""
    return np.zeros(SINGLE_EXPONENTS + 1, np.int64)


def merge_sizes(tables):
    """Return the merged table of tables of disjoint rows."""
    if len(tables) == 1:
        return tables[0]
    merged = np.sum(tables, axis=0)
    merged[SINGLE_EXPONENTS] = max(table[SINGLE_EXPONENTS] for table in tables)
    return merged
