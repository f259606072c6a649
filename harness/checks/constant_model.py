"""Find models that are no better than the model that always predicts the average."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.run_scores import DatasetScores, RunScores
from harness.core.model import Severity
from harness.data.safe_names import listed

SHARE = 0.02  # of the constant model's loss that a useful model removes


def find(run: RunScores) -> Iterator[Report]:
    """Report, for each dataset, the models that are no better than the constant model."""
    for scores in run.datasets:
        useless = useless_models(scores)
        if not useless:
            continue
        losses = {"constant": scores.constant, "models": useless}
        if len(useless) == len(scores.models):
            yield Report(
                Severity.PROBLEM,
                f"no model predicts better than a constant ({scores.metric} "
                f"{scores.constant:.4g}), so the features say (almost) nothing about the target",
                losses,
                scores.dataset,
            )
        else:
            verb = "is" if len(useless) == 1 else "are"
            yield Report(
                Severity.WARNING,
                f"{listed([*useless])} {verb} no better than a constant prediction "
                f"({scores.metric} {scores.constant:.4g})",
                losses,
                scores.dataset,
            )


def useless_models(scores: DatasetScores) -> dict[str, float]:
    """Return the mean loss of each model that is no better than the constant model."""
    limit = (1 - SHARE) * scores.constant
    return {model.name: model.loss for model in scores.models if model.loss >= limit}


CHECK = Check("RUN001", "A model no better than a constant", find)
