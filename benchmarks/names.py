"""Names of the algorithms and datasets of the suite, as lists instead of registry queries.

asv addresses a case by its place in the lists, and reads them at one commit for all commits: a
list made from the registry would give one algorithm's times the name of another. A new name may
stand anywhere. `tests/benchmarks/test_suite.py` says which are missing.
"""

ALGORITHMS = [
    "adaboost",
    "bagging",
    "catboost.plain",
    "catboost.ranking",
    "cross_fitted_boosting",
    "decision_tree",
    "gradient_boosting",
    "histogram_boosting",
    "histogram_ranking",
    "lightgbm.gbdt",
    "lightgbm.goss",
    "lightgbm.lambdarank",
    "lightgbm.quantised",
    "newton_boosting",
    "newton_ranking",
    "random_forest",
    "sklearn.adaboost",
    "sklearn.bagging",
    "sklearn.decision_tree",
    "sklearn.gradient_boosting",
    "sklearn.hist_gradient_boosting",
    "sklearn.random_forest",
    "stacking",
    "symmetric_boosting",
    "symmetric_ranking",
    "voting",
    "xgboost.approx",
    "xgboost.exact",
    "xgboost.hist",
    "xgboost.ranking",
]
DATASETS = ["breast_cancer", "diabetes", "digits", "friedman1"]
