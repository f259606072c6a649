"""The gate against a revision: measure base and head side by side and decide what is worse."""
