"""The histogram booster above the kernels."""
