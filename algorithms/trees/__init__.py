"""Decision trees, except for the kernels: tables, growth, pruning, export."""
