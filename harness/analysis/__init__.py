"""What a run says: scores, verdicts and speeds, computed from the store alone."""
