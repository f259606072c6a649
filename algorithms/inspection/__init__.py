"""Inspection of fitted models: SHAP values for the shap package, and plots in matplotlib."""
