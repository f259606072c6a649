"""LightGBM's Python interface on our engine: ``import algorithms.compat.lightgbm as lgb``.

It does not import LightGBM. docs/moving.md says what differs.
"""

from algorithms.compat.lightgbm.booster import Booster
from algorithms.compat.lightgbm.callback import (
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from algorithms.compat.lightgbm.dataset import Dataset
from algorithms.compat.lightgbm.engine import CVBooster, cv, train
from algorithms.compat.lightgbm.estimators import (
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)
from algorithms.compat.lightgbm.messages import LightGBMError, register_logger
from algorithms.compat.lightgbm.plotting import (
    plot_importance,
    plot_metric,
    plot_split_value_histogram,
    plot_tree,
)

__all__ = [
    "Booster",
    "CVBooster",
    "Dataset",
    "EarlyStopException",
    "EvalResult",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "LightGBMError",
    "cv",
    "early_stopping",
    "log_evaluation",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
    "record_evaluation",
    "register_logger",
    "reset_parameter",
    "train",
]
