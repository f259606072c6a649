"""Small exact trees grown level by level; used by AdaBoost, gradient and second-order boosting."""
