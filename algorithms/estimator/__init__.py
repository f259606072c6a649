"""Shared parts of all estimators: input checks, labels, weights, evaluation sets, warm start."""
