"""Fitted tree: arrays with scikit-learn's names, and methods that read them."""

import numpy as np
from scipy.sparse import csr_array, issparse

from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.categorical_predict import find_leaves_by_sets
from algorithms.prediction.kernels.predict import STEP, find_leaves, has_missing, pack_steps
from algorithms.runtime.threads import Workers, threads_worth
from algorithms.trees.categorical_growth import pack_sets
from algorithms.trees.presorted_table import row_blocks

VALUES_A_STEP = 2  # values that can be checked for NaN in the extra time of a NaN check in one step
ROWS_AT_ONCE = 1 << 19  # a fraction of a second; Ctrl-C is handled between blocks
ROWS_OF_A_THREAD = 4096  # minimum rows per thread; fewer do not pay for starting it


def may_have_missing(X, first, last, steps):
    """Return whether rows first … last − 1 of X may have missing values, for a walk of ``steps``.

    If checking many values costs more than the walk saves, return True without checking.
    """
    return X.shape[1] > VALUES_A_STEP * steps or has_missing(X, first, last)


class Tree:
    """One grown tree; arrays have one entry per node, parents come before their children.

    Attributes
    ----------
    node_count, max_depth, n_features, n_outputs, max_n_classes : int
    children_left, children_right : int32, -1 at leaves
    feature : int32, -2 at leaves
    threshold : float64, -2 at leaves; rows with x ≤ threshold go left
    missing_go_to_left : bool, whether missing values go left
    impurity, weighted_n_node_samples : float64
    n_node_samples : int64
    value : float64 (node_count, n_outputs, max_n_classes), shares of classes or means
    values : float64 (node_count, n_outputs * max_n_classes), the same numbers
    sets : dict, node → (codes, ascending int32, whether they go left)
        Categorical splits, whose thresholds are not used; all other codes go to the other side.
    """

    n_outputs = 1  # of trees that were pickled by versions without several outputs

    def __init__(
        self, nodes, values, *, n_features, is_classifier, max_depth, sets=None, n_outputs=1
    ):
        self.nodes = nodes
        self.values = values
        self.n_features = n_features
        self.is_classifier = is_classifier
        self.max_depth = max_depth
        self.n_outputs = n_outputs
        self.sets = {} if sets is None else sets
        self._steps = None

    def __getstate__(self):
        return {**self.__dict__, "_steps": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        # kernels read arrays of this machine's byte order only
        self.nodes, self.values = (
            array.astype(array.dtype.newbyteorder("="), copy=False)
            for array in (self.nodes, self.values)
        )

    @property
    def node_count(self):
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def capacity(self):
        """Return the number of nodes that the arrays hold; as `node_count`."""
        return len(self.nodes)

    @property
    def n_leaves(self):
        """Return the number of leaves."""
        return int(np.count_nonzero(self.children_left < 0))

    @property
    def max_n_classes(self):
        """Return the number of values of an output."""
        return self.values.shape[1] // self.n_outputs

    @property
    def n_classes(self):
        """Return the number of values of each output."""
        return np.full(self.n_outputs, self.max_n_classes)

    children_left = property(lambda self: self.nodes["left"])
    children_right = property(lambda self: self.nodes["right"])
    feature = property(lambda self: self.nodes["feature"])
    threshold = property(lambda self: self.nodes["threshold"])
    impurity = property(lambda self: self.nodes["impurity"])
    n_node_samples = property(lambda self: self.nodes["n"])
    weighted_n_node_samples = property(lambda self: self.nodes["weight"])
    missing_go_to_left = property(lambda self: self.nodes["missing_left"].astype(bool))
    value = property(lambda self: self.values.reshape(self.node_count, self.n_outputs, -1))

    @property
    def steps(self):
        """Return the nodes in the layout used for prediction; computed on first use.

        Returns
        -------
        STEP (node_count,), and uint32 (node_count,), the node of each step
        """
        if self._steps is None:
            steps = np.empty(self.node_count, STEP)
            place, order = np.empty((2, self.node_count), np.uint32)
            pack_steps(self.nodes, place, steps, order)
            self._steps = steps, order.copy()
        return self._steps

    def apply(self, X, threads=1):
        """Return the leaf of each row, int64 (n_rows,).

        Parameters
        ----------
        X : (n_rows, n_features) C-contiguous float32, or sparse
        threads : int, maximum number of threads

        Raises
        ------
        ValueError
            If X has a different number of columns.
        """
        check_columns(X, self.n_features)
        if issparse(X):
            return np.concatenate([self.apply(block, threads) for block in row_blocks(X)])
        leaves = np.empty(len(X), np.int64)
        steps, order = self.steps
        if self.sets:
            sets, bits = pack_sets(self.sets, self.node_count)
            sets = sets[order]

        def walk(first, last):
            if self.sets:
                find_leaves_by_sets(steps, order, sets, bits, X, leaves, first, last)
            else:
                missing = may_have_missing(X, first, last, self.max_depth)
                find_leaves(steps, order, X, missing, leaves, first, last)

        with Workers(threads_worth(threads, len(X), ROWS_OF_A_THREAD)) as workers:
            workers.share_steps(walk, len(X), ROWS_AT_ONCE)
        return leaves

    def predict(self, X, threads=1):
        """Return the value of each row's leaf, float64 (n_rows, n_values)."""
        return self.values.take(self.apply(X, threads), axis=0)

    @property
    def parent(self):
        """Return the parent of each node, int64; -1 at the root."""
        parent = np.full(self.node_count, -1, np.int64)
        inner = np.flatnonzero(self.children_left >= 0)
        parent[self.children_left[inner]] = inner
        parent[self.children_right[inner]] = inner
        return parent

    def compute_node_depths(self):
        """Return the number of nodes on the path from the root to each node, inclusive, int64."""
        parent = self.parent
        depths = np.ones(self.node_count, np.int64)
        for node in range(1, self.node_count):
            depths[node] = depths[parent[node]] + 1
        return depths

    def decision_path(self, X):
        """Return the nodes that each row passes: CSR of ones (n_rows, node_count)."""
        at = self.apply(X)
        parent = self.parent
        ends = np.cumsum(self.compute_node_depths()[at])
        indices = np.empty(ends[-1] if len(ends) else 0, np.int64)
        place = ends - 1
        while len(at):  # from the leaves up, all rows one step at a time
            indices[place] = at
            at = parent[at]
            alive = at >= 0
            at, place = at[alive], place[alive] - 1
        indptr = np.concatenate([[0], ends])
        shape = (X.shape[0], self.node_count)
        return csr_array((np.ones(len(indices), np.int64), indices, indptr), shape=shape)

    def compute_feature_importances(self, normalize=True):
        """Return the decrease of impurity by each feature's splits, weighted by rows."""
        inner = self.children_left >= 0
        spread = self.weighted_n_node_samples * self.impurity
        left, right = spread[self.children_left[inner]], spread[self.children_right[inner]]
        gain = spread[inner] - left - right
        importances = np.bincount(self.feature[inner], weights=gain, minlength=self.n_features)
        importances = importances / self.weighted_n_node_samples[0]
        total = importances.sum()
        return importances / total if normalize and total > 0.0 else importances

    def common(self, columns=None):
        """Return the tree in the harness's format.

        Parameters
        ----------
        columns : (n_features,) int array, optional
            Column of X of each feature, if the tree was trained on some columns only.
        """
        from harness import Missing
        from harness import Tree as CommonTree

        inner = self.children_left >= 0
        feature = np.where(inner, self.feature, 0)
        if columns is not None:
            feature = np.asarray(columns)[feature]
        spread = self.weighted_n_node_samples * self.impurity
        sides = spread[self.children_left] + spread[self.children_right]
        return CommonTree(
            feature=np.where(inner, feature, -1).astype(np.int32),
            threshold=self.threshold,
            left=self.children_left,
            right=self.children_right,
            value=self.values,
            default_left=self.missing_go_to_left,
            missing=np.full(self.node_count, Missing.NAN, np.uint8),
            gain=np.where(inner, spread - sides, 0.0) / self.weighted_n_node_samples[0],
            cover=self.weighted_n_node_samples,
            sets={node: (codes.tolist(), to_left) for node, (codes, to_left) in self.sets.items()},
        )
