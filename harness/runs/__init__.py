"""Runs from request to stored result, and commands that repeat a run."""
