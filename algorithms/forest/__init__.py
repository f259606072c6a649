"""Bagging and random forests, except for the kernels."""
