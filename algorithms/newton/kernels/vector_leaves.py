"""Leaves of the rows of a tree with vector leaves, their values, and the update of the scores."""

import numpy as np

from algorithms.newton.kernels.vector_arrays import MIN_H
from algorithms.newton.kernels.vector_split import h_lane, total_h
from algorithms.runtime.jit import inner_kernel, kernel

SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


@kernel
def find_nodes(nodes, feature_columns, goes_left, columns, rows, first, last, at):
    """Write the leaf of each of rows[first : last].

    Parameters
    ----------
    nodes : NODE
    feature_columns : int64 (n_features,), column of each feature
    columns : uint8 (n_columns, n_rows)
    rows : uint32; (0,): the rows first … last − 1
    at : uint32 (n_rows,), written
    """
    for i in range(first, last):
        row = rows[i] if len(rows) else np.uint32(i)
        node = np.int64(0)
        while nodes[node]["left"] >= 0:
            code = columns[feature_columns[nodes[node]["feature"]], row]
            node = nodes[node]["left"] if goes_left[node, code] else nodes[node]["right"]
        at[row] = np.uint32(node)


@kernel
def mark_nodes(nodes, rows, at):
    """Write the leaf of each row that the tree was grown on."""
    for number in range(len(nodes)):
        node = nodes[number]
        if node["left"] < 0:
            for i in range(np.uint64(node["start"]), np.uint64(node["end"])):
                at[np.uint64(rows[i])] = np.uint32(number)


@kernel
def write_tree(grown, growth, rules, thresholds, nodes, values):
    """Write the nodes of a grown tree and their values.

    Parameters
    ----------
    grown : vector_arrays.NODE (n_nodes,)
    growth : VectorGrowth
    rules : VectorRules
    thresholds : int64 (n_features + 1,), index of the first threshold of each feature, and float32
    nodes : newton.tree.NODE (n_nodes,), zeros; written
    values : float32 (n_nodes, n_outputs), written
    """
    first, numbers = thresholds
    for at in range(len(grown)):
        node, new = grown[at], nodes[at]
        new["left"], new["right"], new["feature"] = node["left"], node["right"], -1
        if node["left"] >= 0:
            f = node["feature"]
            new["feature"] = f
            new["threshold"] = numbers[first[f] + node["bin"]]
            new["missing_left"] = node["missing_left"]
            rounded = np.float64(np.float32(node["gain"]))
            is_near = SMALLEST <= rounded <= LARGEST
            new["gain"] = rounded if is_near else node["gain"]
        h = total_h(growth.sums[at], growth.units, rules)
        new["cover"] = np.float32(h * rules.n_outputs if rules.shared_h else h)
    write_values(growth.sums[: len(grown)], growth.units, rules, values)


@inner_kernel
def write_values(sums, units, rules, values):
    """Write the values −T(G) / (H + λ) of all nodes; 0 if H is below the minimum.

    Parameters
    ----------
    sums : int32 (n_nodes, lanes)
    units : float64 (lanes,)
    rules : VectorRules
    values : float32 (n_nodes, n_outputs), written
    """
    least, bound = max(rules.min_child_weight, MIN_H), rules.max_delta_step
    for node in range(len(sums)):
        for k in range(rules.n_outputs):
            at = h_lane(k, rules)
            g, h = sums[node, k] * units[k], sums[node, at] * units[at]
            value = -(np.sign(g) * max(abs(g) - rules.reg_alpha, 0.0)) / (h + rules.reg_lambda)
            if bound > 0.0:
                value = min(max(value, -bound), bound)
            values[node, k] = np.float32(value if h >= least else 0.0)


@kernel
def add_vectors(values, at, first, last, score):
    """Add the values of the leaves to the scores of rows first … last − 1.

    Parameters
    ----------
    values : float64 (n_outputs, n_nodes)
    at : uint32 (n_rows,), node of each row
    score : float64 (n_outputs, n_rows), written
    """
    for k in range(len(values)):
        own, scores = values[k], score[k]
        for i in range(np.uint64(first), np.uint64(last)):
            scores[i] += own[np.uint64(at[i])]
