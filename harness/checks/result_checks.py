"""The checks of a finished run, and the function that runs all of them."""

from __future__ import annotations

from harness.analysis.run_view import RunView
from harness.checks import (
    baselines,
    constant_model,
    fair_comparison,
    fit_quality,
    search,
    uneven_splits,
    useless_columns,
)
from harness.checks.check import Check
from harness.checks.run_scores import RunScores
from harness.core.model import Finding

RESULT_CHECKS: tuple[Check[RunScores], ...] = (
    constant_model.CHECK,
    fit_quality.OVERFITTING,
    fit_quality.UNDERFITTING,
    uneven_splits.CHECK,
    baselines.NO_GAIN,
    baselines.SLOW,
    search.EDGES,
    search.MISSING_PARAMS,
    search.UNTUNED,
    fair_comparison.BUDGETS,
    fair_comparison.PARTIAL,
    fair_comparison.NOISY_TIMES,
    fair_comparison.FEW,
    useless_columns.CHECK,
)


def check_results(view: RunView) -> list[Finding]:
    """Return the findings of the checks in the results of a finished run."""
    run = RunScores(view)
    return [finding for check in RESULT_CHECKS for finding in check.findings(run)]
