"""Kernels that grow small exact trees level by level."""
