"""Formatting of numbers, inline text, colours and commands."""
