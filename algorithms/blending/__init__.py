"""Voting and stacking: named members, out-of-fold predictions, linear weights."""
