"""The estimators under LightGBM's names."""

from algorithms.gbdt.base import BaseHistogramBoosting as LGBMModel
from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.histogram_ranking import HistogramBoostingRanker

__all__ = ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]


class LGBMClassifier(HistogramBoostingClassifier):
    """`HistogramBoostingClassifier` under LightGBM's name."""


class LGBMRegressor(HistogramBoostingRegressor):
    """`HistogramBoostingRegressor` under LightGBM's name."""


class LGBMRanker(HistogramBoostingRanker):
    """`HistogramBoostingRanker` under LightGBM's name."""
