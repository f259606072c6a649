"""Parity modes: training with the exact arithmetic of LightGBM, XGBoost or scikit-learn."""
