"""Training by a library's own rules: LightGBM, XGBoost, scikit-learn."""
