"""Kernels of second-order boosting on sorted columns: exact and approximate methods."""
