"""Formatting of numbers, inline text, colors and commands."""
