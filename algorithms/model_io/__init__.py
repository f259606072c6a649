"""Model files: XGBoost's JSON, LightGBM's text, our own JSON; no library is needed."""
