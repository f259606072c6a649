"""Check searches of params: an optimum at the edge, important params left out, no search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks.check import Check, Report
from harness.checks.run_scores import TUNE, ModelScores, RunScores
from harness.core.model import Severity, Status
from harness.data.safe_names import listed

EDGE = 0.1  # share of a range, on its own scale, that counts as one of its ends
MAJORITY = 0.75  # share of the splits whose optimum is at the same end
MIN_SPLITS = 2
IMPORTANT = {  # description → common names; one param of each group should be searched
    "the learning rate": ("rate",),
    "the size of trees": ("depth", "leaves", "min_samples", "min_hessian"),
}


def find_edges(run: RunScores) -> Iterator[Report]:
    """Report params whose best value is at an end of its range on most splits."""
    for scores in run.datasets:
        at_edge = {}
        for model in scores.models:
            space = run.declared(model).get("space", {})
            for param, (end, splits) in edges_of(model, space).items():
                at_edge[f"{param} of {model.name}"] = {"end": end, "splits": splits}
        if at_edge:
            first = next(iter(at_edge))
            verb = "lies" if len(at_edge) == 1 else "lie"
            yield Report(
                Severity.WARNING,
                f"the best {listed([*at_edge])} {verb} at the end of the range that was searched "
                f"({first}: {at_edge[first]['end']:g}); extend the range",
                {"params": at_edge},
                scores.dataset,
            )


def edges_of(model: ModelScores, space: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    """Return param → (the end of its range, splits on which the best value lies there)."""
    chosen = [
        outcome.facts["tuned"]["params"]
        for outcome in model.cell.outcomes
        if outcome.status is Status.DONE and outcome.facts.get("tuned")
    ]
    if len(chosen) < MIN_SPLITS:
        return {}
    edges = {}
    for param, choices in space.items():
        ends = Counter(end for p in chosen if (end := _end(p.get(param), choices)) is not None)
        for end, splits in ends.most_common(1):
            if splits >= MAJORITY * len(chosen):
                edges[param] = (end, splits)
    return edges


def _end(value: Any, choices: Any) -> float | None:
    """Return the end of a range at which a value lies, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        numbers = [c for c in choices if isinstance(c, (int, float)) and not isinstance(c, bool)]
        wide = len({*numbers}) >= 3
        is_end = wide and value in (min(numbers), max(numbers))
        return float(value) if is_end else None
    if not isinstance(choices, Mapping) or not {"low", "high"} <= choices.keys():
        return None
    low, high = choices["low"], choices["high"]
    scale = math.log if choices.get("log") else float
    if value <= 0 and choices.get("log"):
        return None
    place = (scale(value) - scale(low)) / (scale(high) - scale(low))
    if place <= EDGE:
        return float(low)
    return float(high) if place >= 1 - EDGE else None


def find_missing_params(run: RunScores) -> Iterator[Report]:
    """Report searches without the most important params."""
    lacking: dict[str, list[str]] = {}
    for scores in run.datasets:
        for model in scores.models:
            if model.is_tuned and (missing := _not_searched(model, run)):
                lacking[model.cell.algorithm] = missing
    if lacking:
        first = next(iter(lacking))
        yield Report(
            Severity.NOTE,
            f"the search of {listed([*lacking])} leaves out {' and '.join(lacking[first])}, which "
            "often matters most; add it to the search space",
            {"missing": lacking},
        )


def _not_searched(model: ModelScores, run: RunScores) -> list[str]:
    capacity = run.declared(model).get("capacity", {})
    configurations = model.cell.params[TUNE]["configurations"]
    first = configurations[0]
    searched = {key for c in configurations for key in c if c[key] != first.get(key)}
    missing = []
    for what, names in IMPORTANT.items():
        params = [capacity[n]["name"] for n in names if capacity.get(n, {}).get("name")]
        if params and not searched & {*params}:
            missing.append(what)
    return missing if len(configurations) > 1 else []


def find_untuned(run: RunScores) -> Iterator[Report]:
    """Report if no algorithm of a run was tuned."""
    models = [model for scores in run.datasets for model in scores.models]
    if len(models) > 1 and not any(model.is_tuned for model in models):
        yield Report(
            Severity.NOTE,
            "no algorithm was tuned, so the order of the algorithms may change with better "
            "params; add --track tuned to compare tuned models",
            {"models": len(models)},
        )


EDGES = Check("RUN007", "The best value at the edge of the search", find_edges)
MISSING_PARAMS = Check("RUN008", "Important params that were not searched", find_missing_params)
UNTUNED = Check("RUN009", "Nothing was tuned", find_untuned)
