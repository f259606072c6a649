"""Validation of a plugin's predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import Spec


class PredictionError(HarnessError):
    """Invalid predictions, by the contract of ``Adapter.predict``."""


def checked(output: Any, spec: Spec, n_rows: int) -> np.ndarray:
    """Return valid predictions as float64; raise PredictionError otherwise.

    Parameters
    ----------
    output
        Result of ``predict``: (n_rows,) values, or (n_rows, n_classes) probabilities.

    Raises
    ------
    PredictionError
        For a wrong type or shape, a value that is not finite, and probabilities that lie outside
        0 … 1 or do not sum to 1 within 1e-3, a tolerance that suffices for float32.
    """
    try:
        found = np.asarray(output)
    except (TypeError, ValueError) as error:
        raise PredictionError(f"predict returned no array: {error}") from error
    expected = (n_rows, spec.n_classes) if spec.task.is_classification else (n_rows,)
    if found.dtype.kind != "f":
        raise PredictionError(f"predict returned {found.dtype} values; it must return float64")
    if found.shape != expected:
        raise PredictionError(f"predict returned shape {found.shape}; {expected} is expected")
    found = found.astype(np.float64)
    if bad := int(np.count_nonzero(~np.isfinite(found))):
        raise PredictionError(f"predict returned {bad} values that are NaN or infinite")
    if spec.task.is_classification and n_rows:
        low, high = float(found.min()), float(found.max())
        if low < -1e-9 or high > 1 + 1e-6:
            raise PredictionError(f"predict returned probabilities from {low:g} to {high:g}")
        worst = float(np.abs(found.sum(axis=1) - 1).max())
        if worst > 1e-3:
            raise PredictionError(f"predict returned probabilities whose sum is off by {worst:.3g}")
    return found
