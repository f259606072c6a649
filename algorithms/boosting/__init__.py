"""AdaBoost and gradient boosting above the kernels."""
