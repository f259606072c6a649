"""Plugin with an algorithm that does nothing, to measure the harness's own time."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.core.model import ALL_TASKS, Accepts, Algorithm, Spec
from harness.plugins.hookspecs import hookimpl

NAME = "noop"


class Noop:
    """Adapter that predicts 0, or the same probability for every class."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def prepare(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Return None: nothing is prepared."""

    def fit(self, native: None) -> None:
        """Do nothing."""

    def predict(self, X: Any) -> np.ndarray:
        """Return a constant of the right shape."""
        n_classes = self.spec.n_classes
        return np.full((len(X), n_classes), 1 / n_classes) if n_classes else np.zeros(len(X))

    def predict_one(self, x: Any) -> np.ndarray:
        """Return the prediction for one row."""
        return self.predict(x)


@hookimpl
def register_algorithms(register: Any) -> None:
    """Register the algorithm; this file is loaded by path, only to measure the overhead."""
    accepts = Accepts(missing=True, categorical=True)
    register(Algorithm(NAME, Noop, ALL_TASKS, accepts=accepts, summary="does nothing"))
