"""Prediction with trees of any origin, and what it needs to know of them."""
