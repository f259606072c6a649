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
"""

from typing import NamedTuple

import numpy as np

from algorithms.prediction.kernels.walk import goes_left
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
    """Scratch space for one tree."""

    factors: np.ndarray  # float64 (2, nodes, points), of products: edge missed, edge taken
    worths: np.ndarray  # float64 (2, nodes, points), of sums: edge missed, edge taken
    products: np.ndarray  # float64 (nodes, points)
    sums: np.ndarray  # float64 (nodes, points), of the leaves below
    stands: np.ndarray  # int64 (nodes,): TAKEN, MISSED, OFF
    to_left: np.ndarray  # int64 (nodes,), whether the row goes left


@kernel
def add_contributions(forest, points, X, reading, scratch, out):
    """Add the trees' Shapley values to ``out`` for the rows of X.

    Parameters
    ----------
    forest : Forest
    points : Points
    X : (n_rows, n_features) float64, C-contiguous
    reading : walk.Reading
    scratch : Scratch, for the largest tree
    out : (n_rows, n_scores, n_features + 1) float64, added to
    """
    for tree in range(len(forest.output)):
        first, last = forest.offsets[tree], forest.offsets[tree + 1]
        edges, steps = forest.edges[first:last], forest.steps[first:last]
        n_points, output = points.count[tree], forest.output[tree]
        fill_tables(edges, points.t[tree], points.weight[tree], n_points, scratch)
        for row in range(len(X)):
            go_down(edges, steps, forest.bits, X[row], reading, n_points, scratch)
            for k in range(forest.values.shape[1]):
                values = forest.values[first:last, k]
                go_up(edges, values, n_points, scratch, out[row, output + k])


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
def go_down(edges, steps, bits, x, reading, n_points, scratch):
    """Write the products Π a of all nodes, and whether the row takes each edge."""
    products, stands, to_left = scratch.products, scratch.stands, scratch.to_left
    for k in range(n_points):
        products[0, k] = 1.0
    for c in range(len(edges)):
        if c > 0:
            parent, before = edges[c]["parent"], edges[c]["before"]
            if before == 0 or stands[before] == TAKEN:
                stand = np.int64(to_left[parent] == edges[c]["is_left"])
                for k in range(n_points):
                    products[c, k] = products[parent, k] * scratch.factors[stand, c, k]
            else:
                stand = OFF
                for k in range(n_points):
                    products[c, k] = products[parent, k] * edges[c]["ratio"]
            stands[c] = stand
        if edges[c]["is_inner"]:
            step = steps[c]
            to_left[c] = goes_left(step, x[step["feature"]], bits, reading)


@inner_kernel
def go_up(edges, values, n_points, scratch, phi):
    """Sum the leaves below each edge, and add the edge's contribution to its feature."""
    sums, products = scratch.sums, scratch.products
    for c in range(len(edges)):
        value = 0.0 if edges[c]["is_inner"] else values[c]
        for k in range(n_points):
            sums[c, k] = value * products[c, k]
    for c in range(len(edges) - 1, 0, -1):
        parent, stand = edges[c]["parent"], scratch.stands[c]
        if stand != OFF:
            worth = 0.0
            for k in range(n_points):
                worth += sums[c, k] * scratch.worths[stand, c, k]
            phi[edges[c]["feature"]] += worth
        for k in range(n_points):
            sums[parent, k] += sums[c, k]
