"""Search the configurations of a tuned trial inside its ``fit``, by cross-validation.

The search uses only the training rows of the trial. Every configuration is trained on the same
inner folds; the one with the least mean loss (the primary metric) is trained again on all training
rows. All of this counts as the trial's fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from harness.config.search_space import TUNE, one_of_each
from harness.core.model import JSON, Adapter, Algorithm, Predicted, Spec
from harness.plugins.metrics import log_loss, rmse_sd


class Training(NamedTuple):
    """Prepared training rows; each configuration builds its own training data from them."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def part(self, rows: np.ndarray) -> Training:
        """Return some of the rows."""
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return Training(X, self.y[rows], None if self.weight is None else self.weight[rows])


def build_adapter(algorithm: Algorithm, spec: Spec) -> Adapter:
    """Return the algorithm's adapter, or a `Tuned` one for a tuned trial."""
    if TUNE not in spec.params:
        return algorithm.adapter(spec)
    return Tuned(algorithm.adapter, spec, **spec.params[TUNE])


def plain_specs(spec: Spec) -> Iterator[Spec]:
    """Yield the spec, or for a tuned trial a spec for each kind of configuration."""
    return (replace(spec, params=params) for params in one_of_each(spec.params))


class Tuned:
    """Adapter that searches configurations and delegates to the adapter of the best one.

    Attributes
    ----------
    losses : list of float
        Mean inner loss of each configuration; infinite if it failed.
    chosen : int
        Index of the chosen configuration.
    """

    def __init__(
        self,
        build: Callable[[Spec], Adapter],
        spec: Spec,
        configurations: list[JSON],
        inner_folds: int,
    ) -> None:
        self.build, self.spec = build, spec
        self.configurations, self.inner_folds = configurations, inner_folds
        self.losses: list[float] = []
        self.chosen = 0
        self.adapter: Any = None

    def prepare(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Training:
        """Keep the rows: the library's training data may depend on the configuration (its bins)."""
        return Training(X, y, weight)

    def fit(self, native: Training) -> None:
        """Search, then train the best configuration on all rows; ties go to the first."""
        part = inner_folds(native.y, self.inner_folds, self.spec)
        errors: list[Exception] = []
        self.losses = [self._loss(params, native, part, errors) for params in self.configurations]
        self.chosen = int(np.argmin(self.losses))
        if not math.isfinite(self.losses[self.chosen]):
            unknown = ValueError("no configuration of the search has a finite loss")
            raise next(iter(errors), unknown)
        self.adapter = self._trained(self.configurations[self.chosen], native)

    def predict(self, X: Any) -> np.ndarray:
        """Predict with the chosen configuration."""
        found: np.ndarray = self.adapter.predict(X)
        return found

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict a row with the chosen configuration."""
        found: np.ndarray = self.adapter.predict_one(x)
        return found

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the chosen adapter, such as its trees or stages."""
        if name == "adapter":
            raise AttributeError(name)
        return getattr(self.adapter, name)

    def __getstate__(self) -> JSON:
        """Return the attributes to pickle: all but the ``build`` function."""
        return {key: value for key, value in vars(self).items() if key != "build"}

    def __setstate__(self, state: JSON) -> None:
        """Restore the pickled attributes."""
        self.__dict__.update(state)

    def facts(self) -> JSON:
        """Return the result of the search."""
        losses = [loss if math.isfinite(loss) else None for loss in self.losses]
        return {
            "chosen": self.chosen,
            "params": self.configurations[self.chosen],
            "losses": losses,
            "inner_folds": self.inner_folds,
        }

    def _loss(
        self,
        params: Mapping[str, Any],
        training: Training,
        part: np.ndarray,
        errors: list[Exception],
    ) -> float:
        losses = []
        for fold in range(self.inner_folds):
            held = training.part(np.flatnonzero(part == fold))
            try:
                adapter = self._trained(params, training.part(np.flatnonzero(part != fold)))
                losses.append(self._score(held, adapter.predict(held.X)))
            except Exception as error:  # noqa: BLE001 - a failing configuration gets an infinite loss
                errors.append(error)
                return math.inf
        mean = fmean(losses)
        return mean if math.isfinite(mean) else math.inf

    def _trained(self, params: Mapping[str, Any], training: Training) -> Adapter:
        adapter = self.build(replace(self.spec, params=params))
        adapter.fit(adapter.prepare(*training))
        return adapter

    def _score(self, held: Training, output: np.ndarray) -> float:
        found = Predicted(held.y, np.asarray(output, np.float64), held.weight, 1.0)
        return log_loss(found) if self.spec.task.is_classification else rmse_sd(found)


def inner_folds(y: np.ndarray, k: int, spec: Spec) -> np.ndarray:
    """Return the fold of each training row, int (n,), stratified by class."""
    order = np.random.default_rng([spec.seed, k]).permutation(len(y))
    if spec.task.is_classification:
        order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), np.int64)
    part[order] = np.arange(len(y)) % k
    return part
