"""Voting and stacking: named members, held-out predictions, linear weights."""
