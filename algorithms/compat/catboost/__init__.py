"""CatBoost's Python interface on our engine: ``import algorithms.compat.catboost as catboost``.

It does not import CatBoost. docs/moving.md says what differs.
"""

from algorithms.compat.catboost import utils
from algorithms.compat.catboost.combined_models import (
    sum_models,
    to_classifier,
    to_ranker,
    to_regressor,
)
from algorithms.compat.catboost.enums import (
    EFeaturesSelectionAlgorithm,
    EFeaturesSelectionGrouping,
    EFstrType,
    EShapCalcType,
)
from algorithms.compat.catboost.estimators import CatBoostClassifier, CatBoostRegressor
from algorithms.compat.catboost.pool import CatBoostError, Pool
from algorithms.compat.catboost.ranker import CatBoostRanker
from algorithms.compat.catboost.training import CatBoost, cv, train

__all__ = [
    "CatBoost",
    "CatBoostClassifier",
    "CatBoostError",
    "CatBoostRanker",
    "CatBoostRegressor",
    "EFeaturesSelectionAlgorithm",
    "EFeaturesSelectionGrouping",
    "EFstrType",
    "EShapCalcType",
    "Pool",
    "cv",
    "sum_models",
    "to_classifier",
    "to_ranker",
    "to_regressor",
    "train",
    "utils",
]
