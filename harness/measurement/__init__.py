"""Measurements in own workers: duels, tree comparisons, diagnostics, instruction counts."""
