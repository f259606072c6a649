"""Compilation, kernel cache, threads and exact sums, below every algorithm family."""
