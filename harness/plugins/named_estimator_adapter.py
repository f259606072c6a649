"""Adapter of an estimator that is named by its import path."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.plugins.adapters import EstimatorAdapter, Native


class NamedEstimatorAdapter(EstimatorAdapter):
    """Adapter of an estimator that is named by its import path.

    OpenMP's threads are limited for the whole process, and joblib uses threads instead of
    processes, so that all time and memory of the fit are measured.
    """

    def prepare(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, group: np.ndarray | None = None
    ) -> Native:
        """Set the number of threads and return the arrays unchanged."""
        from threadpoolctl import threadpool_limits

        threadpool_limits(self.spec.threads, user_api="openmp")
        return super().prepare(X, y, weight, group)

    def fit(self, native: Native) -> None:
        """Build a new estimator and train it."""
        from joblib import parallel_config

        with parallel_config("threading"):
            super().fit(native)

    def predict(self, X: Any) -> np.ndarray:
        """Return values, or probabilities with one column per class of the whole dataset."""
        from joblib import parallel_config

        with parallel_config("threading"):
            output = super().predict(X)
        return output if self.spec.task.is_classification else output.reshape(len(output))
