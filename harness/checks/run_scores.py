"""The results of a finished run in the form for checks: losses by dataset, model and split."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

import numpy as np

from harness.analysis.run_view import Cell, Interval, RunView
from harness.analysis.stats import resampled_interval
from harness.core.model import Outcome, Status

TUNE = "tune"  # the key of a tuned trial's params


@dataclass(frozen=True)
class ModelScores:
    """One algorithm with its params on one dataset; the loss is the primary metric.

    ``losses``, ``constants`` and ``train_losses`` map a split to the loss on its test rows, the
    constant model's loss there, and the loss on training rows.
    """

    name: str
    cell: Cell
    losses: Mapping[str, float]
    constants: Mapping[str, float]
    train_losses: Mapping[str, float]

    @property
    def loss(self) -> float:
        """Return the mean loss over splits."""
        return fmean(self.losses.values()) if self.losses else math.nan

    @property
    def fit_seconds(self) -> float:
        """Return the typical training time, including the library's own data conversion."""
        seconds = self.cell.seconds
        return seconds.get("fit", math.nan) + seconds.get("native", 0.0)

    @property
    def is_tuned(self) -> bool:
        """Return whether the params were searched."""
        return TUNE in self.cell.params

    @property
    def test_share(self) -> float:
        """Return the ratio of test to training rows, for the intervals of losses."""
        facts = [o.facts for o in self.cell.outcomes if o.status is Status.DONE]
        shares = [f["test_rows"] / f["train_rows"] for f in facts if f.get("train_rows")]
        return median(shares) if shares else 0.0


@dataclass(frozen=True)
class DatasetScores:
    """The models of a run on one dataset that finished at least one split."""

    dataset: str
    metric: str
    models: tuple[ModelScores, ...]

    @cached_property
    def best(self) -> ModelScores:
        """Return the model with the least mean loss."""
        return min(self.models, key=lambda model: model.loss)

    @cached_property
    def constant(self) -> float:
        """Return the mean loss of the constant model; NaN if unknown."""
        losses = [loss for model in self.models for loss in model.constants.values()]
        return fmean(losses) if losses else math.nan

    @property
    def gap(self) -> float:
        """Return the difference between the constant model's loss and the best model's."""
        return self.constant - self.best.loss


@dataclass(frozen=True)
class RunScores:
    """A finished run: its view, and its scores by dataset."""

    view: RunView

    @cached_property
    def datasets(self) -> tuple[DatasetScores, ...]:
        """Return the scores of each dataset that any model was scored on."""
        grouped: dict[str, list[Cell]] = defaultdict(list)
        for cell in self.view.cells:
            grouped[cell.dataset].append(cell)
        every = (self._dataset(name, cells) for name, cells in grouped.items())
        return tuple(scores for scores in every if scores.models)

    def declared(self, model: ModelScores) -> Mapping[str, Any]:
        """Return the declared facts of a model's algorithm."""
        return self.view.algorithms.get(model.cell.algorithm, {})

    def param(self, model: ModelScores, canonical: str) -> float | None:
        """Return a numeric param by its common name, such as ``trees``; None if it is not set."""
        argument = self.declared(model).get("capacity", {}).get(canonical, {})
        value = model.cell.params.get(argument.get("name", ""))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return float(value)

    def _dataset(self, dataset: str, cells: list[Cell]) -> DatasetScores:
        metric = self._metric(cells[0])
        models = [_model(cell, metric) for cell in cells if metric]
        return DatasetScores(dataset, metric, tuple(m for m in models if m.losses))

    def _metric(self, cell: Cell) -> str:
        """Return the primary metric of a cell's task if it is a loss; otherwise ""."""
        names = [n for n in cell.scores if self.view.metrics.get(n, {}).get("primary")]
        names = [n for n in names if self.view.metrics[n].get("lower_is_better")]
        return names[0] if names else ""


def difference(a: ModelScores, b: ModelScores) -> Interval | None:
    """Return the loss of ``a`` minus that of ``b`` over common splits; None if there are none."""
    common = [split for split in a.losses if split in b.losses]
    if not common:
        return None
    differences = [a.losses[split] - b.losses[split] for split in common]
    return resampled_interval(differences, a.test_share)


def split_of(outcome: Outcome) -> str:
    """Return the name of an outcome's split and seed."""
    return f"{outcome.trial.split.label} seed {outcome.trial.seed}"


def _model(cell: Cell, metric: str) -> ModelScores:
    splits = [split_of(outcome) for outcome in cell.outcomes]
    losses = _finite(splits, cell.scores[metric])
    train = [outcome.facts.get("train_loss", math.nan) for outcome in cell.outcomes]
    tracks = f" ({', '.join(cell.tracks)})" if cell.tracks else ""
    return ModelScores(
        name=f"{cell.algorithm}{tracks}",
        cell=cell,
        losses=losses,
        constants=_finite(splits, cell.constant),
        train_losses=_finite(splits, train),
    )


def _finite(splits: list[str], values: Any) -> dict[str, float]:
    pairs = zip(splits, values, strict=False)
    return {split: float(value) for split, value in pairs if np.isfinite(value)}
