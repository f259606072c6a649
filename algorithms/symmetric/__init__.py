"""Boosting of symmetric trees, as CatBoost does it."""
