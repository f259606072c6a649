"""Kernels that traverse trees for prediction."""
