"""What the estimators declare to the harness: search spaces and variants."""
