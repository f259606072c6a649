"""The pooled verdict of one pair over all its datasets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.analysis.run_view import Accuracy, Interval
from harness.analysis.stats import between_variance, random_effects, t_quantile
from harness.analysis.verdicts import INNER, MARGIN, OUTER, Ruling, decide, named, ruled

FEW_DATASETS = 10  # Demsar 2006: with fewer, tests across datasets have little power
SURE = 0.25  # margins; least standard error of a dataset, so that the largest one does not dominate


def pool(verdicts: Sequence[Accuracy], share: float = MARGIN) -> Accuracy:
    """Return the pooled verdict of one pair over its datasets.

    Each difference becomes a share of its dataset's gap, so that log losses and errors of
    regression can be averaged. The average is that of :func:`random_effects`, whose interval
    accounts for differences between datasets; the order of decisions is the same. The standard
    error of a dataset is at least a quarter of the margin. (In simulation, at an average of exactly
    one margin, with 3 to 12 datasets of very unequal size, *equivalent* resulted in at most 5.2 %
    of cases.)

    Parameters
    ----------
    verdicts
        Verdicts of the same pair, one per dataset, at least one.
    share
        The declared margin.
    """
    first = verdicts[0]
    usable = [v for v in verdicts if v.gap > 0 and math.isfinite(v.error)]
    failed = (sum(v.failed[0] for v in verdicts), sum(v.failed[1] for v in verdicts))
    counts = Counter(v.verdict for v in verdicts)
    listed = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    blank = named(first.algorithm, first.reference, "", "share of the gap")
    pooled = replace(
        blank, margin=share, gap=1.0, splits=len(usable), failed=failed, params=first.params
    )
    notes = [f"{len(verdicts)} dataset{'s' if len(verdicts) > 1 else ''}: {listed}"]
    if not usable:
        advice = "no dataset has two splits with scores of both and a model above the constant one"
        return ruled(pooled, Ruling("inconclusive", advice, notes))
    if len(usable) == 1:
        return ruled(_alone(pooled, usable[0]), Ruling(usable[0].verdict, usable[0].advice, notes))
    if len(usable) < FEW_DATASETS:
        notes.append("few datasets: others may well decide otherwise")
    return _pooled(pooled, usable, share, notes)


def _pooled(
    pooled: Accuracy, usable: Sequence[Accuracy], share: float, notes: list[str]
) -> Accuracy:
    effects = np.array([v.difference.value / v.gap for v in usable])
    errors = np.array([max(v.error / v.gap, SURE * share) for v in usable])
    inner, outer = (random_effects(effects, errors, level) for level in (INNER, OUTER))
    error = (outer.high - outer.value) / t_quantile((1 + OUTER) / 2, len(usable) - 1)
    pooled = replace(pooled, difference=outer, inner=inner, error=error)
    ruling = Ruling(decide(inner, outer, share), notes=notes)
    if ruling.verdict == "inconclusive":
        apart = math.sqrt(between_variance(effects, errors))
        widest = usable[int(errors.argmax())]
        ruling.advice = f"more datasets, or more certainty on {widest.dataset}"
        if apart > share:
            ruling.advice = f"the datasets differ by about {apart:.2g} of the gap: read each alone"
    return ruled(pooled, ruling)


def _alone(pooled: Accuracy, only: Accuracy) -> Accuracy:
    """Return the one usable dataset's result, as a share of its gap."""

    def shared(interval: Interval) -> Interval:
        low, value, high = (x / only.gap for x in (interval.low, interval.value, interval.high))
        return replace(interval, low=low, value=value, high=high)

    return replace(
        pooled,
        difference=shared(only.difference),
        inner=shared(only.inner) if only.inner else None,
        posterior=only.posterior,
        error=only.error / only.gap,
        notes=(f"says nothing about other data than {only.dataset}",),
    )
