"""Kernels of exact trees: columns are sorted once, every threshold is tried."""
