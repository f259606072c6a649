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


class RegressionRows(NamedTuple):
    """The rows of the table."""

    values: np.ndarray  # float64 (n_rows, n_features), NaN where missing
    g: np.ndarray  # float32 (n_rows,)
    h: np.ndarray  # float32 (n_rows,); (0,): ones


class LeafTerms(NamedTuple):
    """Rows and features of the leaves."""

    rows: np.ndarray  # uint32, rows by leaf
    spans: np.ndarray  # int64 (n_leaves, 2), start and end of each leaf's rows
    start: np.ndarray  # int64 (n_leaves + 1,), start of each leaf's terms
    feature: np.ndarray  # int32 (n_terms,), ascending within a leaf


class LinearModels(NamedTuple):
    """The fitted models, written."""

    constant: np.ndarray  # float64 (n_leaves,); NaN if the leaf keeps its value
    coefficient: np.ndarray  # float64 (n_terms,); 0 for terms that are left out


class UpdatedScores(NamedTuple):
    """Scores that the outputs of the fitted leaves are added to."""

    score: np.ndarray  # float64 (n_rows,); (0,): none
    fallback: np.ndarray  # float64 (n_leaves,), value of a leaf without or beside its model
    learning_rate: float  # factor of all outputs


class LinearWork(NamedTuple):
    """Scratch space of one thread, for leaves of at most m unknowns and n rows."""

    products: np.ndarray  # float64 (m²,): XᵀHX
    moments: np.ndarray  # float64 (m,): Xᵀg, then the solution
    values: np.ndarray  # float64 (n · (m − 1),): values of a leaf, column by column
    block: np.ndarray  # float64 (BLOCK · (m + COLUMNS),): values of some rows, column by column
    g: np.ndarray  # float64 (BLOCK,)
    h: np.ndarray  # float64 (BLOCK,)
    weighted: np.ndarray  # float64 (BLOCK,): a column times h, or outputs of rows
    origin: np.ndarray  # float64 (m,): values of the leaf's first row
    scale: np.ndarray  # float64 (m,): factors that make the diagonal 1
    order: np.ndarray  # int64 (m,): unknown of each column
    complete: np.ndarray  # uint32 (n,): numbers of the leaf's rows without missing values


class LinearOutputs(NamedTuple):
    """Outputs of the leaves of a tree, by leaf number."""

    constant: np.ndarray  # float64 (n_leaves,)
    fallback: np.ndarray  # float64 (n_leaves,): output of rows with a missing value
    start: np.ndarray  # int64 (n_leaves,): first term
    end: np.ndarray  # int64 (n_leaves,): last term + 1


@kernel
def fit_leaves(data, leaves, rules, work, models, updated, first, last):
    """Fit the linear models of the leaves ``first`` to ``last`` − 1, and update the scores.

    Parameters
    ----------
    data : RegressionRows
    leaves : LeafTerms
    rules : LinearRules
    work : LinearWork, of this thread
    models : LinearModels, written
    updated : UpdatedScores, written
    """
    for leaf in range(first, last):
        begin, end = leaves.start[leaf], leaves.start[leaf + 1]
        terms, found = leaves.feature[begin:end], models.coefficient[begin:end]
        own = leaves.rows[leaves.spans[leaf, 0] : leaves.spans[leaf, 1]]
        found[:] = 0.0
        copy_values(data.values, own, terms, work.values)
        constant = fit_leaf(data, own, terms, rules, work, found)
        models.constant[leaf] = constant
        if len(updated.score):
            fallback, rate = updated.fallback[leaf], updated.learning_rate
            constant = fallback if np.isnan(constant) else constant
            add_outputs(own, constant * rate, fallback * rate, rate, found, work, updated.score)


@inner_kernel
def fit_leaf(data, own, terms, rules, work, found):
    """Write the coefficients of a leaf; return its constant, or NaN if it keeps its value."""
    m, n_rows = len(terms) + 1, len(own)
    count = n_rows
    if rules.has_missing:
        n_rows, n_values = list_complete_rows(work.values, n_rows, m - 1, work.complete)
        count = n_values if rules.like_lightgbm else n_rows
    if count < m or n_rows == 0 or (m == 1 and not rules.like_lightgbm):
        return np.nan
    add_products(data, own, n_rows, m, rules, work)
    rank = solve(work, m, rules)
    return write_solution(work, m, rank, found)


@inner_kernel
def copy_values(values, own, terms, copied):
    """Copy the values of a leaf's rows, column by column."""
    n = np.uint64(len(own))
    for begin in range(np.uint64(0), n, np.uint64(BLOCK)):
        end = min(begin + np.uint64(BLOCK), n)
        for j in range(np.uint64(len(terms))):
            f, at = np.uint64(terms[j]), j * n
            for i in range(begin, end):
                copied[at + i] = values[np.uint64(own[i]), f]


@inner_kernel
def list_complete_rows(copied, n, n_terms, complete):
    """List the rows of a leaf without missing values; return how many, and a number of values.

    The second number is compared by LightGBM with the number of features. It counts the values of
    each row up to its first missing one.

    Parameters
    ----------
    copied : from `copy_values`
    n : number of rows
    complete : uint32, written
    """
    n_rows, n_values = 0, 0
    for i in range(n):
        n_known = 0
        for j in range(n_terms):
            if np.isnan(copied[j * n + i]):
                break
            n_known += 1
        n_values += n_known
        if n_known == n_terms:
            complete[n_rows] = i
            n_rows += 1
    return n_rows, n_values


@inner_kernel
def add_products(data, own, n_rows, m, rules, work):
    """Write the upper triangle of XᵀHX and Xᵀg of a leaf to ``work``.

    Parameters
    ----------
    own : rows of the leaf
    n_rows : number of rows without missing values
    """
    p, origin, complete = m - 1, work.origin, work.complete[: len(own) if rules.has_missing else 0]
    for i in range(m * m):
        work.products[i] = 0.0
    for j in range(m):
        work.moments[j], origin[j] = 0.0, 0.0
    if not rules.like_lightgbm:
        for j in range(p):
            origin[j] = work.values[j * len(own) + (complete[0] if len(complete) else 0)]
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        copy_block(data, own, complete, first, n, p, work)
        if rules.like_lightgbm:
            add_in_order(work, m, n, len(data.h) > 0)
        else:
            add_block(work, m, n, len(data.h) > 0)


@inner_kernel
def copy_block(data, own, complete, first, n, n_terms, work):
    """Copy the values of some rows relative to the origin; entries up to the next step are 0.

    Parameters
    ----------
    own : rows of the leaf
    complete : uint32, numbers of the rows without missing values; (0,): all
    first, n : first of these rows, and how many
    """
    n, first, n_own, block = np.uint64(n), np.uint64(first), np.uint64(len(own)), work.block
    for j in range(n_terms):
        origin, x = work.origin[j], block[j * BLOCK : (j + 1) * BLOCK]
        at = np.uint64(j) * n_own
        if len(complete):
            for i in range(n):
                x[i] = work.values[at + np.uint64(complete[first + i])] - origin
        else:
            for i in range(n):
                x[i] = work.values[at + first + i] - origin
    ones = block[n_terms * BLOCK : (n_terms + 1) * BLOCK]
    copy_derivative(data.g, own, complete, first, n, work.g)
    if len(data.h):
        copy_derivative(data.h, own, complete, first, n, work.h)
    for i in range(n):
        ones[i] = 1.0
    for i in range(n, round_to_step(n)):
        work.g[i], work.h[i] = 0.0, 0.0
        for j in range(n_terms + 1):
            block[np.uint64(j * BLOCK) + i] = 0.0


@inner_kernel
def add_outputs(own, constant, fallback, rate, coefficient, work, score):
    """Add the outputs of a leaf to the scores of its rows.

    Parameters
    ----------
    own : rows of the leaf, whose values are in ``work.values``
    constant, fallback : times the learning rate ``rate``
    coefficient : float64 (n_terms,)
    score : float64 (n_rows,), written
    """
    total, n_own = work.weighted, len(own)
    for first in range(0, n_own, BLOCK):
        n = np.uint64(min(BLOCK, n_own - first))
        for i in range(n):
            total[i] = constant
        for j in range(len(coefficient)):
            if coefficient[j] != 0.0:
                slope, at = coefficient[j] * rate, np.uint64(j * n_own + first)
                for i in range(n):
                    total[i] += slope * work.values[at + i]
        for i in range(n):
            row = np.uint64(own[np.uint64(first) + i])
            score[row] += fallback if np.isnan(total[i]) else total[i]


@inner_kernel
def copy_derivative(derivative, own, complete, first, n, copied):
    """Copy g or h of some rows of a leaf; other parameters are those of `copy_block`."""
    if len(complete):
        for i in range(n):
            copied[i] = np.float64(derivative[np.uint64(own[np.uint64(complete[first + i])])])
    else:
        for i in range(n):
            copied[i] = np.float64(derivative[np.uint64(own[first + i])])


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
def count_path_terms(nodes, is_categorical, leaf_nodes, parent, seen, start):
    """Write the parent of each node and the start of each leaf's terms; see `list_path_terms`.

    Parameters
    ----------
    parent : int64 (n_nodes,), written; −1 for the root
    seen : int64 (n_features,), zeros; overwritten
    start : int64 (n_leaves + 1,), written
    """
    parent[0] = -1
    for at in range(len(nodes)):
        if nodes[at]["left"] >= 0:
            parent[nodes[at]["left"]] = parent[nodes[at]["right"]] = at
    total = 0
    start[0] = 0
    for leaf in range(len(leaf_nodes)):
        at = parent[leaf_nodes[leaf]]
        while at >= 0:
            f = nodes[at]["feature"]
            if not is_categorical[f] and seen[f] != leaf + 1:
                seen[f] = leaf + 1
                total += 1
            at = parent[at]
        start[leaf + 1] = total


@kernel
def list_path_terms(nodes, is_categorical, leaf_nodes, parent, start, terms):
    """Write the features of the numeric splits above each leaf, ascending, each once.

    Parameters
    ----------
    nodes : structured array with left, right and feature
    is_categorical : bool (n_features,)
    leaf_nodes : int64 (n_leaves,), node of each leaf
    parent, start : from `count_path_terms`
    terms : int32 (n_terms,), written
    """
    for leaf in range(len(leaf_nodes)):
        first = start[leaf]
        n, at = 0, parent[leaf_nodes[leaf]]
        while at >= 0:
            f = nodes[at]["feature"]
            place = n
            while place > 0 and terms[first + place - 1] > f:
                place -= 1
            is_new = place == 0 or terms[first + place - 1] != f
            if is_new and not is_categorical[f]:
                for k in range(n, place, -1):
                    terms[first + k] = terms[first + k - 1]
                terms[first + place] = f
                n += 1
            at = parent[at]


@kernel
def index_by_node(leaves, leaf_nodes, models, by_node):
    """Write the models of the leaves by node, without the terms that are 0; return their number.

    Parameters
    ----------
    leaves : LeafTerms, leaves ascending by node
    leaf_nodes : int64 (n_leaves,), node of each leaf
    models : LinearModels
    by_node : tuple of arrays, written
        float64 (n_nodes,), values of the nodes, which leaves without a model keep; int64
        (n_nodes + 1,), first term of each node; int32 and float64 (n_terms,), features and
        coefficients.
    """
    constants, start, features, coefficients = by_node
    at, n_terms = 0, 0
    for leaf in range(len(leaf_nodes)):
        node = leaf_nodes[leaf]
        start[at : node + 1] = n_terms
        at = node + 1
        if not np.isnan(models.constant[leaf]):
            constants[node] = models.constant[leaf]
        for k in range(leaves.start[leaf], leaves.start[leaf + 1]):
            if models.coefficient[k] != 0.0:
                features[n_terms] = leaves.feature[k]
                coefficients[n_terms] = models.coefficient[k]
                n_terms += 1
    start[at:] = n_terms
    return n_terms


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
