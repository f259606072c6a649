"""SHAP interaction values of path-dependent TreeSHAP; see `tree_shap` for the notation.

Grabisch, Roubens: An axiomatic approach to the concept of interaction among players in cooperative
games. International Journal of Game Theory 28, 1999 (the index). Owen: Multilinear extensions of
games. Management Science 18, 1972 (the integral). Lundberg et al., 2020 (the matrix).

The interaction index of the features i and j is the integral of the mixed second derivative:

    I_ij = Σ_leaves v ∫₀¹ (o_i − z_i) (o_j − z_j) Π_{k≠i,j} a_k(t) dt

a polynomial of degree d − 2, so the points of `tree_shap` are exact. With the change of an edge
Δ_e = (o_e − z_e) / a_e − (o_b − z_b) / a_b, the sums over the leaves become sums over pairs of
edges on one path: the sum S below the lower edge e, times Δ_e, times Δ of the upper edge. The two
edges below a node have the same feature and the same edges above, so they are added first.
The values of the matrix are

    Φ_ij = Φ_ji = I_ij / 2        Φ_ii = φ_i − Σ_{j≠i} Φ_ij

The cost per row and tree is O(inner nodes × depth × points) for all pairs of features together.
The usual algorithm computes contributions twice for each feature: O(features × leaves × depth²).
"""

import numpy as np

from algorithms.prediction.kernels.tree_shap import (
    MISSED,
    TAKEN,
    fill_tables,
    go_down,
    write_sums,
)
from algorithms.runtime.jit import inner_kernel, kernel


@kernel
def add_interactions(forest, points, columns, reading, scratch, out):
    """Add the trees' interaction indices and Shapley values to ``out`` for a block of rows.

    Parameters
    ----------
    forest : tree_shap.Forest
    points : tree_shap.Points
    columns : (n_features, n_rows) float64, C-contiguous
    reading : walk.Reading
    scratch : tree_shap.Scratch, for the largest tree and n_rows
    out : (n_scores, n_features + 1, n_features + 1, n_rows) float64, added to: I_ij where i > j,
        φ_i where i = j
    """
    for tree in range(len(forest.output)):
        first, last = forest.offsets[tree], forest.offsets[tree + 1]
        edges, steps = forest.edges[first:last], forest.steps[first:last]
        n_points, output = np.uint64(points.count[tree]), forest.output[tree]
        weight = points.weight[tree]
        fill_tables(edges, points.t[tree], weight, n_points, scratch)
        go_down(edges, steps, forest.bits, columns, reading, n_points, scratch)
        fill_changes(edges, weight, n_points, scratch, np.uint64(columns.shape[1]))
        for k in range(forest.values.shape[1]):
            values, scores = forest.values[first:last, k], out[output + k]
            go_up(edges, steps, first, values, weight, n_points, scratch, scores)


@inner_kernel
def fill_changes(edges, weight, n_points, scratch, n_rows):
    """Write the change Δ of each edge; it is 0 below a missed edge of the same feature."""
    changes, stands = scratch.changes, scratch.stands
    for node in range(np.uint64(1), np.uint64(len(edges))):
        for k in range(n_points):
            missed = scratch.worths[np.uint64(MISSED), node, k] / weight[k]
            taken = scratch.worths[np.uint64(TAKEN), node, k] / weight[k]
            for i in range(n_rows):
                stand = stands[node, i]
                change = taken if stand == TAKEN else missed if stand == MISSED else 0.0
                changes[node, k, i] = change


@inner_kernel
def go_up(edges, steps, first, values, weight, n_points, scratch, out):
    """Sum the leaves below each node, and pair the edges below it with the edges above it."""
    n_rows = np.uint64(out.shape[2])
    for at in range(len(edges) - 1, -1, -1):
        node = np.uint64(at)
        write_sums(edges[node], steps[node], first, values, node, n_points, scratch, n_rows)
        if edges[node]["is_inner"]:
            left = np.uint64(steps[node]["left"] - first)
            right = np.uint64(steps[node]["right"] - first)
            feature = np.uint64(edges[left]["feature"])
            add_edges(left, right, weight, n_points, scratch, out[feature, feature])
            while node != 0:
                other = np.uint64(edges[node]["feature"])
                if other != feature:
                    pair = out[max(feature, other), min(feature, other)]
                    add_pair(node, n_points, scratch, pair)
                node = np.uint64(edges[node]["parent"])


@inner_kernel
def add_edges(left, right, weight, n_points, scratch, phi):
    """Write the totals of the two edges below a node, and add them to the feature's values."""
    sums, changes, totals = scratch.sums, scratch.changes, scratch.totals
    for k in range(n_points):
        for i in range(np.uint64(len(phi))):
            total = sums[left, k, i] * changes[left, k, i]
            total = weight[k] * (total + sums[right, k, i] * changes[right, k, i])
            totals[k, i] = total
            phi[i] += total


@inner_kernel
def add_pair(above, n_points, scratch, pair):
    """Add the totals times the change of an edge above to a pair of features."""
    for k in range(n_points):
        for i in range(np.uint64(len(pair))):
            pair[i] += scratch.totals[k, i] * scratch.changes[above, k, i]
