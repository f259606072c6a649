"""Variants of an algorithm's params that compile additional kernels: see `Algorithm.variants`.

`harness doctor --deep` runs them to compile all kernels. They cover the ways of growing trees, not
accuracy: there are few rounds, and shares are large enough for a table of sixty rows.
"""

PARITY = {"parity": "scikit-learn"}
TREE = ({"ccp_alpha": 0.01}, PARITY)
ENSEMBLE = (PARITY,)
GRADIENT_BOOSTING = ({"n_estimators": 3, "subsample": 0.5}, {"n_estimators": 3, **PARITY})
NEWTON_BOOSTING = tuple(
    {"n_estimators": 3, **params}
    for params in (
        {"tree_method": "exact"},
        {"tree_method": "exact", "max_depth": 0, "subsample": 0.5},
        {"tree_method": "approx", "max_bin": 8},
        {"tree_method": "approx", "proposal": "local", "max_bin": 8},
        {"colsample_bynode": 0.5},
        {"multi_strategy": "multi_output_tree"},
        {"parity": "xgboost", "max_bin": 8},
        {"parity": "xgboost", "tree_method": "approx", "max_bin": 8},
        {"parity": "xgboost", "tree_method": "exact"},
    )
)
HISTOGRAM_BOOSTING = tuple(
    {"n_estimators": 3, "min_child_samples": 5, **params}
    for params in (
        {"data_sample_strategy": "goss", "learning_rate": 1.0},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5},
        {"boosting_type": "dart", "extra_trees": True, "reg_alpha": 0.1},
        {"linear_tree": True},
        {"linear_tree": True, "subsample": 0.5, "subsample_freq": 1},
        {"parity": "lightgbm"},
        PARITY,
    )
)
CATBOOST = {"parity": "catboost", "bootstrap_type": "No", "random_strength": 0}
SYMMETRIC_BOOSTING = tuple(
    {"n_estimators": 3, **params}
    for params in (
        {"bootstrap_type": "Bernoulli", "rsm": 0.5, "score_function": "L2"},
        {"leaf_estimation_iterations": 3},
        {"max_ctr_complexity": 2, "simple_ctr": ("Borders", "BinarizedTargetMeanValue")},
        {"boosting_type": "Ordered"},
        {**CATBOOST, "leaf_estimation_backtracking": "No", "has_time": True},
    )
)
