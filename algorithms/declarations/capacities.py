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
