"""A plugin whose algorithm does nothing, so that what is left is the harness's own time."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.core.model import ALL_TASKS, Accepts, Algorithm, Spec
from harness.plugins.hookspecs import hookimpl

NAME = "noop"


class Noop:
    """Predict 0, or the same probability for every class."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def prepare(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Take nothing from the data."""

    def fit(self, native: None) -> None:
        """Learn nothing."""

    def predict(self, X: Any) -> np.ndarray:
        """Return a constant of the right shape."""
        n_classes = self.spec.n_classes
        return np.full((len(X), n_classes), 1 / n_classes) if n_classes else np.zeros(len(X))

    def predict_one(self, x: Any) -> np.ndarray:
        """Return the same for one row."""
        return self.predict(x)


@hookimpl
def register_algorithms(register: Any) -> None:
    """Register the algorithm; this file is loaded by its path, and only to be measured."""
    accepts = Accepts(missing=True, categorical=True)
    register(Algorithm(NAME, Noop, ALL_TASKS, accepts=accepts, summary="does nothing"))
