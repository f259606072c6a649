"""Sentences and badges for verdicts, claims and changes."""
