"""Kernels that follow a library's own rules to the order of every sum."""
