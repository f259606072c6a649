"""Kernels of gradient boosting and AdaBoost: losses, leaf sums, row sampling."""
