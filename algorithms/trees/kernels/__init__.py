"""Kernels of exact trees: columns sorted once, every threshold tried."""
