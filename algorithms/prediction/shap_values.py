"""Contributions of features to predictions: path-dependent TreeSHAP; see `tree_shap`.

    raw(x)_k = φ_k,base + Σ_f φ_k,f

φ_k,base is the mean score by the covers of the trees.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from algorithms.prediction.kernels.tree_shap import EDGE, Forest, Points, Scratch, add_contributions
from algorithms.prediction.packing import pack, reading_of, summed_values
from algorithms.runtime.threads import Workers, threads_of

ROWS_A_SHARE = 64
MOST_ROOM = 1 << 26  # values of a table of scratch space


class Contributions:
    """What an estimator with `ensemble_`, ``n_jobs`` and ``_read_rows(X)`` gains by it."""

    def predict_contributions(self, X):
        """Return what each feature adds to the raw scores; see `contributions`.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        float64 (n_rows, n_features + 1), its last column the base; where there are several
        scores a row, (n_rows, n_scores, n_features + 1).
        """
        check_is_fitted(self, "ensemble_")
        X = self._read_rows(X)
        found = contributions(self.ensemble_, X, threads_of(self, X.shape[0]))
        return found[:, 0] if found.shape[1] == 1 else found


def contributions(ensemble, X, threads=1):
    """Return what each feature adds to the raw scores, float64 (n_rows, n_outputs, n_features + 1).

    The last column is the base: the mean score by the covers of the trees. The sum over a row is
    its raw score.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
        A sum or mean of trees that know their covers.
    X : array, frame or sparse matrix, as ``ensemble.raw`` takes it
    threads : int
        The result is the same, to the bit, for any number.

    Raises
    ------
    ValueError
        Where members vote, or covers are not known.
    """
    explainer = Explainer(ensemble)
    parts = [explainer.explain(part, threads) for _, part in ensemble.chunks(X)]
    none = np.empty((0, ensemble.n_outputs, ensemble.n_features + 1))
    return np.concatenate([none, *parts])


class Explainer:
    """An ensemble's trees, with their edges."""

    def __init__(self, ensemble):
        self.ensemble = ensemble
        if ensemble.combination not in ("sum", "mean"):
            raise ValueError(f"the {ensemble.combination} of trees is no sum of contributions")
        if np.isnan(ensemble.cover).any() or (ensemble.cover < 0).any():
            raise ValueError("these trees do not know their covers: contributions need them")
        self.numbers, steps, bits = pack(ensemble)
        self.reading = reading_of(ensemble)
        edges, depth, reach = find_edges(ensemble)
        total = ensemble.weight.sum() if ensemble.combination == "mean" else 1.0
        values = summed_values(ensemble) / total
        self.base = mean_scores(ensemble, reach, values)
        self.base += ensemble.base if ensemble.combination == "sum" else ensemble.base / total
        offsets, output = ensemble.offsets.astype(np.int64), ensemble.output.astype(np.int64)
        self.forest = Forest(steps, bits, edges, offsets, values, output)
        most = np.maximum.reduceat(depth, offsets[:-1]) if len(output) else np.zeros(0, np.int64)
        check_room(most, int(np.diff(offsets).max(initial=1)))
        self.points = quadrature((most + 1) // 2)

    def explain(self, X, threads):
        """Return the contributions of rows of float64."""
        e = self.ensemble
        out = np.zeros((len(X), e.n_outputs, e.n_features + 1))
        nodes = int(np.diff(e.offsets).max(initial=1))
        X = np.ascontiguousarray(X) if self.numbers is None else self.numbers.widen(X)

        def share(first, last):
            scratch = make_scratch(nodes, self.points.t.shape[1])
            for start in range(first * ROWS_A_SHARE, last * ROWS_A_SHARE, ROWS_A_SHARE):
                workers.check()
                rows = slice(start, start + ROWS_A_SHARE)
                given = self.forest, self.points, X[rows], self.reading
                add_contributions(*given, scratch, out[rows])

        with Workers(threads) as workers:
            workers.share(share, -(-len(X) // ROWS_A_SHARE))
        out[:, :, -1] += self.base
        return out


def check_room(most, nodes):
    """Raise ValueError where contributions would take gigabytes of scratch space.

    Parameters
    ----------
    most : int64 (n_trees,), the most different features on a way of each tree
    nodes : of the largest tree
    """
    deepest = int(most.max(initial=0))
    if deepest * max(nodes, len(most)) > MOST_ROOM:
        raise ValueError(
            f"a tree asks {deepest} different features on one way: contributions of trees so deep "
            "take too much memory"
        )


def make_scratch(nodes, points):
    """Return space for a tree."""
    table = (nodes, points)
    factors, worths = np.empty((2, 2, *table))
    products, sums = np.empty((2, *table))
    stands, to_left = np.zeros((2, nodes), np.int64)
    return Scratch(factors, worths, products, sums, stands, to_left)


def quadrature(counts):
    """Return Gauss–Legendre's `Points` on 0 … 1, as many as each tree needs."""
    most = int(counts.max(initial=1))
    t, weight = np.zeros((2, len(counts), most))
    for count in np.unique(counts[counts > 0]).tolist():
        at, own = np.polynomial.legendre.leggauss(count)
        t[counts == count, :count] = (at + 1.0) / 2.0
        weight[counts == count, :count] = own / 2.0
    return Points(t, weight, counts.astype(np.int64))


def find_edges(e):
    """Return what is asked about the way to every node.

    Returns
    -------
    edges : EDGE (n_nodes,)
    depth : int64 (n_nodes,), how many features are asked
    reach : float64 (n_nodes,), which share of the rows comes there, by the covers
    """
    start = np.repeat(e.offsets[:-1], np.diff(e.offsets))
    inner = np.flatnonzero(e.left >= 0)
    parent = np.full(e.n_nodes, -1)  # here a number of the whole ensemble
    parent[e.left[inner]] = parent[e.right[inner]] = inner
    edges = np.zeros(e.n_nodes, EDGE)
    edges["is_inner"][inner] = 1
    edges["is_left"][e.left[inner]] = 1
    ends = np.flatnonzero(parent >= 0)
    above = parent[ends]
    edges["parent"][ends] = above - start[ends]
    edges["feature"][ends] = e.feature[above]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(e.cover[above] > 0, e.cover[ends] / e.cover[above], 0.0)
    edges["ratio"][ends] = ratio
    before = last_of_feature(e.feature, parent)
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
    """Return the end of the last edge above each one that asks the same feature, or −1."""
    found = np.full(len(parent), -1)
    open_ = np.flatnonzero(parent >= 0)
    at = parent[open_]  # the end of the edge that is looked at
    while len(open_):
        is_edge = parent[at] >= 0
        open_, at = open_[is_edge], at[is_edge]
        same = feature[parent[at]] == feature[parent[open_]]
        found[open_[same]] = at[same]
        open_, at = open_[~same], parent[at[~same]]
    return found


def levels(e):
    """Yield the nodes of all trees level by level, from the one below the roots on."""
    level = e.offsets[:-1]
    while len(level):
        inner = level[e.left[level] >= 0]
        level = np.concatenate([e.left[inner], e.right[inner]])
        yield level


def mean_scores(e, reach, values):
    """Return the mean score of each output by the covers, without the base."""
    found = np.zeros(e.n_outputs)
    leaves = np.flatnonzero(e.left < 0)
    tree = np.repeat(np.arange(e.n_trees), np.diff(e.offsets))[leaves]
    for k in range(values.shape[1]):
        np.add.at(found, e.output[tree] + k, reach[leaves] * values[leaves, k])
    return found
