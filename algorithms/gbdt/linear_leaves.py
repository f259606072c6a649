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
    LeafTerms,
    LinearModels,
    LinearOutputs,
    LinearRules,
    LinearWork,
    RegressionRows,
    UpdatedScores,
    add_linear_leaves,
    count_path_terms,
    fit_leaves,
    index_by_node,
    list_path_terms,
)
from algorithms.gbdt.phase_timer import SCORES, timed_phase

NO_UPDATE = UpdatedScores(np.empty(0), np.empty(0), 1.0)


class GrownLeaves(NamedTuple):
    """Leaves of a grown tree, and the rows that it was grown on."""

    nodes: np.ndarray  # int64 (n_leaves,), node of each leaf
    rows: np.ndarray  # uint32, rows by leaf
    spans: np.ndarray  # int64 (n_leaves, 2), start and end of each leaf in ``rows``

    @classmethod
    def of(cls, leaves, rows):
        """Return the `GrownLeaves` of a kernel's leaves, with fields node, start and end."""
        spans = np.empty((len(leaves), 2), np.int64)
        spans[:, 0], spans[:, 1] = leaves["start"], leaves["end"]
        return cls(leaves["node"], rows, spans)


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
        self.spare_work = []  # LinearWork that no thread uses

    def fit(self, nodes, leaves, g, h, share, score=NO_UPDATE.score, learning_rate=1.0):
        """Return the `LeafModels` of a tree; leaves without a model keep their values.

        The outputs are added to the scores too, which takes less time than `add_to` does, because
        the values of the rows have been read for the regressions.

        Parameters
        ----------
        nodes : structured array with left, right, feature and value
        leaves : GrownLeaves
        g, h : float32 (n_rows,); an empty h means ones
        share : callable (task, count), runs task(first, last) on ranges that cover 0 … count − 1
        score : float64 (n_rows,), updated; (0,): none
        learning_rate : float, factor of the outputs that are added to the scores
        """
        order = np.argsort(leaves.nodes)
        leaf_nodes = np.ascontiguousarray(leaves.nodes[order], np.int64)
        start, feature = self._list_terms(nodes, leaf_nodes)
        leaves = GrownLeaves(leaf_nodes, leaves.rows, leaves.spans[order])
        updated = UpdatedScores(score, nodes["value"][leaf_nodes], float(learning_rate))
        models = self.fit_terms(leaves, start, feature, g, h, share, updated)
        starts = np.empty(len(nodes) + 1, np.int64)
        by_node = nodes["value"].copy(), starts, np.empty_like(feature), np.empty(len(feature))
        own = LeafTerms(leaves.rows, leaves.spans, start, feature)
        n_terms = index_by_node(own, leaf_nodes, models, by_node)
        return LeafModels(*by_node[:2], *(terms[:n_terms] for terms in by_node[2:]))

    def fit_terms(self, leaves, start, feature, g, h, share, updated=NO_UPDATE):
        """Return the constants and coefficients of leaves with given terms.

        Parameters
        ----------
        leaves : GrownLeaves
        start : int64 (n_leaves + 1,), start of each leaf's terms
        feature : int32 (n_terms,), ascending within a leaf
        g, h, share : as in `fit`
        updated : UpdatedScores

        Returns
        -------
        constant : float64 (n_leaves,), NaN if the leaf keeps its value
        coefficient : float64 (n_terms,)
        """
        has_missing = bool(self.has_missing[feature].any())
        rules = LinearRules(self.linear_lambda, self.like_lightgbm, has_missing)
        models = LinearModels(np.empty(len(leaves.nodes)), np.empty(len(feature)))
        spans = np.ascontiguousarray(leaves.spans, np.int64)
        given = RegressionRows(self.values, g, h), LeafTerms(leaves.rows, spans, start, feature)
        n_terms, n_rows = start[1:] - start[:-1], spans[:, 1] - spans[:, 0]
        sizes = n_terms.max() + 1, n_rows.max() if has_missing else 0, (n_terms * n_rows).max()

        def fit(first, last):
            work = self._take_work(*sizes)
            fit_leaves(*given, rules, work, models, updated, first, last)
            self.spare_work.append(work)

        share_by_rows(share, fit, n_rows)
        return models

    def _take_work(self, n_unknowns, n_rows, n_values):
        """Return the scratch space of one thread, for leaves of at most this size."""
        try:
            work = self.spare_work.pop()
        except IndexError:
            return make_work(n_unknowns, n_rows, n_values)
        had = len(work.moments), len(work.complete), len(work.values)
        needed = n_unknowns, n_rows, n_values
        if all(size >= need for size, need in zip(had, needed, strict=True)):
            return work
        return make_work(*map(max, had, needed))

    def _list_terms(self, nodes, leaf_nodes):
        """Return the start of each leaf's terms, and the features of all terms."""
        parent, start = np.empty(len(nodes), np.int64), np.empty(len(leaf_nodes) + 1, np.int64)
        seen = np.zeros(len(self.is_categorical), np.int64)
        given = nodes, self.is_categorical, leaf_nodes, parent
        count_path_terms(*given, seen, start)
        terms = np.empty(start[-1], np.int32)
        list_path_terms(*given, start, terms)
        return start, terms

    @timed_phase(SCORES)
    def add_to(self, score, leaf_of, tree, leaves, grower):
        """Add the outputs of a tree to the score of every row, if it was grown on some of them.

        Parameters
        ----------
        score : float64 (n_rows,)
        leaf_of : (n_rows,) uint16 or uint32, leaf of each row
        tree : object with ``nodes`` and the `LeafModels` ``linear``
        leaves : GrownLeaves
        grower : object with ``share_rows``, as in `Grower`
        """
        linear, nodes = tree.linear, leaves.nodes
        fallback = np.ascontiguousarray(tree.nodes["value"][nodes])
        ends = linear.start[nodes], linear.start[nodes + 1]
        outputs = LinearOutputs(linear.constant[nodes], fallback, *ends)
        given = self.values, outputs, linear.feature, linear.coefficient

        def add_rows(first, last):
            add_linear_leaves(score, leaf_of, *given, first, last)

        grower.share_rows(add_rows, len(score))


def share_by_rows(share, task, n_rows):
    """Run task(first, last) on ranges of leaves that have similar numbers of rows.

    Parameters
    ----------
    share : callable (task, count), runs task(first, last) on ranges that cover 0 … count − 1
    n_rows : int64 (n_leaves,), number of rows of each leaf
    """
    count = int(n_rows.sum()) + 1

    def run(first, last):
        if last - first == count:
            task(0, len(n_rows))
            return
        starts = np.cumsum(n_rows) - n_rows
        task(*np.searchsorted(starts, (first, last)).tolist())

    share(run, count)


def call_once(task, count):
    """Run a task over all of ``count`` items in the current thread."""
    task(0, count)


def make_work(n_unknowns, n_rows, n_values):
    """Return the scratch space of one thread, for leaves of at most this size."""
    return LinearWork(
        products=np.empty(n_unknowns * n_unknowns),
        moments=np.empty(n_unknowns),
        values=np.empty(n_values),
        block=np.zeros(BLOCK * (n_unknowns + COLUMNS)),
        g=np.empty(BLOCK),
        h=np.empty(BLOCK),
        weighted=np.empty(BLOCK),
        origin=np.empty(n_unknowns),
        scale=np.empty(n_unknowns),
        order=np.empty(n_unknowns, np.int64),
        complete=np.empty(n_rows, np.uint32),
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
