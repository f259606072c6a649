"""The names that the suite runs over: a list, never the registry itself.

asv addresses a case by its place in the list, and reads the list at one commit for all commits:
a list made from the registry would give one algorithm's times the name of another. A new name may
stand anywhere. `tests/benchmarks/test_names.py` says what is missing.
"""

CLASSIFIERS = [
    "sklearn.adaboost",
    "sklearn.bagging",
    "sklearn.decision_tree",
    "sklearn.gradient_boosting",
    "sklearn.hist_gradient_boosting",
    "sklearn.random_forest",
]
REGRESSORS = [
    "sklearn.adaboost",
    "sklearn.bagging",
    "sklearn.decision_tree",
    "sklearn.gradient_boosting",
    "sklearn.hist_gradient_boosting",
    "sklearn.random_forest",
]

CLASSIFICATION = ["breast_cancer", "digits", "hastie"]
REGRESSION = ["diabetes", "friedman1"]
