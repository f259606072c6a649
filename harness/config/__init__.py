"""Experiment files: pydantic models and lookup of the shipped files."""
