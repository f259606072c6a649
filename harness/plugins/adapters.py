"""Default adapter for estimators with scikit-learn's ``fit`` and ``predict``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.core.model import Spec, Task

if TYPE_CHECKING:
    from harness.trees.ensemble import TreeEnsemble


class Native(NamedTuple):
    """Training data for a scikit-learn estimator."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    group: np.ndarray | None = None  # of ranking: the number of rows of each query


class EstimatorAdapter:
    """Adapter of a scikit-learn estimator; ``build(spec)`` returns a new, unfitted one."""

    def __init__(self, build: Callable[[Spec], Any], spec: Spec) -> None:
        self.build = build
        self.spec = spec
        self.model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle: all but the ``build`` function."""
        return {key: value for key, value in vars(self).items() if key != "build"}

    def prepare(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, group: np.ndarray | None = None
    ) -> Native:
        """Return the arrays unchanged: scikit-learn has no training data structure of its own."""
        if group is None and self.spec.task is Task.RANKING:
            group = np.array([len(y)])
        return Native(X, y, weight, group)

    def fit(self, native: Native) -> None:
        """Build a new estimator and train it; that of a ranking takes ``group``."""
        self.model = self.build(self.spec)
        named = {"sample_weight": native.weight, "group": native.group}
        given = {name: values for name, values in named.items() if values is not None}
        self.model.fit(native.X, native.y, **given)

    def predict(self, X: Any) -> np.ndarray:
        """Return values, or probabilities with one column per class of the whole dataset."""
        if not self.spec.task.is_classification:
            return np.asarray(self.model.predict(X), dtype=np.float64)
        if hasattr(self.model, "predict_proba"):
            shares = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        else:
            shares = (self.model.predict(X)[:, None] == self.model.classes_[None, :]).astype(float)
        return spread(shares, np.asarray(self.model.classes_), self.spec.n_classes)

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict one row with the same method as many rows."""
        return self.predict(x)

    def export_trees(self) -> TreeEnsemble:
        """Return the estimator's own ``ensemble_``."""
        ensemble: TreeEnsemble | None = getattr(self.model, "ensemble_", None)
        if ensemble is None:
            name = type(self.model).__name__
            raise TypeError(f"{name} has no ensemble_: its trees cannot be exported")
        return ensemble

    def staged(self, X: Any) -> Iterator[np.ndarray]:
        """Yield predictions after each stage, from the estimator's ``staged_*`` methods."""
        if self.spec.task.is_classification:
            classes = np.asarray(self.model.classes_)
            for output in self.model.staged_predict_proba(X):
                yield spread(np.asarray(output), classes, self.spec.n_classes)
        else:
            for output in self.model.staged_predict(X):
                yield np.asarray(output, dtype=np.float64)


def spread(found: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities with a zero column for each class missing from the training rows.

    Parameters
    ----------
    found : (n, k) array, a column for each of ``classes``
    classes : (k,) int array of class codes
    n_classes : number of classes of the dataset
    """
    if len(classes) == n_classes:
        return found
    if len(classes) == 1:  # probability 1; HistGradientBoosting returns two columns here
        found = np.ones((len(found), 1))
    full = np.zeros((len(found), n_classes))
    full[:, classes.astype(np.int64)] = found
    return full


def estimator_adapter(build: Callable[[Spec], Any]) -> Callable[[Spec], EstimatorAdapter]:
    """Return an adapter factory for ``Algorithm(adapter=...)``.

    Parameters
    ----------
    build
        ``build(spec)`` returns an unfitted scikit-learn estimator for the spec's task, params,
        seed and threads.
    """

    def adapter(spec: Spec) -> EstimatorAdapter:
        return EstimatorAdapter(build, spec)

    return adapter
