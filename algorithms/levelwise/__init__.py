"""Small exact trees grown level by level, for AdaBoost, gradient and second-order boosting."""
