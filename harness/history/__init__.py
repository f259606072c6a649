"""Results over commits: from the store and from asv."""
