"""Decision trees above the kernels: tables, growth, pruning, drawing."""
