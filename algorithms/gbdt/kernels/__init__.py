"""Kernels of the histogram booster, on one machine and on many."""
