"""Find models that overfit, and models that underfit.

The training loss alone is no evidence for forests, which fit their training rows almost exactly
and still predict well. Here a model overfits if it fits training rows much better than test rows
and another model of the run is better on the test rows. It underfits if even its training loss is
worse than the test loss of the best model.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from harness.checks.check import Check, Report
from harness.checks.constant_model import useless_models
from harness.checks.run_scores import DatasetScores, ModelScores, RunScores
from harness.core.model import Severity
from harness.data.safe_names import listed

BEHIND = 0.1  # of the gap between the constant and the best model, on test rows
OPTIMISM = 0.3  # of the same gap: how much better the training loss is than the test loss
ON_PAR = 0.1  # of the same gap: largest difference of training and test loss


def find_overfitting(run: RunScores) -> Iterator[Report]:
    """Report models that fit training rows much better, and test rows worse than another model."""
    for scores in run.datasets:
        losses = {m.name: _losses(m) for m in scores.models if _overfits(m, scores)}
        if losses:
            verb = "overfits" if len(losses) == 1 else "overfit"
            yield Report(
                Severity.WARNING,
                f"{listed([*losses])} {verb}: the {scores.metric} is {_shown(losses)}, and "
                f"{scores.best.name} has {scores.best.loss:.4g} on test rows; regularize more, or "
                "use fewer or smaller trees",
                {"losses": losses, "best": scores.best.name},
                scores.dataset,
            )


def find_underfitting(run: RunScores) -> Iterator[Report]:
    """Report models that fit their training rows worse than another model fits test rows."""
    for scores in run.datasets:
        useless = useless_models(scores)
        losses = {
            m.name: _losses(m)
            for m in scores.models
            if m.name not in useless and _underfits(m, scores)
        }
        if losses:
            verb = "underfits" if len(losses) == 1 else "underfit"
            yield Report(
                Severity.WARNING,
                f"{listed([*losses])} {verb}: the {scores.metric} is {_shown(losses)}, while "
                f"{scores.best.name} has {scores.best.loss:.4g} on rows it has not seen; give it "
                "more rounds, a larger learning rate or larger trees",
                {"losses": losses, "best": scores.best.name},
                scores.dataset,
            )


def _overfits(model: ModelScores, scores: DatasetScores) -> bool:
    if not _usable(model, scores):
        return False
    train, test = fmean(model.train_losses.values()), model.loss
    return (
        test - scores.best.loss >= BEHIND * scores.gap
        and test - train >= OPTIMISM * scores.gap
        and _always_behind(model, scores)
    )


def _underfits(model: ModelScores, scores: DatasetScores) -> bool:
    if not _usable(model, scores):
        return False
    train, test = fmean(model.train_losses.values()), model.loss
    return (
        train - scores.best.loss >= BEHIND * scores.gap
        and test - train <= ON_PAR * scores.gap
        and _always_behind(model, scores)
    )


def _usable(model: ModelScores, scores: DatasetScores) -> bool:
    """Return whether there are training losses, a better model, and something to learn."""
    return bool(model.train_losses) and model is not scores.best and scores.gap > 0


def _always_behind(model: ModelScores, scores: DatasetScores) -> bool:
    """Return whether the best model is better on every common split."""
    best = scores.best.losses
    common = [split for split in model.losses if split in best]
    return bool(common) and all(model.losses[s] > best[s] for s in common)


def _losses(model: ModelScores) -> dict[str, float]:
    return {"train": fmean(model.train_losses.values()), "test": model.loss}


def _shown(by_model: dict[str, dict[str, float]]) -> str:
    """Return the losses of the first model as text."""
    losses = next(iter(by_model.values()))
    which = "" if len(by_model) == 1 else f" for {next(iter(by_model))}"
    return f"{losses['train']:.4g} on training and {losses['test']:.4g} on test rows{which}"


OVERFITTING = Check("RUN002", "Overfitting", find_overfitting)
UNDERFITTING = Check("RUN003", "Underfitting", find_underfitting)
