"""Histogram gradient boosting: binning, tree growing, objectives, boosting and early stopping."""
