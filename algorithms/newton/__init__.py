"""Second-order boosting above the kernels."""
