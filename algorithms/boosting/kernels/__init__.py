"""Kernels of gradient boosting and AdaBoost: losses, and small trees grown level by level."""
