"""Results of a run (scores, verdicts and speeds), computed from the store alone."""
