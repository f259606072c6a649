"""Experiment files: their pydantic models, and where the shipped files lie."""
