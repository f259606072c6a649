"""Linear models of leaves: ridge regression on the gradients and hessians of a leaf's rows.

The coefficients of a leaf minimize the second-order loss of its rows,

    Σᵢ gᵢ f(xᵢ) + ½ hᵢ f(xᵢ)² + ½ λ Σⱼ bⱼ²        f(x) = c + Σⱼ bⱼ xⱼ

so they solve (XᵀHX + λ I) b = −Xᵀg. X has the features of the leaf's path and a column of ones;
the constant is not penalized. Rows with a missing value in one of these features are left out.

One thread computes a leaf, so the result does not depend on the number of threads. With the rules
of LightGBM all sums are in LightGBM's order, row by row. By default, the values are taken relative
to the first row of the leaf and the equations are scaled to a unit diagonal. This changes only
rounding errors: fewer digits cancel.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.column_products import COLUMNS, STEP, sum_products
from algorithms.runtime.jit import inner_kernel, kernel

BLOCK = 256  # rows whose values are copied together, a multiple of `STEP`
MIN_PIVOT = 1e-10  # smaller pivots, relative to the largest, mean dependent features
EPSILON = 2.0**-52  # times the number of unknowns: the same limit with the rules of LightGBM
ZERO = float(np.float32(1e-35))  # LightGBM drops smaller coefficients


class LinearRules(NamedTuple):
    """Rules of the regression."""

    linear_lambda: float
    like_lightgbm: bool  # values and equations are used as they are, sums are in order
    has_missing: bool  # some feature of the tree has missing values


class LinearWork(NamedTuple):
    """Scratch space of one thread, for leaves of at most m unknowns."""

    products: np.ndarray  # float64 (m²,): XᵀHX
    moments: np.ndarray  # float64 (m,): Xᵀg, then the solution
    block: np.ndarray  # float64 (BLOCK · (m + COLUMNS),): values of some rows, column by column
    g: np.ndarray  # float64 (BLOCK,)
    h: np.ndarray  # float64 (BLOCK,)
    weighted: np.ndarray  # float64 (BLOCK,): a column times h
    origin: np.ndarray  # float64 (m,): values of the leaf's first row
    scale: np.ndarray  # float64 (m,): factors that make the diagonal 1
    order: np.ndarray  # int64 (m,): unknown of each column
    rows: np.ndarray  # uint32: rows of a leaf without missing values


class LinearOutputs(NamedTuple):
    """Outputs of the leaves of a tree, by leaf number."""

    constant: np.ndarray  # float64 (n_leaves,)
    fallback: np.ndarray  # float64 (n_leaves,): output of rows with a missing value
    start: np.ndarray  # int64 (n_leaves,): first term
    end: np.ndarray  # int64 (n_leaves,): last term + 1


@kernel
def fit_leaves(
    values, g, h, rows, spans, start, feature, rules, work, coefficient, constant, first, last
):
    """Fit the linear models of the leaves ``first`` to ``last`` − 1.

    Parameters
    ----------
    values : float64 (n_rows, n_features), NaN where missing
    g, h : float32 (n_rows,); an empty h means ones
    rows : uint32, rows by leaf
    spans : int64 (n_leaves, 2), start and end of each leaf's rows
    start : int64 (n_leaves + 1,), start of each leaf's terms in the next arrays
    feature : int32 (n_terms,), ascending within a leaf
    rules : LinearRules
    work : LinearWork, of this thread
    coefficient : float64 (n_terms,), written; 0 for terms that are left out
    constant : float64 (n_leaves,), written; NaN if the leaf keeps its value
    """
    for leaf in range(first, last):
        terms = feature[start[leaf] : start[leaf + 1]]
        m = len(terms) + 1
        own = rows[spans[leaf, 0] : spans[leaf, 1]]
        constant[leaf] = np.nan
        coefficient[start[leaf] : start[leaf + 1]] = 0.0
        count = len(own)
        if rules.has_missing:
            n_rows, n_values = copy_complete_rows(values, own, terms, work.rows)
            own = work.rows[:n_rows]
            count = n_values if rules.like_lightgbm else n_rows
        if count < m or len(own) == 0 or (m == 1 and not rules.like_lightgbm):
            continue
        add_products(values, g, h, own, terms, rules, work)
        rank = solve(work, m, rules)
        found = coefficient[start[leaf] : start[leaf + 1]]
        constant[leaf] = write_solution(work, m, rank, found)


@inner_kernel
def copy_complete_rows(values, own, terms, complete):
    """Copy the rows without missing values in the terms; return how many, and a number of values.

    The second number is compared by LightGBM with the number of features. It counts the values of
    each row up to its first missing one.
    """
    n_rows, n_values = 0, 0
    for i in range(len(own)):
        n_known = 0
        for j in range(len(terms)):
            if np.isnan(values[own[i], terms[j]]):
                break
            n_known += 1
        n_values += n_known
        if n_known == len(terms):
            complete[n_rows] = own[i]
            n_rows += 1
    return n_rows, n_values


@inner_kernel
def add_products(values, g, h, own, terms, rules, work):
    """Write the upper triangle of XᵀHX and Xᵀg of a leaf to ``work``."""
    p, origin = len(terms), work.origin
    m = p + 1
    for i in range(m * m):
        work.products[i] = 0.0
    for j in range(m):
        work.moments[j], origin[j] = 0.0, 0.0
    if not rules.like_lightgbm:
        for j in range(p):
            origin[j] = values[own[0], terms[j]]
    for first in range(0, len(own), BLOCK):
        n = min(BLOCK, len(own) - first)
        copy_block(values, g, h, own[first : first + n], terms, work)
        if rules.like_lightgbm:
            add_in_order(work, m, n, len(h) > 0)
        else:
            add_block(work, m, n, len(h) > 0)


@inner_kernel
def copy_block(values, g, h, own, terms, work):
    """Copy the values of some rows, column by column; entries up to the next step are 0."""
    n, block = np.uint64(len(own)), work.block
    for j in range(len(terms)):
        f, origin = np.uint64(terms[j]), work.origin[j]
        x = block[j * BLOCK : (j + 1) * BLOCK]
        for i in range(n):
            x[i] = values[np.uint64(own[i]), f] - origin
    ones = block[len(terms) * BLOCK : (len(terms) + 1) * BLOCK]
    for i in range(n):
        work.g[i] = np.float64(g[np.uint64(own[i])])
        ones[i] = 1.0
    if len(h):
        for i in range(n):
            work.h[i] = np.float64(h[np.uint64(own[i])])
    for i in range(n, round_to_step(n)):
        work.g[i], work.h[i] = 0.0, 0.0
        for j in range(len(terms) + 1):
            block[np.uint64(j * BLOCK) + i] = 0.0


@inner_kernel
def round_to_step(n):
    """Return the smallest multiple of `STEP` that is at least n, uint64."""
    return np.uint64((np.int64(n) + STEP - 1) // STEP * STEP)


@inner_kernel
def add_in_order(work, m, n, is_weighted):
    """Add the products of a block of rows, row by row as in LightGBM."""
    for j in range(m):
        x, total = work.block[j * BLOCK : (j + 1) * BLOCK], work.moments[j]
        for i in range(n):
            total += x[i] * work.g[i]
        work.moments[j] = total
        for k in range(j, m):
            y, at = work.block[k * BLOCK : (k + 1) * BLOCK], j * m + k
            total = work.products[at]
            for i in range(n):
                total += (x[i] * work.h[i] if is_weighted else x[i]) * y[i]
            work.products[at] = total


@inner_kernel
def add_block(work, m, n, is_weighted):
    """Add the products of a block of rows; four partial sums of each pair of columns."""
    n = round_to_step(n)
    add_sums(work.g, 0, work.block, 0, m, n, work.moments, 0)
    for j in range(m):
        if is_weighted:
            for i in range(n):
                work.weighted[i] = work.block[np.uint64(j * BLOCK) + i] * work.h[i]
            add_sums(work.weighted, 0, work.block, j, m, n, work.products, j * m)
        else:
            add_sums(work.block, j * BLOCK, work.block, j, m, n, work.products, j * m)


@inner_kernel
def add_sums(x, x_at, block, first, last, n, sums, at):
    """Add Σ x y of a column x and the columns ``first`` … ``last`` − 1 of a block to their sums."""
    for k in range(first, last, COLUMNS):
        place = np.uint64(k * BLOCK)
        found = sum_products(x, np.uint64(x_at), block, place, np.uint64(BLOCK), n)
        for c in range(min(COLUMNS, last - k)):
            sums[at + k + c] += found[c]


@inner_kernel
def solve(work, m, rules):
    """Solve (XᵀHX + λ I) b = Xᵀg by elimination with complete pivoting; return the rank.

    The solution is in ``work.moments``, in the order of ``work.order``. Unknowns beyond the rank
    are 0.
    """
    A, b, order, scale = work.products, work.moments, work.order, work.scale
    for j in range(m):
        order[j] = j
        if j < m - 1:
            A[j * m + j] += rules.linear_lambda
        for k in range(j):
            A[j * m + k] = A[k * m + j]
    for j in range(m):
        diagonal = A[j * m + j]
        scale[j] = 1.0 if rules.like_lightgbm or not diagonal > 0.0 else 1.0 / np.sqrt(diagonal)
    if not rules.like_lightgbm:
        for j in range(m):
            b[j] *= scale[j]
            for k in range(m):
                A[j * m + k] *= scale[j] * scale[k]
    smallest = EPSILON * m if rules.like_lightgbm else MIN_PIVOT
    rank = eliminate(A, b, order, m, smallest)
    for j in range(rank - 1, -1, -1):
        total = b[j]
        for k in range(j + 1, rank):
            total -= A[j * m + k] * b[k]
        b[j] = total / A[j * m + j]
    return rank


@inner_kernel
def eliminate(A, b, order, m, smallest):
    """Transform the equations to upper triangular form; return the rank.

    Parameters
    ----------
    smallest : pivots up to this share of the largest pivot count as 0
    """
    largest, n_pivots = 0.0, m
    for k in range(m):
        at_row, at_column = find_pivot(A, m, k)
        pivot = abs(A[at_row * m + at_column])
        if not pivot > 0.0:
            n_pivots = k
            break
        largest = max(largest, pivot)
        for j in range(m):
            A[k * m + j], A[at_row * m + j] = A[at_row * m + j], A[k * m + j]
        b[k], b[at_row] = b[at_row], b[k]
        for i in range(m):
            row = i * m
            A[row + k], A[row + at_column] = A[row + at_column], A[row + k]
        order[k], order[at_column] = order[at_column], order[k]
        for i in range(k + 1, m):
            factor = A[i * m + k] / A[k * m + k]
            for j in range(k + 1, m):
                A[i * m + j] -= factor * A[k * m + j]
            b[i] -= factor * b[k]
    rank = 0
    for k in range(n_pivots):
        rank += np.int64(abs(A[k * m + k]) > largest * smallest)
    return rank


@inner_kernel
def find_pivot(A, m, k):
    """Return row and column of the largest entry below and right of entry k, k."""
    best, at_row, at_column = 0.0, k, k
    for j in range(k, m):
        for i in range(k, m):
            size = abs(A[i * m + j])
            if size > best:
                best, at_row, at_column = size, i, j
    return at_row, at_column


@inner_kernel
def write_solution(work, m, rank, coefficient):
    """Write the coefficients of a solved leaf; return its constant, NaN if one is not finite."""
    b, order = work.moments, work.order
    constant = 0.0 if rank > 0 else np.nan
    for k in range(rank):
        j = order[k]
        solution = -b[k] * work.scale[j]
        if not np.isfinite(solution):
            coefficient[:] = 0.0
            return np.nan
        if j == m - 1:
            constant += solution
        elif abs(solution) > ZERO:
            coefficient[j] = solution
            constant -= solution * work.origin[j]
    return constant


@kernel
def count_path_terms(parent, feature, leaf_nodes, seen, start):
    """Write the start of each leaf's terms, int64 (n_leaves + 1,); see `list_path_terms`.

    Parameters
    ----------
    seen : int64 (n_features,), zeros; overwritten
    """
    total = 0
    start[0] = 0
    for leaf in range(len(leaf_nodes)):
        at = parent[leaf_nodes[leaf]]
        while at >= 0:
            f = feature[at]
            if f >= 0 and seen[f] != leaf + 1:
                seen[f] = leaf + 1
                total += 1
            at = parent[at]
        start[leaf + 1] = total


@kernel
def list_path_terms(parent, feature, leaf_nodes, start, terms):
    """Write the features of the numeric splits above each leaf, ascending, each once.

    Parameters
    ----------
    parent : int64 (n_nodes,), −1 for the root
    feature : int64 (n_nodes,), feature of each numeric split; −1 for other nodes
    leaf_nodes : int64 (n_leaves,), node of each leaf
    start : int64 (n_leaves + 1,), from `count_path_terms`
    terms : int32 (n_terms,), written
    """
    for leaf in range(len(leaf_nodes)):
        first = start[leaf]
        n, at = 0, parent[leaf_nodes[leaf]]
        while at >= 0:
            f = feature[at]
            place = n
            while place > 0 and terms[first + place - 1] > f:
                place -= 1
            is_new = place == 0 or terms[first + place - 1] != f
            if f >= 0 and is_new:
                for k in range(n, place, -1):
                    terms[first + k] = terms[first + k - 1]
                terms[first + place] = f
                n += 1
            at = parent[at]


@kernel
def add_linear_leaves(score, leaf_of, values, leaves, feature, coefficient, first, last):
    """Add the output of each row's leaf to its score, for the rows ``first`` to ``last`` − 1.

    Parameters
    ----------
    score : float64 (n_rows,)
    leaf_of : (n_rows,) uint16 or uint32
    values : float64 (n_rows, n_features)
    leaves : LinearOutputs
    feature, coefficient : int32 and float64 (n_terms,)
    """
    for i in range(np.uint64(first), np.uint64(last)):
        leaf = np.uint64(leaf_of[i])
        total = leaves.constant[leaf]
        for k in range(np.uint64(leaves.start[leaf]), np.uint64(leaves.end[leaf])):
            total += coefficient[k] * values[i, np.uint64(feature[k])]
        score[i] += leaves.fallback[leaf] if np.isnan(total) else total


@kernel
def add_leaf_by_leaf(score, rows, spans, values, leaves, feature, coefficient, total, first, last):
    """Add the outputs of the leaves ``first`` to ``last`` − 1 to the scores of their rows.

    This is faster than `add_linear_leaves`, with the same bits, if the leaves have all rows.

    Parameters
    ----------
    rows : uint32, rows by leaf
    spans : int64 (n_leaves, 2), start and end of each leaf's rows
    total : float64 (BLOCK,), scratch space
    score, values, leaves, feature, coefficient : as in `add_linear_leaves`
    """
    for leaf in range(first, last):
        constant, fallback = leaves.constant[leaf], leaves.fallback[leaf]
        for begin in range(spans[leaf, 0], spans[leaf, 1], BLOCK):
            own = rows[begin : min(begin + BLOCK, spans[leaf, 1])]
            n = np.uint64(len(own))
            for i in range(n):
                total[i] = constant
            for k in range(leaves.start[leaf], leaves.end[leaf]):
                f, slope = np.uint64(feature[k]), coefficient[k]
                for i in range(n):
                    total[i] += slope * values[np.uint64(own[i]), f]
            for i in range(n):
                score[np.uint64(own[i])] += fallback if np.isnan(total[i]) else total[i]
