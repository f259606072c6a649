"""Checks of data and method; each has a code, a title and a function that returns findings."""
