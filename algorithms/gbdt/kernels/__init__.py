"""Numba kernels of histogram gradient boosting, for one machine and for several."""
