"""Search spaces of the tuned track: one per algorithm, shared with its reference library.

A list holds the choices. ``low`` and ``high`` bound a number; it is an integer if both bounds are,
and on a logarithmic scale with ``log``. The ranges are about those of published studies of tuned
trees (Grinsztajn, Oyallon & Varoquaux 2022; McElfresh et al. 2023), narrowed for a search of ten
configurations.
"""

MIN_ROWS = {"low": 1, "high": 30, "log": True}  # rows per leaf
RATE = {"low": 0.02, "high": 0.3, "log": True}
ROUNDS = {"low": 50, "high": 400, "log": True}
SHARE = {"low": 0.5, "high": 1.0}
L2 = {"low": 0.01, "high": 10.0, "log": True}

TREE = {
    "max_depth": [3, 5, 8, 12, None],
    "min_samples_leaf": MIN_ROWS,
    "ccp_alpha": [0.0, 1e-4, 1e-3, 1e-2],
}
BAGGING = {
    "estimator__max_depth": [8, 16, None],
    "estimator__min_samples_leaf": MIN_ROWS,
    "max_samples": SHARE,
    "max_features": SHARE,
}
FOREST = {
    "max_depth": [8, 16, None],
    "min_samples_leaf": MIN_ROWS,
    "max_features": ["sqrt", 0.33, 0.66, 1.0],
}
ADABOOST = {
    "n_estimators": ROUNDS,
    "learning_rate": {"low": 0.05, "high": 2.0, "log": True},
    "estimator__max_depth": [1, 2, 3, 5, 8],
}
GRADIENT_BOOSTING = {
    "n_estimators": ROUNDS,
    "learning_rate": RATE,
    "max_depth": {"low": 2, "high": 8},
    "min_samples_leaf": MIN_ROWS,
    "subsample": SHARE,
}
HIST_GRADIENT_BOOSTING = {
    "max_iter": ROUNDS,
    "learning_rate": RATE,
    "max_leaf_nodes": {"low": 7, "high": 127, "log": True},
    "min_samples_leaf": {"low": 5, "high": 100, "log": True},
    "l2_regularization": L2,
}
NEWTON_BOOSTING = {
    "n_estimators": ROUNDS,
    "learning_rate": RATE,
    "max_depth": {"low": 2, "high": 10},
    "min_child_weight": {"low": 0.1, "high": 20.0, "log": True},
    "subsample": SHARE,
    "colsample_bytree": SHARE,
    "reg_lambda": L2,
}
HISTOGRAM_BOOSTING = {
    "n_estimators": ROUNDS,
    "learning_rate": RATE,
    "num_leaves": {"low": 7, "high": 127, "log": True},
    "min_child_samples": {"low": 5, "high": 100, "log": True},
    "colsample_bytree": SHARE,
    "reg_lambda": L2,
}
SYMMETRIC_BOOSTING = {
    "n_estimators": ROUNDS,
    "learning_rate": RATE,
    "depth": {"low": 3, "high": 8},
    "l2_leaf_reg": {"low": 1.0, "high": 30.0, "log": True},
}
YDF = {
    "num_trees": ROUNDS,
    "shrinkage": RATE,
    "max_depth": {"low": 2, "high": 10},
    "min_examples": {"low": 5, "high": 100, "log": True},
    "subsample": SHARE,
    "l2_regularization": L2,
}
