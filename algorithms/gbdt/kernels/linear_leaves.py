"""Linear models of leaves: ridge regression on the gradients and hessians of a leaf's rows.

The coefficients of a leaf minimise the second-order loss of its rows,

    Σᵢ gᵢ f(xᵢ) + ½ hᵢ f(xᵢ)² + ½ λ Σⱼ bⱼ²        f(x) = c + Σⱼ bⱼ xⱼ

so they solve (XᵀHX + λ I) b = −Xᵀg. X has the features of the leaf's path and a column of ones;
the constant is not penalised. Rows with a missing value in one of these features are left out.

Every sum is added up row by row, and one thread computes a leaf, so the result does not depend on
the number of threads. With the rules of LightGBM all sums are in LightGBM's order. By default, the
values are taken relative to the first row of the leaf and the equations are scaled to a unit
diagonal. This changes only rounding errors: fewer digits cancel.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

BLOCK = 64  # rows whose values are copied together
TILE = 4  # columns; sums of TILE × TILE entries stay in registers
SMALLEST_PIVOT = 1e-10  # smaller pivots, relative to the largest, mean dependent features
EPSILON = 2.0**-52  # times the number of unknowns: the same limit with the rules of LightGBM
ZERO = float(np.float32(1e-35))  # LightGBM drops smaller coefficients


class LinearRules(NamedTuple):
    """Rules of the regression."""

    linear_lambda: float
    like_lightgbm: bool  # values and equations are used as they are
    counts_values: bool  # LightGBM, if a feature of the tree has missing values


class LinearWork(NamedTuple):
    """Scratch space of one thread; `width` is the number of unknowns, rounded up to a TILE."""

    products: np.ndarray  # float64 (width²,): XᵀHX
    moments: np.ndarray  # float64 (width,): Xᵀg, then the solution
    block: np.ndarray  # float64 (BLOCK · width,): values of some rows, row by row
    g: np.ndarray  # float64 (BLOCK,)
    h: np.ndarray  # float64 (BLOCK,)
    origin: np.ndarray  # float64 (width,): values of the leaf's first row
    scale: np.ndarray  # float64 (width,): factors that make the diagonal 1
    order: np.ndarray  # int64 (width,): unknown of each column


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
    g, h : float32 (n_rows,); an empty h stands for ones
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
        width = (m + TILE - 1) // TILE * TILE
        own = rows[spans[leaf, 0] : spans[leaf, 1]]
        constant[leaf] = np.nan
        coefficient[start[leaf] : start[leaf + 1]] = 0.0
        if m == 1 and not rules.like_lightgbm:
            continue
        count = add_products(values, g, h, own, terms, width, rules, work)
        if count < m:
            continue
        rank = solve(work, m, width, rules)
        found = coefficient[start[leaf] : start[leaf + 1]]
        constant[leaf] = write_solution(work, m, rank, found)


@inner_kernel
def add_products(values, g, h, own, terms, width, rules, work):
    """Write XᵀHX and Xᵀg of a leaf to ``work``; return the number of rows used.

    With ``rules.counts_values`` the result is the number of values instead, because LightGBM
    compares that with the number of features.
    """
    p, width, one = np.uint64(len(terms)), np.uint64(width), np.uint64(1)
    block, origin = work.block, work.origin
    for i in range(width * width):
        work.products[i] = 0.0
    for i in range(width):
        work.moments[i], origin[i] = 0.0, 0.0
    for i in range(np.uint64(BLOCK) * width):
        block[i] = 0.0
    n_used, n_values, n = 0, 0, np.uint64(0)
    for i in range(np.uint64(len(own))):
        row, at = np.uint64(own[i]), n * width
        n_known = copy_row(values, row, terms, origin, block, at)
        n_values += np.int64(n_known)
        if n_known < p:
            continue
        if n_used == 0 and not rules.like_lightgbm:
            for j in range(p):
                origin[j] = block[at + j]
                block[at + j] = 0.0
        block[at + p] = 1.0
        work.g[n] = np.float64(g[row])
        work.h[n] = np.float64(h[row]) if len(h) else 1.0
        n_used += 1
        n += one
        if n == np.uint64(BLOCK):
            add_block(work, n, width)
            n = np.uint64(0)
    add_block(work, n, width)
    return n_values if rules.counts_values else n_used


@inner_kernel
def copy_row(values, row, terms, origin, block, at):
    """Copy the values of a row minus those of the origin; return how many precede a missing one."""
    for j in range(np.uint64(len(terms))):
        x = values[row, np.uint64(terms[j])]
        if np.isnan(x):
            return j
        block[at + j] = x - origin[j]
    return np.uint64(len(terms))


@inner_kernel
def add_block(work, n, width):
    """Add the rows of a block to the upper triangle of XᵀHX and to Xᵀg, tile by tile."""
    block, moments = work.block, work.moments
    one, two, three, tile = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(TILE)
    for a in range(np.uint64(0), width, tile):
        b0, b1, b2, b3 = moments[a], moments[a + one], moments[a + two], moments[a + three]
        for i in range(n):
            at, g = i * width + a, work.g[i]
            b0 += block[at] * g
            b1 += block[at + one] * g
            b2 += block[at + two] * g
            b3 += block[at + three] * g
        moments[a], moments[a + one], moments[a + two], moments[a + three] = b0, b1, b2, b3
        for b in range(a, width, tile):
            add_tile(block, work.h, work.products, n, width, a, b)


@inner_kernel
def add_tile(block, h, products, n, width, a, b):
    """Add the rows of a block to the entries of XᵀHX of rows a … a + 3, columns b … b + 3."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    p, q, r, s = (
        a * width + b,
        (a + one) * width + b,
        (a + two) * width + b,
        (a + three) * width + b,
    )
    p0, p1, p2, p3 = products[p], products[p + one], products[p + two], products[p + three]
    q0, q1, q2, q3 = products[q], products[q + one], products[q + two], products[q + three]
    r0, r1, r2, r3 = products[r], products[r + one], products[r + two], products[r + three]
    s0, s1, s2, s3 = products[s], products[s + one], products[s + two], products[s + three]
    for i in range(n):
        x, y, weight = i * width + a, i * width + b, h[i]
        x0, x1 = block[x] * weight, block[x + one] * weight
        x2, x3 = block[x + two] * weight, block[x + three] * weight
        y0, y1, y2, y3 = block[y], block[y + one], block[y + two], block[y + three]
        p0 += x0 * y0
        p1 += x0 * y1
        p2 += x0 * y2
        p3 += x0 * y3
        q0 += x1 * y0
        q1 += x1 * y1
        q2 += x1 * y2
        q3 += x1 * y3
        r0 += x2 * y0
        r1 += x2 * y1
        r2 += x2 * y2
        r3 += x2 * y3
        s0 += x3 * y0
        s1 += x3 * y1
        s2 += x3 * y2
        s3 += x3 * y3
    products[p], products[p + one], products[p + two], products[p + three] = p0, p1, p2, p3
    products[q], products[q + one], products[q + two], products[q + three] = q0, q1, q2, q3
    products[r], products[r + one], products[r + two], products[r + three] = r0, r1, r2, r3
    products[s], products[s + one], products[s + two], products[s + three] = s0, s1, s2, s3


@inner_kernel
def solve(work, m, width, rules):
    """Solve (XᵀHX + λ I) b = Xᵀg by elimination with complete pivoting; return the rank.

    The solution is in ``work.moments``, in the order of ``work.order``. Unknowns beyond the rank
    are 0.
    """
    A, b, order, scale = work.products, work.moments, work.order, work.scale
    for j in range(m):
        order[j] = j
        if j < m - 1:
            A[j * width + j] += rules.linear_lambda
        for k in range(j):
            A[j * width + k] = A[k * width + j]
    for j in range(m):
        diagonal = A[j * width + j]
        scale[j] = 1.0 if rules.like_lightgbm or not diagonal > 0.0 else 1.0 / np.sqrt(diagonal)
    if not rules.like_lightgbm:
        for j in range(m):
            b[j] *= scale[j]
            for k in range(m):
                A[j * width + k] *= scale[j] * scale[k]
    smallest = EPSILON * m if rules.like_lightgbm else SMALLEST_PIVOT
    rank = eliminate(A, b, order, m, width, smallest)
    for j in range(rank - 1, -1, -1):
        total = b[j]
        for k in range(j + 1, rank):
            total -= A[j * width + k] * b[k]
        b[j] = total / A[j * width + j]
    return rank


@inner_kernel
def eliminate(A, b, order, m, width, smallest):
    """Transform the equations to upper triangular form; return the rank.

    Parameters
    ----------
    smallest : pivots up to this share of the largest pivot count as 0
    """
    largest, n_pivots = 0.0, m
    for k in range(m):
        at_row, at_column = find_pivot(A, m, width, k)
        pivot = abs(A[at_row * width + at_column])
        if not pivot > 0.0:
            n_pivots = k
            break
        largest = max(largest, pivot)
        for j in range(m):
            A[k * width + j], A[at_row * width + j] = A[at_row * width + j], A[k * width + j]
        b[k], b[at_row] = b[at_row], b[k]
        for i in range(m):
            row = i * width
            A[row + k], A[row + at_column] = A[row + at_column], A[row + k]
        order[k], order[at_column] = order[at_column], order[k]
        for i in range(k + 1, m):
            factor = A[i * width + k] / A[k * width + k]
            for j in range(k + 1, m):
                A[i * width + j] -= factor * A[k * width + j]
            b[i] -= factor * b[k]
    rank = 0
    for k in range(n_pivots):
        rank += np.int64(abs(A[k * width + k]) > largest * smallest)
    return rank


@inner_kernel
def find_pivot(A, m, width, k):
    """Return row and column of the largest entry below and right of entry k, k."""
    best, at_row, at_column = 0.0, k, k
    for j in range(k, m):
        for i in range(k, m):
            size = abs(A[i * width + j])
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
