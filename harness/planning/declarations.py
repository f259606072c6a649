"""Facts of algorithms and datasets that are stored with a run, so that reports need no plugins."""

from __future__ import annotations

from collections.abc import Iterable

from harness.core.model import JSON, Algorithm, Dataset
from harness.planning.candidates import Pair, Variant


def declare(
    variants: Iterable[Variant],
    datasets: Iterable[Dataset],
    pairs: Iterable[Pair],
    margin: float,
    metric: str = "",
) -> JSON:
    """Return the declared facts of a plan, as JSON data."""
    chosen = list(variants)
    algorithms = {v.name: v.algorithm for v in chosen}
    return {
        "algorithms": {name: _algorithm(a) for name, a in algorithms.items()},
        "datasets": {d.name: _dataset(d) for d in datasets},
        "pairs": [list(pair) for pair in pairs],
        "tracks": [
            {"algorithm": v.name, "params": v.params, "tracks": list(v.tracks)} for v in chosen
        ],
        "margin": margin,
        **({"metric": metric} if metric else {}),
    }


def _algorithm(algorithm: Algorithm) -> JSON:
    names = ("origin", "reference", "paper", "summary")
    return {
        **{name: getattr(algorithm, name) for name in names},
        "parity_levels": dict(algorithm.parity_levels),
        "libraries": list(algorithm.libraries),
        "tasks": sorted(algorithm.tasks),
        "capacity": {
            key: {"name": argument.name, "match": argument.match, "note": argument.note}
            for key, argument in algorithm.capacity.items()
        },
        "space": dict(algorithm.space),
        "estimators": list(algorithm.estimators),
    }


def _dataset(dataset: Dataset) -> JSON:
    names = ("task", "rows", "columns", "n_classes", "categorical", "missing", "sparse")
    more = ("weighted", "grouped", "source", "summary", "license", "digest")
    return {name: getattr(dataset, name) for name in (*names, *more)}
