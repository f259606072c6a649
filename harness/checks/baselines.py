"""Compare the best model with a strong default, and slow models with simpler ones."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.run_scores import DatasetScores, ModelScores, RunScores, difference
from harness.core.model import Severity
from harness.data.safe_names import listed

BASELINE = "sklearn.hist_gradient_boosting"  # the strong default
SLOWER = 2.0  # times the training time
MIN_SECONDS = 0.05  # smallest difference of training times that matters
FEWER = 0.5  # of the trees, at most, in a simpler model


def find_no_gain(run: RunScores) -> Iterator[Report]:
    """Report if the best model is not better than scikit-learn's default booster."""
    for scores in run.datasets:
        baseline = _baseline(scores)
        if baseline is None or baseline is scores.best:
            continue
        gain = difference(baseline, scores.best)
        if gain is None or gain.low > 0:
            continue
        yield Report(
            Severity.NOTE,
            f"{scores.best.name} has the least {scores.metric} ({scores.best.loss:.4g}), but is "
            f"not clearly better than {baseline.name} ({baseline.loss:.4g})",
            {"best": scores.best.name, "baseline": baseline.name, "splits": gain.n},
            scores.dataset,
        )


def find_slow(run: RunScores) -> Iterator[Report]:
    """Report models that train much longer than a simpler one and are no better."""
    for scores in run.datasets:
        slow = {}
        for model in scores.models:
            simpler = [m for m in scores.models if _dominates(m, model, run)]
            if simpler:
                slow[model.name] = min(simpler, key=lambda m: m.loss).name
        if slow:
            verb = "trains" if len(slow) == 1 else "train"
            first = next(iter(slow))
            yield Report(
                Severity.NOTE,
                f"{listed([*slow])} {verb} at least {SLOWER:g} times as long as a simpler model "
                f"and {'is' if len(slow) == 1 else 'are'} no better (for {first} this is "
                f"{slow[first]})",
                {"simpler": slow},
                scores.dataset,
            )


def _baseline(scores: DatasetScores) -> ModelScores | None:
    named = [m for m in scores.models if m.cell.algorithm == BASELINE and not m.is_tuned]
    return next(iter(named), None)


def _dominates(simple: ModelScores, model: ModelScores, run: RunScores) -> bool:
    """Return whether a simpler model trains much faster and is as accurate as another one."""
    mine, theirs = run.param(model, "trees"), trees_of(simple, run)
    if simple is model or mine is None or theirs is None or theirs > FEWER * mine:
        return False
    slow = model.fit_seconds - simple.fit_seconds >= MIN_SECONDS
    slow = slow and model.fit_seconds >= SLOWER * simple.fit_seconds
    if not slow or simple.loss > model.loss:
        return False
    gain = difference(simple, model)
    return gain is not None and gain.low <= 0


def trees_of(model: ModelScores, run: RunScores) -> float | None:
    """Return the number of trees of a model: 1 if its algorithm has no such parameter."""
    capacity = run.declared(model).get("capacity", {})
    if model.is_tuned or not capacity:
        return None
    return run.param(model, "trees") if "trees" in capacity else 1.0


NO_GAIN = Check("RUN005", "No better than a strong default", find_no_gain)
SLOW = Check("RUN006", "Slower and no better than a simpler model", find_slow)
