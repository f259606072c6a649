"""Losses of gradient boosting, and the interface of a custom loss.

A loss is any object with

    start(y, weight)              the constant score F that minimizes Σ w L: float64 (n_outputs,)
    negative_gradient(y, raw)     −dL/dF: float64 (n_rows, n_outputs), or (n_rows,) for one
    __call__(y, raw, weight)      Σ w L / Σ w, a float

and, optionally,

    n_outputs                     scores per row, and trees per round; 1 if absent
    begin_round(y, raw, weight)   called before each round, to set state that depends on residuals
    leaf_values(groups)           the best step of each leaf; by default found by line search
    predict(raw)                  a regressor's prediction; by default the score itself
    predict_proba(raw)            required for a classifier, float64 (n_rows, n_classes)
    link(proba)                   scores of a classifier's probabilities, for ``init`` estimators

``raw`` is float64 (n_rows, n_outputs), ``weight`` float64 (n_rows,) or None. For a classifier y
holds class codes, float64.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.boosting.kernels import losses as kernels
from algorithms.estimator.weighted_quantiles import rows_of_groups, weighted_quantile
from algorithms.levelwise.kernels.level_arrays import BLOCK_ROWS

NO_FLOATS = np.empty(0)
NO_FLAGS = np.empty(0, bool)
NO_ROWS = np.empty(0, np.uint32)
ALL_CLASSES = -1
MAX_SUMS = 1 << 20  # limit of nodes × blocks of rows; two floats each
HALF = 0.5


@dataclass(frozen=True)
class Groups:
    """The leaves of one tree, with the data needed to compute their steps.

    Attributes
    ----------
    leaf : integers (n_rows,), each row's leaf
    means : float64 (n_nodes,), the tree's own values
    used : bool (n_rows,) or None, the training rows of the tree
    y : float64 (n_rows,)
    raw, gradient : float64 (n_rows, n_outputs), scores and negative gradients
    output : int, the output that the tree belongs to
    weight : float64 (n_rows,) or None
    l2 : float, λ, penalty of squared leaf values
    as_library : bool, whether to sum in scikit-learn's order, bit for bit
    """

    leaf: np.ndarray
    means: np.ndarray
    used: np.ndarray | None
    y: np.ndarray
    raw: np.ndarray
    gradient: np.ndarray
    output: int
    weight: np.ndarray | None
    l2: float = 0.0
    as_library: bool = False

    def by_leaf(self):
        """Yield each leaf and its training rows."""
        return rows_of_groups(self.leaf, None if self.used is None else np.flatnonzero(self.used))


def share_in_caller(task, count):
    """Call a task for all parts, in the current thread."""
    task(0, count)


class KernelLoss:
    """A loss whose formulas are in `boosting/kernels/losses.py`.

    Attributes
    ----------
    share : callable that divides kernel work among threads; by default the current thread only
    """

    n_outputs = 1
    scale = 1.0  # scikit-learn's value of some losses is twice as large
    kind = -1
    factor = 1.0  # of the Newton steps of leaves
    inverse = "identity"  # function of (scores / temperature) that gives predictions
    temperature = 1.0

    def __init__(self, parameter=0.0):
        self.parameter = parameter
        self.share = share_in_caller

    def __getstate__(self):
        return {**self.__dict__, "share": share_in_caller}

    def begin_round(self, y, raw, weight):
        """Do nothing: no state depends on the residuals."""

    def negative_gradient(self, y, raw):
        """Return g, float64 (n_rows, n_outputs), Fortran order."""
        out, scores = np.empty((self.n_outputs, len(y))), np.ascontiguousarray(raw.T)

        def fill(first, last):
            kernels.fill_gradients(self.kind, self.parameter, y, scores, out, first, last)

        self.share(fill, count_blocks(y))
        return out.T

    def __call__(self, y, raw, weight=None):
        """Return the weighted mean of L."""
        sums, scores = np.empty((count_blocks(y), 2)), np.ascontiguousarray(raw.T)
        weight = NO_FLOATS if weight is None else weight

        def add(first, last):
            given = self.kind, self.parameter, y, scores, weight, NO_ROWS
            kernels.sum_losses(*given, sums, first, last)

        self.share(add, len(sums))
        total, weights = sums.sum(axis=0)
        return self.scale * total / weights

    def predict(self, raw):
        """Return the scores, float64 (n_rows,)."""
        return raw[:, 0]


def count_blocks(y):
    """Return the number of blocks of rows."""
    return -(-len(y) // BLOCK_ROWS)


def newton_steps(loss, groups, label=ALL_CLASSES):
    """Return Σ w g / (Σ w h + λ) of each leaf, times the loss's factor; 0 without curvature.

    Parameters
    ----------
    label : the class of the tree; ALL_CLASSES if y is used unchanged
    """
    if groups.as_library:
        g, h = average_leaves(loss, groups, label)
    else:
        g, h = sum_leaves(loss, groups, label)
    h = h + groups.l2
    flat = abs(h) < kernels.SMALLEST
    return np.where(flat, 0.0, loss.factor * g / np.where(flat, 1.0, h))


def sum_leaves(loss, groups, label):
    """Return Σ w g and Σ w h of each node, float64 (2, n_nodes).

    The choice between the two methods depends on rows and nodes only, never on threads.
    """
    if count_blocks(groups.y) * len(groups.means) > MAX_SUMS:
        return count_leaves(loss, groups, label)
    blocks = np.empty((count_blocks(groups.y), len(groups.means), 2))
    weight = NO_FLOATS if groups.weight is None else groups.weight
    used = NO_FLAGS if groups.used is None else groups.used
    gradient = np.ascontiguousarray(groups.gradient[:, groups.output])

    def add(first, last):
        kernels.sum_newton(
            loss.kind, label, groups.y, gradient, weight, used, groups.leaf, blocks, first, last
        )

    loss.share(add, len(blocks))
    return blocks.sum(axis=0).T


def count_leaves(loss, groups, label):
    """Return the same as `sum_leaves`, row by row: blocks would need too many sums."""
    rows = slice(None) if groups.used is None else np.flatnonzero(groups.used)
    leaf, gradient = groups.leaf[rows], groups.gradient[rows, groups.output]
    y = groups.y[rows] if label == ALL_CLASSES else (groups.y[rows] == label).astype(float)
    weight = 1.0 if groups.weight is None else groups.weight[rows]
    parts = gradient, loss.curvature(y, gradient)
    return np.stack([np.bincount(leaf, weight * part, len(groups.means)) for part in parts])


def average_leaves(loss, groups, label):
    """Return the means of g and h of each node, summed leaf by leaf as in scikit-learn."""
    g, h = np.zeros((2, len(groups.means)))
    for leaf, rows in groups.by_leaf():
        gradient = groups.gradient[rows, groups.output]
        y = groups.y[rows] if label == ALL_CLASSES else (groups.y[rows] == label).astype(float)
        weight = None if groups.weight is None else groups.weight[rows]
        g[leaf] = average(gradient, weight)
        h[leaf] = average(loss.curvature(y, gradient), weight)
    return g, h


def location_steps(groups, fit):
    """Return ``fit(residuals, weights)`` of each leaf; 0 at other nodes."""
    values = np.zeros(len(groups.means))
    raw = groups.raw[:, groups.output]
    for leaf, rows in groups.by_leaf():
        weight = None if groups.weight is None else groups.weight[rows]
        values[leaf] = fit(groups.y[rows] - raw[rows], weight)
    return values


def average(values, weight):
    """Return the weighted mean."""
    return np.average(values, weights=weight)


class SquaredError(KernelLoss):
    """½ (y − F)²; a leaf's step is the mean of its gradients, the tree's own value."""

    kind = kernels.SQUARED
    scale = 2.0

    def start(self, y, weight):
        """Return the mean."""
        return np.array([average(y, weight)])

    def leaf_values(self, groups):
        """Return the tree's means."""
        return groups.means


class LocationLoss(KernelLoss):
    """A loss of y − F whose best constant is a quantile, or close to one."""

    level = HALF

    def start(self, y, weight):
        """Return the quantile; an average of two values is possible if all weights are equal."""
        if weight is None:
            return np.array([np.percentile(y, 100.0 * self.level)])
        return np.array([weighted_quantile(y, weight, self.level)])

    def fit_constant(self, values, weight):
        """Return the best constant for residuals."""
        return weighted_quantile(values, weight, self.level)

    def leaf_values(self, groups):
        """Return the best constant of each leaf's residuals."""
        return location_steps(groups, self.fit_constant)


class AbsoluteError(LocationLoss):
    """|y − F|."""

    kind = kernels.ABSOLUTE


class Quantile(LocationLoss):
    """α r, or (α − 1) r if r = y − F is negative; minimized by the α-quantile."""

    kind = kernels.QUANTILE

    def __init__(self, alpha):
        super().__init__(alpha)
        self.level = alpha


class Huber(LocationLoss):
    """½ r², or δ (|r| − δ/2) if |r| > δ; δ is the α-quantile of all |r| in each round."""

    kind = kernels.HUBER

    def __init__(self, alpha):
        super().__init__(HALF)
        self.alpha = alpha

    def begin_round(self, y, raw, weight):
        """Set δ."""
        self.parameter = float(weighted_quantile(abs(y - raw[:, 0]), weight, self.alpha))

    def fit_constant(self, values, weight):
        """Return Friedman's single step from the median: the mean remainder, clipped at δ."""
        median = weighted_quantile(values, weight, HALF)
        rest = values - median
        return median + average(np.sign(rest) * np.minimum(self.parameter, abs(rest)), weight)


class Poisson(KernelLoss):
    """e^F − y F, for counts and rates y ≥ 0; the mean is e^F."""

    kind = kernels.POISSON
    inverse = "exp"

    def curvature(self, y, gradient):
        """Return h = e^F."""
        return y - gradient

    def start(self, y, weight):
        """Return the logarithm of the mean."""
        if (y < 0).any() or average(y, weight) <= 0.0:
            raise ValueError("loss='poisson' needs y ≥ 0, with a positive mean")
        return np.log([average(y, weight)])

    def leaf_values(self, groups):
        """Return one Newton step of each leaf."""
        return newton_steps(self, groups)

    def predict(self, raw):
        """Return e^F, float64 (n_rows,)."""
        return np.exp(raw[:, 0])
