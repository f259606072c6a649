"""Gate against a revision: measure base and head side by side, and fail if the head is worse."""
