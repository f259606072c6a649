"""Measurements that need several workers: duels, tree comparisons, diagnostics."""
