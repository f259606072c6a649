"""XGBoost's Python interface on our engine: ``import algorithms.compat.xgboost as xgb``.

It does not import XGBoost. docs/moving.md says what differs.
"""

from algorithms.compat.xgboost import callback
from algorithms.compat.xgboost.booster import Booster
from algorithms.compat.xgboost.dmatrix import DMatrix, QuantileDMatrix
from algorithms.compat.xgboost.engine import cv, train
from algorithms.compat.xgboost.estimators import (
    XGBClassifier,
    XGBModel,
    XGBRegressor,
    XGBRFClassifier,
    XGBRFRegressor,
)
from algorithms.compat.xgboost.messages import XGBoostError
from algorithms.compat.xgboost.plotting import plot_importance, plot_tree
from algorithms.compat.xgboost.ranker import XGBRanker

__all__ = [
    "Booster",
    "DMatrix",
    "QuantileDMatrix",
    "XGBClassifier",
    "XGBModel",
    "XGBRFClassifier",
    "XGBRFRegressor",
    "XGBRanker",
    "XGBRegressor",
    "XGBoostError",
    "callback",
    "cv",
    "plot_importance",
    "plot_tree",
    "train",
]
