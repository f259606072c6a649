"""Scores of stored predictions and of the constant model, by every metric of their task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from harness.core.errors import StoreError
from harness.core.model import Metric, Outcome, Predicted, Status, Task
from harness.plugins.registry import Registry

OURS = "harness.plugins.metrics"  # its primary metric has priority over those of other plugins
ROUNDING = 1e-9  # predictions that differ by less, in sd(y) or probability, are the same


def rows_of(outcome: Outcome) -> tuple[str, str, str]:
    """Return the key of training and test rows: dataset, split, and the digest of the data."""
    trial = outcome.trial
    return trial.dataset, trial.split.label, str(trial.ingredients.get("dataset", ""))


class Arrays(Protocol):
    """The part of a store that scoring needs."""

    def artifact(self, sha256: str) -> Mapping[str, np.ndarray]:
        """Return the arrays of an artifact."""


@dataclass
class Scorer:
    """Scores outcomes one by one; errors are kept in ``broken`` and scored NaN.

    Attributes
    ----------
    constants : dict
        :func:`rows_of` an outcome → losses, by metric, of the model that always predicts the
        average of the training rows.
    labels_only : set
        Ids of trials whose probabilities are all 0 or 1.
    rows : dict
        Trial id → number of test rows.
    """

    store: Arrays
    registry: Registry
    metric: str = ""  # name of the primary metric; "": the registered primary one
    broken: dict[str, dict[str, str]] = field(default_factory=dict)
    constants: dict[tuple[str, str, str], dict[str, float]] = field(default_factory=dict)
    labels_only: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    by_task: dict[Task, list[Metric]] = field(default_factory=dict)

    def metrics(self, task: Task) -> list[Metric]:
        """Return the metrics of a task, by name."""
        if task not in self.by_task:
            every: list[Metric] = self.registry.all("metric")
            self.by_task[task] = [m for m in every if task in m.tasks]
        return self.by_task[task]

    def primary(self, task: Task) -> Metric | None:
        """Return the metric of verdicts."""
        if self.metric in {m.name for m in self.metrics(task)}:
            return next(m for m in self.metrics(task) if m.name == self.metric)
        primary = [m for m in self.metrics(task) if m.primary]
        own = [m for m in primary if self.registry.entry("metric", m.name).plugin == OURS]
        return next(iter(own or primary), None)

    def score(self, outcome: Outcome) -> dict[str, float]:
        """Return the score of each metric of the outcome's task; NaN if there is none."""
        task = outcome.trial.task
        missing = {metric.name: math.nan for metric in self.metrics(task)}
        if outcome.status is not Status.DONE or "predictions" not in outcome.arrays:
            return missing
        try:
            arrays = self.store.artifact(outcome.arrays["predictions"])
        except StoreError as error:
            place = f"predictions of {outcome.trial.algorithm} on {outcome.trial.dataset}"
            self._note(place, str(error))
            return missing
        predicted = predicted_of(arrays)
        self.rows[outcome.trial.id] = len(predicted.y)
        if (key := rows_of(outcome)) not in self.constants:
            constant = constant_model(predicted, task, outcome.facts)
            self.constants[key] = self._apply(task, constant)
        if task.is_classification and bool(np.isin(predicted.output, (0.0, 1.0)).all()):
            self.labels_only.add(outcome.trial.id)
        return self._apply(task, predicted)

    def constant_loss(self, outcome: Outcome) -> float:
        """Return the primary loss of the constant model on the outcome's rows; NaN if unknown."""
        metric = self.primary(outcome.trial.task)
        losses = self.constants.get(rows_of(outcome), {})
        return losses.get(metric.name, math.nan) if metric else math.nan

    def _apply(self, task: Task, predicted: Predicted) -> dict[str, float]:
        scores = {}
        for metric in self.metrics(task):
            try:
                scores[metric.name] = float(metric.score(predicted))
            except Exception as error:  # noqa: BLE001 - a plugin's metric may raise anything
                scores[metric.name] = math.nan
                self._note(f"metric {metric.name}", f"{type(error).__name__}: {error}")
        return scores

    def _note(self, plugin: str, reason: str) -> None:
        self.broken.setdefault(plugin, {"plugin": plugin, "reason": reason})

    def agree(self, one: Iterable[Outcome], other: Iterable[Outcome]) -> bool:
        """Return whether all predictions of paired outcomes are equal up to rounding."""
        return all(self._same(a, b) for a, b in zip(one, other, strict=True))

    def _same(self, a: Outcome, b: Outcome) -> bool:
        shas = [outcome.arrays["predictions"] for outcome in (a, b)]
        if shas[0] == shas[1]:
            return True
        one, other = (predicted_of(self.store.artifact(sha)) for sha in shas)
        if one.output.shape != other.output.shape:
            return False
        tolerance = ROUNDING * (one.scale if one.scale > 0 else 1.0)
        return bool((np.abs(one.output - other.output) <= tolerance).all())


def predicted_of(arrays: Mapping[str, np.ndarray]) -> Predicted:
    """Return the input of metrics from the arrays that a worker stored."""
    return Predicted(
        arrays["y"],
        arrays["output"],
        arrays.get("weight"),
        float(arrays.get("scale", 1.0)),
        arrays.get("group"),
    )


def constant_model(predicted: Predicted, task: Task, facts: Mapping[str, Any]) -> Predicted:
    """Return the predictions of the constant model, fitted to the training targets.

    Class frequencies or the mean come from the facts ``train_prior`` and ``train_mean``, both
    weighted. Without them the test rows are used, which makes the constant model a little too good.
    """
    y, weight = predicted.y, predicted.weight
    if task.is_classification:
        k = predicted.output.shape[1]
        prior = facts.get("train_prior")
        if prior is None or len(prior) != k:
            counts = np.bincount(y, weights=weight, minlength=k)
            prior = counts / counts.sum()
        row = np.asarray(prior, dtype=np.float64)
        return Predicted(y, np.broadcast_to(row, (len(y), k)), weight, predicted.scale)
    mean = facts.get("train_mean")
    value = float(np.average(y, weights=weight)) if mean is None else float(mean)
    return replace(predicted, output=np.broadcast_to(np.float64(value), y.shape))
