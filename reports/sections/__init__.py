"""Sections of the report, one in each file; each is a plugin."""
