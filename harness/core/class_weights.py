"""Class weights: rows of rare classes count more in training, in the same way for every algorithm.

A row of class k has the weight n / (K n_k), n_k the weighted rows of its class among the n training
rows and K the number of classes there: scikit-learn's ``class_weight="balanced"``. The trial's
params carry the wish under one key, which no adapter sees. Scores are not weighted by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.model import JSON

BALANCED = "balance_classes"  # the key in a trial's params


def is_balanced(params: Mapping[str, Any]) -> bool:
    """Say whether a trial trains with balanced classes."""
    return bool(params.get(BALANCED))


def without_class_weight(params: Mapping[str, Any]) -> JSON:
    """Return the params that an adapter is given."""
    return {key: value for key, value in params.items() if key != BALANCED}


def balanced_weights(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return the weights of training rows, multiplied by those that they have already.

    Parameters
    ----------
    y : (n,) int64 class codes
    weight : (n,) float64, optional
    """
    own = np.ones(len(y)) if weight is None else weight
    sums = np.bincount(y, weights=own)
    present = int(np.count_nonzero(sums))
    factors = np.divide(own.sum(), present * sums, out=np.zeros_like(sums), where=sums > 0)
    found: np.ndarray = own * factors[y]
    return found
