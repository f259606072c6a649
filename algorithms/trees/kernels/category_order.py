"""Order of a node's categories in which the best subset is a prefix of the list.

A categorical split sends a subset of the categories to the left. With k categories there are
2ᵏ⁻¹ − 1 such splits, but not all of them must be tried:

- For regression by squared error, and for two classes by any concave impurity, the best subset is
  among the k − 1 prefixes of the categories ordered by the mean, or by the share of class 1
  (Fisher: On grouping for maximum homogeneity, 1958; Breiman et al. 1984, theorem 4.5). Missing
  values on either side do not change this: they only change the sums that both sides start from.
- For more classes no order contains all best subsets. Up to `MAX_TRIED` categories, all subsets
are
  tried, in the order of a Gray code, so that each subset is one step from the one before it; then
  the categories on the left come first. For more categories, the class shares p_i = (n_ik / n_i)
  are projected on the first principal component of their covariance, Σ n_i (p_i − p̄)(p_i − p̄)ᵀ,
  found by power iteration, and ordered by the projection (Coppersmith, Hong, Hosking: Partitioning
  nominal attributes in decision trees, 1999). Only this case may miss a better split.

The ordered list is then scanned like a numeric one, so all other rules apply unchanged.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.category_arrays import MAX_TRIED
from algorithms.trees.kernels.criteria import proxy_of_classes
from algorithms.trees.kernels.search import add_entries, first_missing
from algorithms.trees.kernels.tree_arrays import FLAG, ROW, SQUARED_ERROR, VISITS, WAITING

TWO = 2
STEPS = 100  # maximum number of steps of the power iteration
STILL = 1e-12  # its tolerance: largest change of a component of the unit vector
SIGN = np.uint32(31)


@kernel
def order_lists(table, rows, rules, growth, spare, categories):
    """Order the lists of all categorical features that are searched in the next node.

    Parameters
    ----------
    rows : with lists, those of categories EXACT; updated
    growth : ``todo``, ``state``, ``visit`` and ``totals`` are read
    spare : uint32 with as many entries as the node has rows, scratch
    categories : category_arrays.Categories; ``counts`` is read, all else is scratch
    """
    task = growth.todo[growth.state[WAITING] - 1]
    start, end = task["start"], task["end"]
    for v in range(growth.state[VISITS]):
        f = growth.visit[v]
        if categories.counts[f]:
            stop = first_missing(table, rows, f, rows.columns[f], start, end)
            k = find_groups(table, rows, rules, categories, f, start, stop)
            set_keys(rules, growth.totals, categories, k, end - start, end - stop)
            sort_groups(categories, k)
            write_groups(rows.lists, f, categories, k, start, stop, spare)


@inner_kernel
def find_groups(table, rows, rules, categories, f, start, stop):
    """Write the first entry, the code and the totals of each category of a node; count them."""
    column = rows.columns[f]
    k = 0
    for j in range(start, stop):
        if j == start or rows.lists[f, j] >> SIGN:
            categories.first[k] = j
            categories.code[k] = table.values[column, rows.source[rows.lists[f, j] & ROW]]
            k += 1
    categories.first[k] = stop
    for g in range(k):
        categories.sums[g, :] = 0.0
        first, last = categories.first[g], categories.first[g + 1]
        add_entries(rules, rows, f, first, last, categories.sums[g])
    return k


@inner_kernel
def set_keys(rules, totals, categories, k, n_rows, n_missing):
    """Write the sort keys of the k categories of a node."""
    sums = categories.sums
    if rules.n_classes <= TWO:
        of = 1 if rules.criterion == SQUARED_ERROR else TWO
        for g in range(k):
            categories.key[g] = sums[g, of] / sums[g, 0]  # the mean, or the share of class 1
    elif k + (n_missing > 0) <= MAX_TRIED:
        try_all_subsets(rules, totals, categories, k, n_rows, n_missing)
    else:
        project_shares(sums, k, categories.spare, categories.key)


@inner_kernel
def try_all_subsets(rules, totals, categories, k, n_rows, n_missing):
    """Write the key 0 for the categories on the left of the best split, and 1 for the others.

    Missing values stay on the right; without any, the last category does. The splits left out are
    the same splits with their sides exchanged.
    """
    left = categories.spare[0]
    left[:] = 0.0
    rows_left = 0
    subset = 0  # bits of the categories on the left
    best = -np.inf
    best_set = 0
    for step in range(1, 1 << (k if n_missing else k - 1)):
        g = 0
        while not step >> g & 1:
            g += 1
        subset ^= 1 << g
        sign = 1 if subset >> g & 1 else -1
        rows_left += sign * (categories.first[g + 1] - categories.first[g])
        for t in range(len(left)):
            left[t] += sign * categories.sums[g, t]
        if min(rows_left, n_rows - rows_left) < rules.min_samples_leaf:
            continue
        if min(left[0], totals[0] - left[0]) < rules.min_weight_leaf:
            continue
        proxy = proxy_of_classes(rules.criterion, left[1:], totals, left[0])
        if proxy > best:
            best = proxy
            best_set = subset
    for g in range(k):
        categories.key[g] = 0.0 if best_set >> g & 1 else 1.0


@inner_kernel
def project_shares(sums, k, spare, keys):
    """Write the projection of each category's class shares on their principal component.

    Parameters
    ----------
    sums : (k or more, 1 + n_classes) float64, weight n_i and weight of each class; the latter are
        overwritten
    spare : (3, 1 + n_classes) float64, scratch
    keys : (k or more,) float64, written
    """
    axis, turned = spare[1], spare[2]
    center_shares(sums, k, spare[0])
    furthest = -1.0
    for g in range(k):
        spread = 0.0
        for t in range(1, len(axis)):
            spread += sums[g, t] * sums[g, t]
        if sums[g, 0] * spread > furthest:
            furthest = sums[g, 0] * spread
            axis[:] = 0.0
            add_scaled(sums[g], 1.0, axis)
    axis[0] = 0.0  # excludes the weights from the iteration
    for _ in range(STEPS):
        turned[:] = 0.0
        for g in range(k):
            add_scaled(sums[g], sums[g, 0] * dot(sums[g], axis), turned)
        turned[0] = 0.0
        if move_axis(axis, turned) < STILL:
            break
    for g in range(k):
        keys[g] = dot(sums[g], axis)


@inner_kernel
def center_shares(sums, k, mean):
    """Replace the weights of the classes by p_i − p̄."""
    mean[:] = 0.0
    for g in range(k):
        add_scaled(sums[g], 1.0, mean)
    for g in range(k):
        for t in range(1, len(mean)):
            sums[g, t] = sums[g, t] / sums[g, 0] - mean[t] / mean[0]


@inner_kernel
def dot(a, b):
    """Return Σ a_t b_t."""
    total = 0.0
    for t in range(len(a)):
        total += a[t] * b[t]
    return total


@inner_kernel
def add_scaled(a, factor, out):
    """Add a multiple of an array to another."""
    for t in range(len(a)):
        out[t] += factor * a[t]


@inner_kernel
def move_axis(axis, turned):
    """Write the unit vector of ``turned`` to ``axis``; return the largest change of a component."""
    size = math.sqrt(dot(turned, turned))
    moved = 0.0
    for t in range(len(axis) if size > 0.0 else 0):
        moved = max(moved, abs(turned[t] / size - axis[t]))
        axis[t] = turned[t] / size
    return moved


@inner_kernel
def sort_groups(categories, k):
    """Write the order of the categories: by key, and by code where keys are equal (Shell sort)."""
    order = categories.order
    for g in range(k):
        order[g] = g
    gap = 1
    while gap < k // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, k):
            group = order[i]
            j = i
            while j >= gap and comes_before(categories, group, order[j - gap]):
                order[j] = order[j - gap]
                j -= gap
            order[j] = group
        gap //= 3


@inner_kernel
def comes_before(categories, a, b):
    """Return whether one category comes before another."""
    if categories.key[a] == categories.key[b]:
        return categories.code[a] < categories.code[b]
    return categories.key[a] < categories.key[b]


@inner_kernel
def write_groups(lists, f, categories, k, start, stop, spare):
    """Write the entries of a list in the order of their categories; flag the first of each."""
    to = 0
    for i in range(k):
        g = categories.order[i]
        flag = FLAG
        for j in range(categories.first[g], categories.first[g + 1]):
            spare[to] = np.uint32(lists[f, j] & ROW) | flag
            flag = np.uint32(0)
            to += 1
    for j in range(start, stop):
        lists[f, j] = spare[j - start]
