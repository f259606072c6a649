"""What all estimators share: input checks, labels, weights, evaluation sets, warm start."""
