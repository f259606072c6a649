"""Bagging and random forests above the kernels."""
