"""Readers and writers of model files: XGBoost JSON, LightGBM text, and the project's own JSON."""
