"""Prediction with any `harness.TreeEnsemble`: compiled traversals and SHAP values."""
