"""Common parameters of the harness and the boosters' own ones, for boosting and for ranking."""

from harness import Argument

HISTOGRAM_BOOSTING = {
    "trees": Argument("n_estimators"),
    "rate": Argument("learning_rate"),
    "depth": Argument("max_depth", convert=lambda depth: depth or -1),
    "leaves": Argument("num_leaves"),
    "bins": Argument("max_bin"),
    "min_samples": Argument("min_child_samples", "approximate", "of estimated counts"),
    "min_hessian": Argument("min_child_weight"),
    "l2": Argument("reg_lambda"),
}
NEWTON_BOOSTING = {
    "trees": Argument("n_estimators"),
    "rate": Argument("learning_rate"),
    "depth": Argument("max_depth", convert=lambda depth: depth or 0),
    "leaves": Argument("max_leaves", "approximate", "exact with grow_policy=lossguide"),
    "bins": Argument("max_bin"),
    "min_samples": Argument("", "impossible", "it counts hessians, not rows: see min_hessian"),
    "min_hessian": Argument("min_child_weight"),
    "l2": Argument("reg_lambda"),
}
SYMMETRIC_BOOSTING = {
    "trees": Argument("n_estimators"),
    "rate": Argument("learning_rate"),
    "depth": Argument("depth", "approximate", "every node of a level has the same split"),
    "leaves": Argument("", "impossible", "a symmetric tree of depth d has 2^d leaves"),
    "bins": Argument("border_count", convert=lambda bins: bins - 1),
    "min_samples": Argument("", "impossible", "not applied to symmetric trees"),
    "min_hessian": Argument("", "impossible", "not applied to symmetric trees"),
    "l2": Argument("l2_leaf_reg", "approximate", "scaled by the mean row weight"),
}
