"""Kernels of second-order boosting on sorted lists: XGBoost's exact and approximate methods."""
