"""Path-dependent TreeSHAP: unknown features are averaged by the covers.

Lundberg, Erion, Chen, DeGrave, Prutkin, Nair, Katz, Himmelfarb, Bansal, Lee: From local
explanations to global understanding with explainable AI for trees. Nature Machine Intelligence 2,
2020 (the values). Owen: Multilinear extensions of games. Management Science 18, 1972 (the
integral). Yu, Bifet, Read, Xu: Linear tree Shap. NeurIPS 2022 (sums over edges).

The path to a leaf has d different features. If feature j is known, a row passes all its splits on
the path (o_j = 1) or not (o_j = 0); if it is unknown, the fraction z_j of the rows passes: the
product of the cover ratios of the children on the path. If each feature is known with probability
t, the expected contribution of a leaf with value v is v Π_j a_j(t), with

    a_j(t) = t o_j + (1 − t) z_j

and the Shapley value of i is the integral of the derivative by its own probability:

    φ_i = Σ_leaves v ∫₀¹ (o_i − z_i) Π_{j≠i} a_j(t) dt

a polynomial of degree d − 1, so ⌈d/2⌉ Gauss–Legendre points are exact, and every term is a product
of positive numbers: nothing cancels. On the way down, each edge multiplies the product of its
parent; on the way up, the sums S of the leaves below an edge are weighted by

    (o_e − z_e) / a_e − (o_b − z_b) / a_b        e: with this edge, b: the feature before it

because the leaves below count for the last edge of their feature. (o − z) / a is −1 / (1 − t) if
o = 0, for any z, so edges of the same feature below an edge that the row does not take need no sum.
The cost per row and tree is O(nodes × points); the usual algorithm takes O(leaves × depth²).

The innermost loop of each step runs over a block of rows, so it is compiled to vector instructions.
The operations of a row do not depend on the other rows, so its values are the same in any block.
"""

from typing import NamedTuple

import numpy as np

from algorithms.prediction.kernels.walk import IS_SET, MISSING_LEFT, ZERO_MISSING, goes_left
from algorithms.runtime.jit import inner_kernel, kernel

EDGE = np.dtype(  # edge from the parent to a node; unused for roots
    [
        ("parent", np.int32),  # index within the tree, like all indices here
        ("before", np.int32),  # the end of the last edge of the same feature above, or 0
        ("feature", np.int32),
        ("is_left", np.int32),
        ("is_inner", np.int32),  # whether the node has a split
        ("share", np.float64),  # z of the feature with this edge
        ("ratio", np.float64),  # cover of the node over that of its parent
    ]
)
MISSED, TAKEN, OFF = 0, 1, 2  # OFF: the row missed an earlier edge of the same feature


class Forest(NamedTuple):
    """Trees as steps and edges."""

    steps: np.ndarray  # STEP (n_nodes,)
    bits: np.ndarray  # uint64, the words of all sets
    edges: np.ndarray  # EDGE (n_nodes,)
    offsets: np.ndarray  # int64 (n_trees + 1,)
    values: np.ndarray  # float64 (n_nodes, n_values), times the weights of the trees
    output: np.ndarray  # int64 (n_trees,), index of the first score of a tree


class Points(NamedTuple):
    """Points and weights of the integral, one row per tree."""

    t: np.ndarray  # float64 (n_trees, most points)
    weight: np.ndarray  # float64 (n_trees, most points)
    count: np.ndarray  # int64 (n_trees,)


class Scratch(NamedTuple):
    """Scratch space for one tree and a block of rows."""

    factors: np.ndarray  # float64 (2, nodes, points), of products: edge missed, edge taken
    worths: np.ndarray  # float64 (2, nodes, points), of sums: edge missed, edge taken
    products: np.ndarray  # float64 (nodes, points, rows)
    sums: np.ndarray  # float64 (nodes, points, rows), of the leaves below
    changes: np.ndarray  # float64 (nodes, points, rows), for interactions
    totals: np.ndarray  # float64 (points, rows)
    stands: np.ndarray  # int64 (nodes, rows): TAKEN, MISSED, OFF
    to_left: np.ndarray  # int64 (nodes, rows), whether the row goes left


@kernel
def add_contributions(forest, points, columns, reading, scratch, out):
    """Add the trees' Shapley values to ``out`` for a block of rows.

    Parameters
    ----------
    forest : Forest
    points : Points
    columns : (n_features, n_rows) float64, C-contiguous
    reading : walk.Reading
    scratch : Scratch, for the largest tree and n_rows
    out : (n_scores, n_features + 1, n_rows) float64, added to
    """
    for tree in range(len(forest.output)):
        first, last = forest.offsets[tree], forest.offsets[tree + 1]
        edges, steps = forest.edges[first:last], forest.steps[first:last]
        n_points, output = np.uint64(points.count[tree]), forest.output[tree]
        fill_tables(edges, points.t[tree], points.weight[tree], n_points, scratch)
        go_down(edges, steps, forest.bits, columns, reading, n_points, scratch)
        for k in range(forest.values.shape[1]):
            values = forest.values[first:last, k]
            go_up(edges, steps, first, values, n_points, scratch, out[output + k])


@inner_kernel
def fill_tables(edges, t, weight, n_points, scratch):
    """Write the factors of the edges for products and sums."""
    for c in range(1, len(edges)):
        z, before = edges[c]["share"], edges[c]["before"]
        z_before = edges[before]["share"] if before > 0 else 1.0
        for k in range(n_points):
            a_before = t[k] + (1.0 - t[k]) * z_before
            a = t[k] + (1.0 - t[k]) * z
            gone = (1.0 - z_before) / a_before
            scratch.factors[MISSED, c, k] = (1.0 - t[k]) * z / a_before
            scratch.factors[TAKEN, c, k] = a / a_before
            scratch.worths[MISSED, c, k] = weight[k] * (-1.0 / (1.0 - t[k]) - gone)
            scratch.worths[TAKEN, c, k] = weight[k] * ((1.0 - z) / a - gone)


@inner_kernel
def go_down(edges, steps, bits, columns, reading, n_points, scratch):
    """Write the products Π a of all nodes, and whether the rows take each edge."""
    n_rows = np.uint64(columns.shape[1])
    for k in range(n_points):
        for i in range(n_rows):
            scratch.products[np.uint64(0), k, i] = 1.0
    for node in range(np.uint64(len(edges))):
        if node > 0:
            write_stands(edges[node], node, scratch, n_rows)
            multiply(edges[node], node, n_points, scratch, n_rows)
        if edges[node]["is_inner"]:
            route(steps[node], columns, bits, reading, scratch.to_left[node])


@inner_kernel
def route(step, columns, bits, reading, to_left):
    """Write whether each row goes left at a step."""
    x, kind = columns[np.uint64(step["feature"])], step["kind"]
    n_rows = np.uint64(len(x))
    if kind & (IS_SET | ZERO_MISSING) == 0:
        threshold, is_nan_left = step["threshold"], (kind & MISSING_LEFT) != 0
        for i in range(n_rows):
            to_left[i] = (x[i] <= threshold) | (np.isnan(x[i]) & is_nan_left)
    else:
        for i in range(n_rows):
            to_left[i] = goes_left(step, x[i], bits, reading)


@inner_kernel
def write_stands(edge, node, scratch, n_rows):
    """Write whether the rows take the edge above a node."""
    stands, to_left = scratch.stands, scratch.to_left
    parent, before = np.uint64(edge["parent"]), np.uint64(edge["before"])
    is_left = np.int64(edge["is_left"])
    if before == 0:
        for i in range(n_rows):
            stands[node, i] = to_left[parent, i] == is_left
    else:
        for i in range(n_rows):
            stand = np.int64(to_left[parent, i] == is_left)
            stands[node, i] = stand if stands[before, i] == TAKEN else OFF


@inner_kernel
def multiply(edge, node, n_points, scratch, n_rows):
    """Write the products of a node: those of its parent times the factors of its edge."""
    products, stands, parent = scratch.products, scratch.stands, np.uint64(edge["parent"])
    ratio = edge["ratio"]
    for k in range(n_points):
        missed = scratch.factors[np.uint64(MISSED), node, k]
        taken = scratch.factors[np.uint64(TAKEN), node, k]
        for i in range(n_rows):
            stand = stands[node, i]
            factor = taken if stand == TAKEN else missed if stand == MISSED else ratio
            products[node, k, i] = products[parent, k, i] * factor


@inner_kernel
def go_up(edges, steps, first, values, n_points, scratch, out):
    """Sum the leaves below each edge, and add the edge's contribution to its feature."""
    stands, worth = scratch.stands, scratch.totals[np.uint64(0)]
    n_rows = np.uint64(out.shape[1])
    for at in range(len(edges) - 1, 0, -1):
        node = np.uint64(at)
        write_sums(edges[node], steps[node], first, values, node, n_points, scratch, n_rows)
        for i in range(n_rows):
            worth[i] = 0.0
        for k in range(n_points):
            missed = scratch.worths[np.uint64(MISSED), node, k]
            taken = scratch.worths[np.uint64(TAKEN), node, k]
            for i in range(n_rows):
                stand = stands[node, i]
                factor = taken if stand == TAKEN else missed if stand == MISSED else 0.0
                worth[i] += scratch.sums[node, k, i] * factor
        feature = np.uint64(edges[node]["feature"])
        for i in range(n_rows):
            out[feature, i] += worth[i]


@inner_kernel
def write_sums(edge, step, first, values, node, n_points, scratch, n_rows):
    """Write the sums of the leaves below a node; those of its children are known."""
    sums, products = scratch.sums, scratch.products
    if edge["is_inner"]:
        left, right = np.uint64(step["left"] - first), np.uint64(step["right"] - first)
        for k in range(n_points):
            for i in range(n_rows):
                sums[node, k, i] = sums[left, k, i] + sums[right, k, i]
    else:
        value = values[node]
        for k in range(n_points):
            for i in range(n_rows):
                sums[node, k, i] = value * products[node, k, i]
