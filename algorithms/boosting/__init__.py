"""AdaBoost and gradient boosting, except for the kernels."""
