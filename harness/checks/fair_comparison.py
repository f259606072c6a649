"""Find unfair or undecided comparisons: unequal budgets, failures, noisy times, few splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from harness.checks.check import Check, Report
from harness.checks.run_scores import DatasetScores, ModelScores, RunScores, difference
from harness.core.model import Severity, Status
from harness.data.safe_names import listed

UNEQUAL = 2.0  # factor between budgets
FEW_TREES = 50  # too few for a booster with a small learning rate
NOISE = 0.3  # median absolute deviation of training times, as a share of their median
MIN_TIMES = 3
MIN_SECONDS = 0.02  # of training; shorter times are always noisy
FEW_SPLITS = 10
DEFAULT = "default"  # the track of each library's own defaults


def find_budgets(run: RunScores) -> Iterator[Report]:
    """Report boosters of one track with unequal budgets."""
    seen: set[str] = set()
    for scores in run.datasets:
        by_track: dict[tuple[str, ...], list[ModelScores]] = defaultdict(list)
        for model in scores.models:
            if "rate" in run.declared(model).get("capacity", {}) and not model.is_tuned:
                by_track[model.cell.tracks].append(model)
        by_track.pop((DEFAULT,), None)  # the libraries' own defaults are meant to differ
        for models in by_track.values():
            report = _budget_report(models, run)
            if report is not None and report.sentence not in seen:
                seen.add(report.sentence)
                yield report


def _budget_report(models: list[ModelScores], run: RunScores) -> Report | None:
    """Return a report on unequal budgets of the boosters of one track, if there are any."""
    trees = {m.name: t for m in models if (t := run.param(m, "trees")) is not None}
    rates = {m.name: r for m in models if (r := run.param(m, "rate")) is not None}
    if len(trees) < 2:
        return None
    if not rates and len({*trees.values()}) == 1 and min(trees.values()) < FEW_TREES:
        number = min(trees.values())
        return Report(
            Severity.WARNING,
            f"the boosters have {number:g} trees each, but every library keeps its own learning "
            "rate, so those with a small rate learn too little; give them more trees, or one rate",
            {"trees": trees},
        )
    known = {*rates} == {*trees}
    budgets = {n: t * rates[n] if known else t for n, t in trees.items()}
    least, most = (f(budgets, key=lambda name: budgets[name]) for f in (min, max))
    if budgets[most] < UNEQUAL * budgets[least]:
        return None
    what = "trees times learning rate" if known else "the number of trees"
    return Report(
        Severity.WARNING,
        f"the boosters have unequal budgets: {what} is {budgets[least]:g} for {least} and "
        f"{budgets[most]:g} for {most}, so the order may be that of the settings, not of the "
        "libraries",
        {"budgets": budgets},
    )


def find_partial(run: RunScores) -> Iterator[Report]:
    """Report models that failed on some splits, because their means are over other splits."""
    for scores in run.datasets:
        partial = {}
        for model in scores.models:
            outcomes = [o for o in model.cell.outcomes if o.status is not Status.SKIPPED]
            failed = sum(o.status is not Status.DONE for o in outcomes)
            if failed:
                partial[model.name] = [failed, len(outcomes)]
        if partial:
            name, (failed, total) = next(iter(partial.items()))
            verb = "was" if len(partial) == 1 else "were"
            yield Report(
                Severity.WARNING,
                f"{listed([*partial])} {verb} not scored on every split ({name}: {failed} of "
                f"{total} failed), so a mean is of other splits than those of the other models",
                {"failed": partial},
                scores.dataset,
            )


def find_noisy_times(run: RunScores) -> Iterator[Report]:
    """Report models whose training times vary widely between splits of the same size."""
    for scores in run.datasets:
        noise = {m.name: n for m in scores.models if (n := time_noise(m)) >= NOISE}
        if noise:
            worst = max(noise, key=noise.__getitem__)
            verb = "varies" if len(noise) == 1 else "vary"
            yield Report(
                Severity.NOTE,
                f"the training times of {listed([*noise])} {verb} much between splits (typically "
                f"by {noise[worst]:.0%} for {worst}), as when other programs use the processor; "
                "do not compare these times",
                {"deviation": {name: round(value, 3) for name, value in noise.items()}},
                scores.dataset,
            )


def time_noise(model: ModelScores) -> float:
    """Return the typical deviation of training times from their median, as a share of it."""
    times = [
        sample.wall
        for outcome in model.cell.outcomes
        for sample in outcome.samples
        if sample.phase == "fit" and outcome.status is Status.DONE
    ]
    if len(times) < MIN_TIMES or model.is_tuned:
        return 0.0
    center = median(times)
    if center < MIN_SECONDS:
        return 0.0
    return median(abs(time - center) for time in times) / center


def find_few_splits(run: RunScores) -> Iterator[Report]:
    """Report if the splits are too few to distinguish the two best models."""
    for scores in run.datasets:
        second = _second(scores)
        if second is None:
            continue
        behind = difference(second, scores.best)
        if behind is None or behind.n >= FEW_SPLITS or behind.low > 0:
            continue
        splits = f"{behind.n} split{'s' if behind.n != 1 else ''}"
        yield Report(
            Severity.NOTE,
            f"{splits} are too few to distinguish {scores.best.name} ({scores.metric} "
            f"{scores.best.loss:.4g}) and {second.name} ({second.loss:.4g}); "
            "--set splits.repeats=3 gives three times as many"
            if behind.n != 1
            else f"one split cannot distinguish {scores.best.name} and {second.name}; use more "
            "folds",
            {"best": scores.best.name, "second": second.name, "splits": behind.n},
            scores.dataset,
        )


def _second(scores: DatasetScores) -> ModelScores | None:
    others = [m for m in scores.models if m is not scores.best and m.losses != scores.best.losses]
    return min(others, key=lambda model: model.loss, default=None)


BUDGETS = Check("RUN010", "Unequal budgets", find_budgets)
PARTIAL = Check("RUN011", "Models that failed on some splits", find_partial)
NOISY_TIMES = Check("RUN012", "Noisy times", find_noisy_times)
FEW = Check("RUN013", "Too few splits to decide", find_few_splits)
