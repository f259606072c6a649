"""Compiled kernels of symmetric-tree boosting."""
