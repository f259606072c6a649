"""Tables and digests shared by the tests of the Newton booster."""

import hashlib

import numpy as np


def table(n, seed=0, d=8, missing=0.0):
    """Return X and a noisy signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 3])
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal + 0.5 * rng.normal(size=n)


def digest(model):
    names = ("feature", "threshold", "left", "default_left", "value", "gain")
    arrays = [np.ascontiguousarray(getattr(model.ensemble_, name)) for name in names]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
