"""Linear leaves (``linear_tree``): ridge regressions on the features of each leaf's path.

Shi, Li, Li: Gradient boosting with piece-wise linear regression trees. IJCAI 2019. The rules are
those of LightGBM: the trees are grown as without linear leaves; the first tree of each score keeps
its constant leaves; `linear_lambda` penalizes the slopes; a row with a missing value in a feature
of its leaf gets the leaf's constant value. See `kernels.linear_leaves`.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.linear_leaves import (
    BLOCK,
    COLUMNS,
    LinearOutputs,
    LinearRules,
    LinearWork,
    add_leaf_by_leaf,
    add_linear_leaves,
    count_path_terms,
    fit_leaves,
    list_path_terms,
)
from algorithms.gbdt.phase_timer import SCORES, timed_phase


class GrownLeaves(NamedTuple):
    """Leaves of a grown tree, and the rows that it was grown on."""

    nodes: np.ndarray  # int64 (n_leaves,), node of each leaf
    rows: np.ndarray  # uint32, rows by leaf
    spans: np.ndarray  # int64 (n_leaves, 2), start and end of each leaf in ``rows``

    @classmethod
    def of(cls, leaves, rows):
        """Return the `GrownLeaves` of a kernel's leaves, with fields node, start and end."""
        return cls(leaves["node"], rows, np.stack([leaves["start"], leaves["end"]], axis=1))


class LeafModels(NamedTuple):
    """Linear models of the leaves of a tree, with the fields of `harness.LinearLeaves`.

    Unlike that class, this one does not check its arrays, which would take too long for each tree.
    """

    constant: np.ndarray  # float64 (n_nodes,)
    start: np.ndarray  # int64 (n_nodes + 1,), first term of each node
    feature: np.ndarray  # int32 (n_terms,)
    coefficient: np.ndarray  # float64 (n_terms,)


class LinearLeafFitter:
    """Fits the linear models of the leaves of one tree after another.

    Parameters
    ----------
    X : (n_rows, n_features) array or sparse matrix, NaN where missing
    is_categorical : bool (n_features,)
    linear_lambda : float
    like_lightgbm : bool
        Whether values, sums and equations are rounded as in LightGBM.
    """

    def __init__(self, X, is_categorical, linear_lambda, *, like_lightgbm=False):
        values = X.toarray() if sparse.issparse(X) else X
        if like_lightgbm:  # LightGBM stores the values in single precision
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        self.values = np.ascontiguousarray(values, np.float64)
        self.is_categorical = np.asarray(is_categorical, bool)
        self.linear_lambda, self.like_lightgbm = float(linear_lambda), like_lightgbm
        self.has_missing = np.isnan(self.values).any(axis=0)

    def fit(self, nodes, leaves, g, h, share):
        """Return the `LeafModels` of a tree; leaves without a model keep their values.

        Parameters
        ----------
        nodes : structured array with left, right, feature and value
        leaves : GrownLeaves
        g, h : float32 (n_rows,); an empty h means ones
        share : callable (task, count), runs task(first, last) on ranges that cover 0 … count − 1
        """
        order = np.argsort(leaves.nodes)
        leaf_nodes = np.ascontiguousarray(leaves.nodes[order], np.int64)
        start, feature = self._list_terms(nodes, leaf_nodes)
        leaves = GrownLeaves(leaf_nodes, leaves.rows, leaves.spans[order])
        constant, coefficient = self.fit_terms(leaves, start, feature, g, h, share)
        return self._index_by_node(nodes, leaf_nodes, constant, start, feature, coefficient)

    def fit_terms(self, leaves, start, feature, g, h, share):
        """Return the constants and coefficients of leaves with given terms.

        Parameters
        ----------
        leaves : GrownLeaves
        start : int64 (n_leaves + 1,), start of each leaf's terms
        feature : int32 (n_terms,), ascending within a leaf
        g, h, share : as in `fit`

        Returns
        -------
        constant : float64 (n_leaves,), NaN if the leaf keeps its value
        coefficient : float64 (n_terms,)
        """
        has_missing = bool(self.has_missing[feature].any())
        rules = LinearRules(self.linear_lambda, self.like_lightgbm, has_missing)
        coefficient, constant = np.empty(len(feature)), np.empty(len(leaves.nodes))
        spans = np.ascontiguousarray(leaves.spans, np.int64)
        given = self.values, g, h, leaves.rows, spans, start, feature, rules
        n_unknowns = int(np.diff(start).max()) + 1
        n_rows = int((spans[:, 1] - spans[:, 0]).max()) if has_missing else 0

        def fit(first, last):
            work = make_work(n_unknowns, n_rows)
            fit_leaves(*given, work, coefficient, constant, first, last)

        share_by_rows(share, fit, spans)
        return constant, coefficient

    def _list_terms(self, nodes, leaf_nodes):
        """Return the start of each leaf's terms, and the features of all terms."""
        inner = np.flatnonzero(nodes["left"] >= 0)
        parent = np.full(len(nodes), -1, np.int64)
        parent[nodes["left"][inner]] = parent[nodes["right"][inner]] = inner
        feature = np.full(len(nodes), -1, np.int64)
        split = nodes["feature"][inner]
        feature[inner] = np.where(self.is_categorical[split], -1, split)
        start = np.empty(len(leaf_nodes) + 1, np.int64)
        seen = np.zeros(len(self.is_categorical), np.int64)
        count_path_terms(parent, feature, leaf_nodes, seen, start)
        terms = np.empty(start[-1], np.int32)
        list_path_terms(parent, feature, leaf_nodes, start, terms)
        return start, terms

    @staticmethod
    def _index_by_node(nodes, leaf_nodes, constant, start, feature, coefficient):
        """Return the `LeafModels`, indexed by node, without the terms that are 0."""
        kept = coefficient != 0.0
        if not kept.all():
            start = np.concatenate([[0], np.cumsum(kept)])[start]
            feature, coefficient = feature[kept], coefficient[kept]
        start_of_node = np.zeros(len(nodes) + 1, np.int64)
        start_of_node[leaf_nodes + 1] = start[1:] - start[:-1]
        np.cumsum(start_of_node, out=start_of_node)
        constants = nodes["value"].copy()
        is_fitted = constant == constant  # noqa: PLR0124 - not NaN
        constants[leaf_nodes[is_fitted]] = constant[is_fitted]
        return LeafModels(constants, start_of_node, feature, coefficient)

    @timed_phase(SCORES)
    def add_to(self, score, leaf_of, tree, leaves, grower):
        """Add the outputs of a tree to the score of every row.

        Parameters
        ----------
        score : float64 (n_rows,)
        leaf_of : (n_rows,) uint16 or uint32, leaf of each row
        tree : object with ``nodes`` and the `LeafModels` ``linear``
        leaves : GrownLeaves
        grower : object with ``share_leaves`` and ``share_rows``, as in `Grower`
        """
        linear, nodes = tree.linear, leaves.nodes
        fallback = np.ascontiguousarray(tree.nodes["value"][nodes])
        ends = linear.start[nodes], linear.start[nodes + 1]
        outputs = LinearOutputs(linear.constant[nodes], fallback, *ends)
        given = self.values, outputs, linear.feature, linear.coefficient
        if len(leaves.rows) < len(score):

            def add_rows(first, last):
                add_linear_leaves(score, leaf_of, *given, first, last)

            grower.share_rows(add_rows, len(score))
            return

        def add_leaves(first, last):
            total = np.empty(BLOCK)
            add_leaf_by_leaf(score, leaves.rows, leaves.spans, *given, total, first, last)

        share_by_rows(grower.share_leaves, add_leaves, leaves.spans)


def share_by_rows(share, task, spans):
    """Run task(first, last) on ranges of leaves that have similar numbers of rows.

    Parameters
    ----------
    share : callable (task, count), runs task(first, last) on ranges that cover 0 … count − 1
    spans : int64 (n_leaves, 2), start and end of each leaf's rows
    """
    ends = np.cumsum(spans[:, 1] - spans[:, 0])
    starts = np.concatenate([[0], ends[:-1]])

    def run(first, last):
        task(*np.searchsorted(starts, (first, last)).tolist())

    share(run, int(ends[-1]) + 1)


def call_once(task, count):
    """Run a task over all of ``count`` items in the current thread."""
    task(0, count)


def make_work(n_unknowns, n_rows):
    """Return the scratch space of one thread, for leaves of at most this size."""
    return LinearWork(
        products=np.empty(n_unknowns * n_unknowns),
        moments=np.empty(n_unknowns),
        block=np.zeros(BLOCK * (n_unknowns + COLUMNS)),
        g=np.empty(BLOCK),
        h=np.empty(BLOCK),
        weighted=np.empty(BLOCK),
        origin=np.empty(n_unknowns),
        scale=np.empty(n_unknowns),
        order=np.empty(n_unknowns, np.int64),
        rows=np.empty(n_rows, np.uint32),
    )


def fitter_of(params, X, is_categorical):
    """Return the `LinearLeafFitter` of an estimator, or None without ``linear_tree``.

    Parameters
    ----------
    params : the estimator, with parameters divided by the unit of the weights
    X : (n_rows, n_features), the training rows
    """
    if not params.linear_tree:
        return None
    return LinearLeafFitter(X, is_categorical, params.linear_lambda)
