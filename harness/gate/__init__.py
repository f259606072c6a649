"""The gate against a revision: base and head side by side, and a verdict that decides."""
