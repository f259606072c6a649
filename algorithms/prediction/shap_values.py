"""SHAP values of features and of pairs of features: path-dependent TreeSHAP.

    raw(x)_k = φ_k,base + Σ_f φ_k,f        φ_k,f = Σ_g Φ_k,fg

φ_k,base is the mean score, weighted by the covers of the leaves. See `kernels.tree_shap` and
`kernels.shap_interactions`.
"""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from algorithms.prediction.kernels.shap_interactions import add_interactions
from algorithms.prediction.kernels.tree_shap import EDGE, Forest, Points, Scratch, add_contributions
from algorithms.prediction.packing import pack, reading_of, summed_values
from algorithms.runtime.threads import Workers, threads_of

MAX_ROWS, MIN_ROWS = 64, 32  # rows of a block; tables are computed once a block
CACHED = 1 << 18  # values per scratch table that fit the cache
MAX_ROOM = 1 << 26  # values per scratch table


class Contributions:
    """Mixin with `predict_contributions`; needs `ensemble_`, ``n_jobs`` and ``_read_rows(X)``."""

    def predict_contributions(self, X):
        """Return the SHAP values of the raw scores; see `contributions`.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        float64 (n_rows, n_features + 1), whose last column is the base; with several scores per
        row, (n_rows, n_scores, n_features + 1).
        """
        check_is_fitted(self, "ensemble_")
        X = self._read_rows(X)
        result = contributions(self.ensemble_, X, threads_of(self, X.shape[0]))
        return result[:, 0] if result.shape[1] == 1 else result


def contributions(ensemble, X, threads=1, players=None):
    """Return the SHAP values of the raw scores, float64 (n_rows, n_outputs, n_features + 1).

    The last column is the base: the mean score, weighted by the covers. The sum over a row is its
    raw score.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
        A sum, mean or vote of trees with covers.
    X : array, frame or sparse matrix, as in ``ensemble.raw``
    threads : int
        The result is bitwise the same for any number.
    players : int64 (n_features,), optional
        The feature that stands for each feature: features with the same one are known or unknown
        together, and their joint value is in its column. By default each feature stands for itself.

    Raises
    ------
    ValueError
        If the prediction is the median of trees, covers are unknown, or leaves are linear models.
    """
    explainer = Explainer(ensemble, players)
    parts = [explainer.explain(part, threads) for _, part in ensemble.chunks(X)]
    none = np.empty((0, ensemble.n_outputs, ensemble.n_features + 1))
    return np.concatenate([none, *parts])


def interactions(ensemble, X, threads=1):
    """Return SHAP interaction values, float64 (n_rows, n_outputs, n_features + 1, n_features + 1).

    The matrix of a score is symmetric, and its rows sum to the `contributions`. An entry off the
    diagonal is half of the interaction of two features; an entry on it is the main effect of the
    feature. The last row and column are 0, except the last entry: the base.

    Parameters
    ----------
    ensemble, X, threads : as in `contributions`

    Raises
    ------
    ValueError
        If the prediction is the median of trees, covers are unknown, or leaves are linear models.
    """
    explainer = Explainer(ensemble)
    parts = [explainer.interactions(part, threads) for _, part in ensemble.chunks(X)]
    size = ensemble.n_features + 1
    return np.concatenate([np.empty((0, ensemble.n_outputs, size, size)), *parts])


class Explainer:
    """TreeSHAP explainer with the trees of an ensemble and their edges.

    The parameters are those of `contributions`.
    """

    def __init__(self, ensemble, players=None):
        self.ensemble = ensemble
        if ensemble.combination == "median":
            raise ValueError("the median of trees is not a sum of contributions")
        if ensemble.linear is not None:
            raise ValueError(
                "SHAP contributions are not implemented for linear trees (linear_tree=True)"
            )
        if np.isnan(ensemble.cover).any() or (ensemble.cover < 0).any():
            raise ValueError("these trees have no covers, which contributions need")
        self.numbers, steps, bits = pack(ensemble)
        self.reading = reading_of(ensemble)
        edges, depth, reach = find_edges(ensemble, players)
        total = 1.0 if ensemble.combination == "sum" else ensemble.weight.sum()
        values = summed_values(ensemble) / total
        self.base = mean_scores(ensemble, reach, values)
        self.base += ensemble.base / total if ensemble.base_first else ensemble.base
        offsets, output = ensemble.offsets.astype(np.int64), ensemble.output.astype(np.int64)
        self.forest = Forest(steps, bits, edges, offsets, values, output)
        most = np.maximum.reduceat(depth, offsets[:-1]) if len(output) else np.zeros(0, np.int64)
        check_room(most, int(np.diff(offsets).max(initial=1)))
        self.points = quadrature((most + 1) // 2)
        self.n_points = self.points.t.shape[1]

    def explain(self, X, threads):
        """Return the SHAP values of float64 rows, (n_rows, n_outputs, n_features + 1)."""
        e = self.ensemble
        out = np.empty((len(X), e.n_outputs, e.n_features + 1))
        self._run(add_contributions, X, threads, out)
        out[:, :, -1] += self.base
        return out

    def interactions(self, X, threads):
        """Return the SHAP interaction values of float64 rows; see `interactions`."""
        e = self.ensemble
        size = e.n_features + 1
        out = np.empty((len(X), e.n_outputs, size, size))
        self._run(add_interactions, X, threads, out)
        out[:, :, -1, -1] += self.base
        return out

    def _run(self, add, X, threads, out):
        """Run a kernel on blocks of rows in several threads; it adds its values to ``out``.

        Parameters
        ----------
        add : add_contributions or add_interactions
        X : float64 (n_rows, n_features)
        threads : int
        out : float64 (n_rows, ...), changed
        """
        X = X if self.numbers is None else self.numbers.widen(X)
        n_nodes, n_points = int(np.diff(self.ensemble.offsets).max(initial=1)), self.n_points
        is_pairs = add is add_interactions
        block = rows_a_block(n_nodes * n_points, math.prod(out.shape[1:]) if is_pairs else 0)
        block = min(block, max(1, len(X)))

        def share(first, last):
            scratch = make_scratch(n_nodes, n_points, block, with_changes=is_pairs)
            for start in range(first * block, last * block, block):
                workers.check()
                columns = np.ascontiguousarray(X[start : start + block].T)
                found = np.zeros((*out.shape[1:], columns.shape[1]))
                add(self.forest, self.points, columns, self.reading, scratch, found)
                rows = np.moveaxis(found, -1, 0)
                out[start : start + block] = as_matrices(rows) if is_pairs else rows

        with Workers(threads) as workers:
            workers.share(share, -(-len(X) // block))


def check_room(most, nodes):
    """Raise ValueError if the scratch space would take gigabytes.

    Parameters
    ----------
    most : int64 (n_trees,), maximum number of distinct features on a path of each tree
    nodes : number of nodes of the largest tree
    """
    deepest = int(most.max(initial=0))
    if deepest * max(nodes, len(most)) > MAX_ROOM:
        raise ValueError(
            f"a tree has {deepest} different features on one path: contributions of such trees "
            "need too much memory"
        )


def rows_a_block(n_values, n_pairs):
    """Return the number of rows that a kernel reads together.

    Parameters
    ----------
    n_values : int
        Values of a scratch table for one row.
    n_pairs : int
        Interaction values of one row; 0 for contributions.
    """
    fitting = min(MAX_ROWS, max(MIN_ROWS, CACHED // n_values))
    return max(1, min(fitting, MAX_ROOM // (2 * n_values), MAX_ROOM // max(8 * n_pairs, 1)))


def make_scratch(n_nodes, n_points, n_rows, *, with_changes):
    """Return `Scratch` for a tree and a block of rows."""
    table = (n_nodes, n_points)
    factors, worths = np.empty((2, 2, *table))
    products, sums = np.empty((2, *table, n_rows))
    changes = np.empty((*table, n_rows) if with_changes else (0, 0, 0))
    totals = np.empty((n_points, n_rows))
    stands, to_left = np.zeros((2, n_nodes, n_rows), np.int64)
    return Scratch(factors, worths, products, sums, changes, totals, stands, to_left)


def as_matrices(found):
    """Return symmetric matrices of interaction values.

    Parameters
    ----------
    found : float64 (n_rows, n_scores, n, n) as `add_interactions` adds it: I_ij where i > j, φ_i
        where i = j
    """
    lower = 0.5 * np.tril(found, -1)
    matrices = lower + lower.swapaxes(2, 3)
    at = np.arange(found.shape[-1])
    matrices[:, :, at, at] = found[:, :, at, at] - matrices.sum(axis=3)
    return matrices


def quadrature(counts):
    """Return the Gauss–Legendre `Points` on [0, 1] that each tree needs."""
    most = int(counts.max(initial=1))
    t, weight = np.zeros((2, len(counts), most))
    for count in np.unique(counts[counts > 0]).tolist():
        at, own = np.polynomial.legendre.leggauss(count)
        t[counts == count, :count] = (at + 1.0) / 2.0
        weight[counts == count, :count] = own / 2.0
    return Points(t, weight, counts.astype(np.int64))


def find_edges(e, players=None):
    """Return the edge above every node, with its depth and probability.

    Parameters
    ----------
    e : harness.TreeEnsemble
    players : as in `contributions`

    Returns
    -------
    edges : EDGE (n_nodes,)
    depth : int64 (n_nodes,), number of distinct features on the path
    reach : float64 (n_nodes,), fraction of the rows that reach the node, by the covers
    """
    start = np.repeat(e.offsets[:-1], np.diff(e.offsets))
    feature = e.feature if players is None else players[e.feature]
    inner = np.flatnonzero(e.left >= 0)
    parent = np.full(e.n_nodes, -1)  # index in the whole ensemble
    parent[e.left[inner]] = parent[e.right[inner]] = inner
    edges = np.zeros(e.n_nodes, EDGE)
    edges["is_inner"][inner] = 1
    edges["is_left"][e.left[inner]] = 1
    ends = np.flatnonzero(parent >= 0)
    above = parent[ends]
    edges["parent"][ends] = above - start[ends]
    edges["feature"][ends] = feature[above]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(e.cover[above] > 0, e.cover[ends] / e.cover[above], 0.0)
    edges["ratio"][ends] = ratio
    before = last_of_feature(feature, parent)
    edges["before"] = np.where(before >= 0, before - start, 0)
    depth, reach = np.zeros(e.n_nodes, np.int64), np.ones(e.n_nodes)
    for level in levels(e):
        has = before[level] >= 0
        known = np.where(has, edges["share"][before[level]], 1.0)
        edges["share"][level] = known * edges["ratio"][level]
        depth[level] = depth[parent[level]] + ~has
        reach[level] = reach[parent[level]] * edges["ratio"][level]
    return edges, depth, reach


def last_of_feature(feature, parent):
    """Return the end of the last edge above each edge with the same feature, or −1."""
    found = np.full(len(parent), -1)
    open_ = np.flatnonzero(parent >= 0)
    at = parent[open_]  # end of the current edge
    while len(open_):
        is_edge = parent[at] >= 0
        open_, at = open_[is_edge], at[is_edge]
        same = feature[parent[at]] == feature[parent[open_]]
        found[open_[same]] = at[same]
        open_, at = open_[~same], parent[at[~same]]
    return found


def levels(e):
    """Yield the nodes of all trees level by level, starting below the roots."""
    level = e.offsets[:-1]
    while len(level):
        inner = level[e.left[level] >= 0]
        level = np.concatenate([e.left[inner], e.right[inner]])
        yield level


def mean_scores(e, reach, values):
    """Return the cover-weighted mean score of each output, without the base score."""
    found = np.zeros(e.n_outputs)
    leaves = np.flatnonzero(e.left < 0)
    tree = np.repeat(np.arange(e.n_trees), np.diff(e.offsets))[leaves]
    for k in range(values.shape[1]):
        np.add.at(found, e.output[tree] + k, reach[leaves] * values[leaves, k])
    return found
