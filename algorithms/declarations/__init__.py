"""Declarations of the estimators for the harness: search spaces and variants."""
