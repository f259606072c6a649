"""A forest whose trees see the columns rotated in pairs; `plugin` tells the harness of it."""

from rotated_forest.forest import RotatedForestClassifier, RotatedForestRegressor

__all__ = ["RotatedForestClassifier", "RotatedForestRegressor"]
