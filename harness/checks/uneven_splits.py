"""Find a split on which every model does much better or much worse than on the others."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from harness.checks.check import Check, Report
from harness.checks.run_scores import DatasetScores, RunScores
from harness.core.model import Severity

MIN_SPLITS = 5
DEVIATIONS = 5.0  # robust standard deviations from the median of the other splits
CHANGE = 0.25  # least change, as a share of the median loss
SHARE = 0.75  # least share of the models that show it
_TO_SIGMA = 1.4826  # from the median absolute deviation of a normal distribution


def find(run: RunScores) -> Iterator[Report]:
    """Report splits that differ from the others for (almost) all models."""
    for scores in run.datasets:
        for split, factor in odd_splits(scores).items():
            word = "larger" if factor > 1 else "smaller"
            yield Report(
                Severity.WARNING,
                f"on the split {split} the {scores.metric} of almost every model is much {word} "
                f"({factor:.2g} times the usual), so its test rows differ from the others: check "
                "the data for groups, order or a leak",
                {"split": split, "factor": factor},
                scores.dataset,
            )


def odd_splits(scores: DatasetScores) -> dict[str, float]:
    """Return split → loss over the usual loss, for splits that stand out for almost all models."""
    ratios: dict[str, list[float]] = {}
    models = 0
    for model in scores.models:
        if len(model.losses) < MIN_SPLITS:
            continue
        models += 1
        center = median(model.losses.values())
        spread = _TO_SIGMA * median(abs(loss - center) for loss in model.losses.values())
        for split, loss in model.losses.items():
            distance = abs(loss - center)
            if center > 0 and distance > DEVIATIONS * spread and distance > CHANGE * center:
                ratios.setdefault(split, []).append(loss / center)
    return {s: median(factors) for s, factors in ratios.items() if len(factors) >= SHARE * models}


CHECK = Check("RUN004", "A split unlike the others", find)
