"""Kernels that walk rows down grown trees of any origin."""
