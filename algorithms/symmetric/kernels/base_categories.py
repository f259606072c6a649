"""Rows grouped by the categories of a base, the part that combinations have in common.

The categories of a combination divide those of its base by one more column. So rows of one
category of the base are read together, and their levels in the column distinguish the categories.
Nothing is hashed, and the scratch space has one entry for each level of the column.

A category of the base with a single row has a single row in every combination. Such rows are left
out.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, linked_kernel


class BaseCategories(NamedTuple):
    """Rows of several bases, grouped by category; categories of one row are left out."""

    rows: np.ndarray  # uint32 (n_bases, n_rows), within a category in the permutation's order
    ends: np.ndarray  # uint32 (n_bases, n_rows), end of each category in ``rows``
    sizes: np.ndarray  # int64 (n_bases,), number of categories with at least two rows
    n_single_row_categories: np.ndarray  # int64 (n_bases,), number of categories with one row


@inner_kernel
def start_categories(bases, number, order):
    """Put all rows into one category of a base.

    Parameters
    ----------
    bases : BaseCategories
    number : number of the base
    order : uint32 (n_rows,), the permutation; (0,) means ascending
    """
    rows = bases.rows[number]
    for i in range(len(rows)):
        rows[i] = order[i] if len(order) else np.uint32(i)
    bases.ends[number, 0] = len(rows)
    bases.sizes[number], bases.n_single_row_categories[number] = 1, 0


@linked_kernel
def divide_categories(bases, parent, column, n_levels, scratch, number):
    """Write the categories of a base that adds a column to another one.

    Parameters
    ----------
    bases : BaseCategories, written
    parent, number : numbers of the two bases
    column : int32 (n_rows,), level of each row
    n_levels : int
    scratch : int32 (at least 2 n_levels,)
    """
    rows, ends, size = bases.rows[parent], bases.ends[parent], bases.sizes[parent]
    out, out_ends = bases.rows[number], bases.ends[number]
    counts, places = scratch[:n_levels], scratch[n_levels : 2 * n_levels]
    counts[:] = 0
    n_single_row_categories, n_found = bases.n_single_row_categories[parent], 0
    start, at = np.uint64(0), np.int32(0)
    for category in range(size):
        end = np.uint64(ends[category])
        for i in range(start, end):
            counts[np.uint64(column[np.uint64(rows[i])])] += 1
        for i in range(start, end):
            level = np.uint64(column[np.uint64(rows[i])])
            count = counts[level]
            if count == 1:
                counts[level] = 0
                n_single_row_categories += 1
                continue
            # positive: first row of a category; negative: minus the rows still to write
            if count > 1:
                places[level] = at
                at += count
                out_ends[n_found] = at
                n_found += 1
                counts[level] = -count
            out[np.uint64(places[level])] = rows[i]
            places[level] += 1
            counts[level] += 1
        start = end
    bases.sizes[number], bases.n_single_row_categories[number] = n_found, n_single_row_categories


@linked_kernel
def reorder_categories(bases, number, order, category_of, places, out):
    """Write the rows of a base with the order of another permutation within each category.

    Parameters
    ----------
    bases : BaseCategories
    number : number of the base
    order : uint32 (n_rows,), the permutation; (0,) means ascending
    category_of, places : int32 (n_rows,), scratch space
    out : uint32 (n_rows,), written
    """
    rows, ends, size = bases.rows[number], bases.ends[number], bases.sizes[number]
    category_of[:] = -1
    start = np.uint64(0)
    for category in range(size):
        end = np.uint64(ends[category])
        places[category] = np.int32(start)
        for i in range(start, end):
            category_of[np.uint64(rows[i])] = category
        start = end
    for i in range(len(out)):
        row = order[i] if len(order) else np.uint32(i)
        category = category_of[np.uint64(row)]
        if category >= 0:
            out[np.uint64(places[category])] = row
            places[category] += 1
