"""Class weights: rows of rare classes count more in training, for every algorithm.

A row of class k has the weight n / (K n_k), with n_k the weighted rows of its class among the n
training rows and K the number of classes there: scikit-learn's ``class_weight="balanced"``. The
key ``balance_classes`` in the trial's params turns this on; adapters do not receive the key.
Metrics do not use these weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.model import JSON

BALANCED = "balance_classes"  # the key in a trial's params


def is_balanced(params: Mapping[str, Any]) -> bool:
    """Return whether a trial trains with balanced classes."""
    return bool(params.get(BALANCED))


def without_class_weight(params: Mapping[str, Any]) -> JSON:
    """Return the params for the adapter, without the key for class weights."""
    return {key: value for key, value in params.items() if key != BALANCED}


def balanced_weights(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return balanced class weights of training rows, multiplied by ``weight`` if given.

    Parameters
    ----------
    y : (n,) int64 class codes
    weight : (n,) float64, optional
    """
    given = np.ones(len(y)) if weight is None else weight
    sums = np.bincount(y, weights=given)
    present = int(np.count_nonzero(sums))
    factors = np.divide(given.sum(), present * sums, out=np.zeros_like(sums), where=sums > 0)
    weights: np.ndarray = given * factors[y]
    return weights
