"""Boosting with LightGBM's arithmetic: ``parity="lightgbm"`` of the histogram boosters.

The rules are those of LightGBM 4.7.0 (`estimator.library_versions`) with ``deterministic=True,
force_col_wise=True, num_threads=1, enable_bundle=False, feature_pre_filter=False``, from the
sample of rows for binning to the order in which scores are summed. So the model is bitwise that of
LightGBM.
"""

from dataclasses import replace

import numpy as np

from algorithms.gbdt.forced_splits import find_forced_bins
from algorithms.gbdt.linear_leaves import LinearLeafFitter, call_once
from algorithms.gbdt.params import read_feature_contri
from algorithms.parity.grown_tree import rows_of_leaves
from algorithms.parity.kernels.leafwise import NODE
from algorithms.parity.kernels.lightgbm_arrays import EPSILON, Rules
from algorithms.parity.kernels.lightgbm_gradient import (
    differentiate_by_lightgbm,
    differentiate_classes_by_lightgbm,
    link_by_lightgbm,
)
from algorithms.parity.lightgbm_binning import find_feature_bins, sample_rows
from algorithms.parity.lightgbm_grower import Grower
from algorithms.parity.lightgbm_objectives import (
    FOLLOWED,
    first_scores,
    is_trained,
    quantile_of,
    share_of,
)
from algorithms.parity.lightgbm_parameters import as_read
from algorithms.parity.lightgbm_ranking import LightGBMRanking

__all__ = ["FOLLOWED", "FOLLOWED_PARAMS", "to_probabilities", "train"]

FOLLOWED_PARAMS = (
    *("num_leaves", "max_depth", "learning_rate", "n_estimators", "class_weight", "random_state"),
    *("subsample_for_bin", "max_bin", "min_data_in_bin", "categorical_feature"),
    *("min_split_gain", "min_child_weight", "min_child_samples", "reg_alpha", "reg_lambda"),
    *("max_delta_step", "path_smooth", "boost_from_average", "linear_tree", "linear_lambda"),
    *("cat_smooth", "cat_l2", "max_cat_threshold", "max_cat_to_onehot", "min_data_per_group"),
)
ZERO = float(np.float32(1e-35))  # values up to this absolute value are rounded to 0
SAMPLE_SEED = 1  # if no seed is given
SHORT = 0x7FFF  # exclusive upper bound of derived seeds
MAX_CODE = 2.0**31


def train(params, X, y, weight):
    """Return the rounds of trees, each a list of `harness.Tree`, and the base scores, zeros.

    Parameters
    ----------
    params : the estimator
    X : (n_rows, n_features) float32 or float64, NaN where missing
    y : (n_rows,) class codes or values
    weight : (n_rows,) float64 or None
    """
    objective, is_categorical = params._objective, params._is_categorical  # noqa: SLF001 - its own part
    objective = replace(objective, constant=as_read(objective.constant))
    X = X.astype(np.float64, copy=False)
    if (np.abs(X[:, is_categorical]) >= MAX_CODE).any():
        raise ValueError("categories need codes below 2³¹ with parity='lightgbm'")
    sample = X[sample_rows(len(X), params.subsample_for_bin, sample_seed(params.random_state))]
    bins = [
        find_feature_bins(sample[:, f], is_categorical[f], params.max_bin, params.min_data_in_bin)
        for f in range(X.shape[1])
    ]
    targets = objective.targets(y).astype(np.float32)
    weight = None if weight is None else weight.astype(np.float32)
    splits = params._read_forced_splits()  # noqa: SLF001 - its own part
    forced = find_forced_bins(splits, lambda f, value: int(bins[f].number(np.array([value]))[0]))
    factors = read_feature_contri(params.feature_contri, X.shape[1])
    grower = Grower(bins, X, make_rules(params), forced, factors)
    boosting = Boosting(params, objective, grower, targets, weight)
    if params.linear_tree:
        penalty = as_read(params.linear_lambda)
        boosting.linear = LinearLeafFitter(X, is_categorical, penalty, like_lightgbm=True)
    rounds = []
    for number in range(params.n_estimators):
        trees, grown = boosting.boost(first=number == 0)
        if grown or number == 0:  # constants of the first round may change the scores
            rounds.append(trees)
        else:
            break
    return rounds, np.zeros(objective.n_scores)


def make_rules(params):
    """Return the kernels' rules."""
    path_smooth, min_child_weight = as_read(params.path_smooth), as_read(params.min_child_weight)
    least = int(params.min_child_samples)
    if least == 0 and min_child_weight <= EPSILON:  # LightGBM rejects this combination
        least = 1
    return Rules(
        num_leaves=int(params.num_leaves),
        max_depth=int(params.max_depth or -1),
        min_child_samples=max(least, 2) if path_smooth > EPSILON else least,
        min_child_weight=min_child_weight,
        reg_alpha=as_read(params.reg_alpha),
        reg_lambda=as_read(params.reg_lambda),
        min_split_gain=as_read(params.min_split_gain),
        max_delta_step=as_read(params.max_delta_step),
        path_smooth=path_smooth,
        cat_smooth=as_read(params.cat_smooth),
        cat_l2=as_read(params.cat_l2),
        max_cat_threshold=int(params.max_cat_threshold),
        max_cat_to_onehot=int(params.max_cat_to_onehot),
        min_data_per_group=int(params.min_data_per_group),
    )


def sample_seed(random_state):
    """Return the seed for the sample of rows, derived from ``random_state`` as in LightGBM."""
    if random_state is None:
        return SAMPLE_SEED
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return (((214013 * int(random_state) + 2531011) >> 16) & SHORT) % SHORT


class Boosting:
    """Boosting state: scores, gradients and hessians of all rows.

    Parameters
    ----------
    params : the estimator
    objective : gbdt.objectives.Objective
    grower : Grower
    y : float32 (n_scores, n_rows), or (1, n_rows) of class codes for softmax
    weight : float32 (n_rows,) or None
    """

    def __init__(self, params, objective, grower, y, weight):
        self.params, self.objective, self.grower = params, objective, grower
        self.rate = as_read(params.learning_rate)
        self.y, self.weight = y, weight
        self.weights = np.empty(0, np.float32) if weight is None else weight
        self.score = np.zeros((objective.n_scores, y.shape[1]))
        self.g, self.h = np.empty((2, *self.score.shape), np.float32)
        self.first = first_scores(objective, y, weight)
        self.trained = is_trained(objective, y, weight)
        self.linear = None  # LinearLeafFitter
        self.ranking = None
        if objective.is_ranking:
            bounds = params._bounds  # noqa: SLF001 - its own part
            self.ranking = LightGBMRanking(objective, y[0], self.weights, bounds)

    def boost(self, first):
        """Return the trees of a round, and whether any of them has a split."""
        base = self.first if first else np.zeros(len(self.score))
        if first and self.params.boost_from_average:
            base = np.where(np.abs(base) > EPSILON, base, 0.0)
            self.score += base[:, None]
        self.differentiate()
        trees, grown = [], False
        for k in range(len(self.score)):
            given = base[k] if self.params.boost_from_average else 0.0
            tree = self.grow(k, given, has_constant_leaves=first or self.linear is None)
            grown |= tree is not None
            trees.append(self.constant(k, base[k]) if tree is None else tree)
        return trees, grown

    def differentiate(self):
        """Compute g and h from the current scores."""
        objective = self.objective
        if self.ranking is not None:
            self.ranking.write(self.score[0], self.g[0], self.h[0])
            return
        if objective.kind is None:
            p = np.empty(len(self.score))
            differentiate_classes_by_lightgbm(
                self.score, self.y[0], self.weights, p, self.g, self.h
            )
            return
        for k in range(len(self.score)):
            differentiate_by_lightgbm(
                objective.kind,
                objective.constant,
                self.score[k],
                self.y[k],
                self.weights,
                self.g[k],
                self.h[k],
            )

    def grow(self, k, base, *, has_constant_leaves):
        """Grow the tree of one score and add it to the score; return None if it has no split."""
        if not self.trained[k]:
            return None
        nodes, goes_left = self.grower.grow(self.g[k], self.h[k])
        if len(nodes) == 1:
            return None
        value = nodes["value"]
        linear = None if has_constant_leaves else self.fit_linear_leaves(k, nodes)
        leaves = rows_of_leaves(self.grower)
        if self.objective.renewed is not None:
            for node, rows in leaves:
                value[node] = self.renewed(k, rows)
        value[:] = round_to_zero(value * self.rate)
        if linear is not None:
            self.add_linear_leaves(k, value, linear, leaves)
            return replace(self.grower.to_tree(nodes, goes_left), linear=linear)
        for node, rows in leaves:
            self.score[k, rows] += value[node]
        if abs(base) > EPSILON:
            value[:] = round_to_zero(value + base)
        return self.grower.to_tree(nodes, goes_left)

    def fit_linear_leaves(self, k, nodes):
        """Return the `harness.LinearLeaves` of the last tree, times the learning rate."""
        from harness import LinearLeaves

        given = self.grower.grown_leaves(), self.g[k], self.h[k], call_once
        linear = LinearLeaves(*self.linear.fit(nodes, *given))
        for outputs in (linear.constant, linear.coefficient):
            outputs[:] = round_to_zero(outputs * self.rate)
        return linear

    def add_linear_leaves(self, k, value, linear, leaves):
        """Add the outputs of linear leaves to the score.

        Parameters
        ----------
        value : (n_nodes,), output of rows with a missing value
        linear : harness.LinearLeaves
        leaves : list of (node, rows)
        """
        for node, rows in leaves:
            leaf = np.full(len(rows), node)
            self.score[k, rows] += linear.outputs(value, leaf, self.linear.values[rows])

    def renewed(self, k, rows):
        """Return the quantile of the residuals of some rows."""
        residuals = self.y[k, rows].astype(np.float64) - self.score[k, rows]
        weight = None if self.weight is None else self.weight[rows]
        value = quantile_of(residuals, weight, share_of(self.objective))
        return 0.0 if abs(value) <= ZERO else value

    def constant(self, k, value):
        """Return a tree with a single leaf; without ``boost_from_average``, add it to the score."""
        if not self.params.boost_from_average:
            self.score[k] += value
        nodes = np.zeros(1, NODE)
        nodes["left"], nodes["value"], nodes["count"] = -1, value, self.score.shape[1]
        return self.grower.to_tree(nodes, np.zeros((1, 1), np.uint8))


def round_to_zero(values):
    """Return values, with those that LightGBM treats as zero replaced by 0."""
    return np.where(np.abs(values) <= ZERO, 0.0, values)


def to_probabilities(score, link):
    """Return LightGBM's probabilities of raw scores, float64 (n_rows, n_scores)."""
    out = np.empty(score.shape[::-1])
    link_by_lightgbm(np.ascontiguousarray(score.T), link == "softmax", out)
    return out.T
