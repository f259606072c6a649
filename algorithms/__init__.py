"""Algorithms from scratch, one file each; an estimator's file is loaded when it is first used.

from algorithms import DecisionTreeClassifier
"""

import importlib

from algorithms.estimator.deferred_imports import import_sklearn

_HOME = {
    "AdaBoostClassifier": "adaboost",
    "AdaBoostRegressor": "adaboost",
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagging",
    "Batches": "gbdt.streamed_table",
    "BoostingClassifier": "cross_fitted_boosting",
    "BoostingRegressor": "cross_fitted_boosting",
    "DaskHistogramBoostingClassifier": "dask_histogram_boosting",
    "DaskHistogramBoostingRegressor": "dask_histogram_boosting",
    "DecisionTreeClassifier": "decision_tree",
    "DecisionTreeRegressor": "decision_tree",
    "GradientBoostingClassifier": "gradient_boosting",
    "GradientBoostingRegressor": "gradient_boosting",
    "HistGradientBoostingClassifier": "hist_gradient_boosting",
    "HistGradientBoostingRegressor": "hist_gradient_boosting",
    "HistogramBoostingClassifier": "histogram_boosting",
    "HistogramBoostingRanker": "histogram_ranking",
    "HistogramBoostingRegressor": "histogram_boosting",
    "NewtonBoostingClassifier": "newton_boosting",
    "NewtonBoostingRanker": "newton_ranking",
    "NewtonBoostingRegressor": "newton_boosting",
    "RandomForestClassifier": "random_forest",
    "RandomForestRegressor": "random_forest",
    "StackingClassifier": "stacking",
    "StackingRegressor": "stacking",
    "SymmetricBoostingClassifier": "symmetric_boosting",
    "SymmetricBoostingRanker": "symmetric_ranking",
    "SymmetricBoostingRegressor": "symmetric_boosting",
    "VotingClassifier": "voting",
    "VotingRegressor": "voting",
    "choose_rounds": "gradient_boosting",
    "plot_importance": "inspection.plotting",
    "plot_metric": "inspection.plotting",
    "plot_tree": "inspection.plotting",
    "read_model": "model_io.model_files",
    "serve": "prediction.serving",
    "TreeExplainer": "inspection.tree_explainer",
    "trees_of": "reference.trees_of",
    "write_model": "model_io.model_files",
}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_sklearn()
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
