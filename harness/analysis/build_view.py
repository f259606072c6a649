"""Build the view of a stored run that reports, gates and exports read.

Only the store and the metrics are needed: facts about algorithms and datasets are in the run's own
config under ``declared``, so no algorithm has to be importable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.analysis.diagnostics import Diagnostic
from harness.analysis.pairs import declared_pairs, judge_pairs
from harness.analysis.parity_levels import parities
from harness.analysis.run_view import Cell, FirstUse, RunView, Speed
from harness.analysis.scores import Scorer
from harness.analysis.seconds import machines_of, timing_of
from harness.analysis.serving import serving_times
from harness.analysis.speed import noise_floors, pool_speeds, speeds_of, with_floor
from harness.analysis.verdicts import MARGIN
from harness.core.ids import canonical
from harness.core.model import DuelOutcome, Finding, Outcome, finding_from_json
from harness.plugins.registry import Registry

FINDING = "finding"  # kind of the events that hold findings of checks
Tracks = Mapping[tuple[str, str], tuple[str, ...]]

if TYPE_CHECKING:
    import numpy as np

    from harness.store import Store


def view_run(store: Store, run_id: str, registry: Registry) -> RunView:
    """Return everything that a report may show of a run.

    Parameters
    ----------
    store
        Open for reading; the view's ``predictions`` reads its artifacts when called, also after
        the store is closed.
    run_id
        As :meth:`harness.store.Store.run` takes it.
    registry
        Provides the metrics; ``load_registry(modules=["harness.plugins.metrics"])`` is enough.
    """
    run = store.run(run_id)
    declared: Mapping[str, Any] = run["config"].get("declared", {})
    scorer = Scorer(store, registry, str(declared.get("metric", "")))
    outcomes = store.outcomes(run["id"])
    cells = cells_of(outcomes, scorer, tracks_of(declared))
    duels = tuple(outcome for outcome, _ in store.duels(run["id"]))
    share = float(declared.get("margin", MARGIN))
    events = store.events(run["id"])
    accuracy = judge_pairs(declared_pairs(declared, cells), cells, scorer, share)

    every = registry.all("metric")
    primary = {m.name for m in every if m.name == scorer.metric}
    replaced = {task for m in every if m.name in primary for task in m.tasks}

    def predictions(outcome: Outcome) -> Mapping[str, np.ndarray]:
        sha256 = outcome.arrays.get("predictions")
        return store.artifact(sha256) if sha256 else {}

    failed = [{"plugin": b.plugin, "reason": b.reason} for b in registry.broken]
    return RunView(
        run=run,
        cells=cells,
        accuracy=accuracy,
        speed=speeds(duels),
        duels=duels,
        algorithms=declared.get("algorithms", {}),
        datasets=declared.get("datasets", {}),
        metrics={
            m.name: {
                "lower_is_better": m.lower_is_better,
                "primary": m.name in primary or (m.primary and not m.tasks & replaced),
                "summary": m.summary,
                "bounds": m.bounds,
            }
            for m in registry.all("metric")
        },
        predictions=predictions,
        broken=(*failed, *scorer.broken.values()),
        parity=parities(store.parities(run["id"]), accuracy, declared),
        diagnostics=diagnostics_of(events),
        first_uses=first_uses_of(events),
        findings=findings_of(events),
        serving=serving_times(events),
        machines=machines_of(outcome for outcome, _ in outcomes),
        budget=next((e["data"] for e in reversed(events) if e["kind"] == "budget"), {}),
    )


def diagnostics_of(events: Iterable[Mapping[str, Any]]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics in the events of a run, the newest answer to each question."""
    newest = {e["data"]["id"]: e["data"] for e in events if e["kind"] == "diagnostic"}
    return tuple(
        Diagnostic(**{key: value for key, value in data.items() if key != "id"})
        for data in newest.values()
    )


def findings_of(events: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return the findings of the checks in the events of a run."""
    return tuple(finding_from_json(e["data"]) for e in events if e["kind"] == FINDING)


def first_uses_of(events: Iterable[Mapping[str, Any]]) -> tuple[FirstUse, ...]:
    """Return the compile times in the events of a run, the latest of each kind of worker."""
    newest = {
        (e["data"]["algorithm"], e["data"]["threads"], e["data"]["environment"]): e["data"]
        for e in events
        if e["kind"] == "compiled"
    }
    return tuple(FirstUse(**{**data, "notes": tuple(data["notes"])}) for data in newest.values())


def tracks_of(declared: Mapping[str, Any]) -> Tracks:
    """Return (algorithm, canonical params) → tracks; empty if a run has only one track."""
    listed = declared.get("tracks", ())
    if len({track for variant in listed for track in variant["tracks"]}) < 2:
        return {}
    return {(v["algorithm"], canonical(v["params"])): tuple(v["tracks"]) for v in listed}


def cells_of(
    outcomes: Iterable[tuple[Outcome, bool]], scorer: Scorer, tracks: Tracks | None = None
) -> tuple[Cell, ...]:
    """Return the outcomes of a run by algorithm, params, preparation and dataset, with scores.

    Parameters
    ----------
    outcomes
        Each with whether it was reused, in the order of the plan.
    tracks
        As :func:`tracks_of` returns them.
    """
    every = list(outcomes)
    machine = next(iter(machines_of(outcome for outcome, _ in every)), "")
    grouped: dict[tuple[str, str, str, str], list[tuple[Outcome, bool]]] = defaultdict(list)
    for outcome, reused in every:
        trial = outcome.trial
        key = (trial.algorithm, canonical(trial.params), trial.preparation, trial.dataset)
        grouped[key].append((outcome, reused))
    known = tracks or {}
    cells = (_cell(members, scorer, machine) for members in grouped.values())
    return tuple(
        replace(cell, tracks=known.get(key[:2], ()))
        for key, cell in zip(grouped, cells, strict=True)
    )


def _cell(members: Sequence[tuple[Outcome, bool]], scorer: Scorer, machine: str) -> Cell:
    outcomes = tuple(outcome for outcome, _ in members)
    timing = timing_of(outcomes, machine)
    trial = outcomes[0].trial
    scored = [scorer.score(outcome) for outcome in outcomes]
    fits = [s.peak for outcome in outcomes for s in outcome.samples if s.phase == "fit"]
    return Cell(
        algorithm=trial.algorithm,
        params=trial.params,
        preparation=trial.preparation,
        dataset=trial.dataset,
        task=trial.task.value,
        outcomes=outcomes,
        scores={name: tuple(s[name] for s in scored) for name in scored[0]},
        reused=tuple(reused for _, reused in members),
        seconds=timing.seconds,
        crowded=timing.crowded,
        constant=tuple(scorer.constant_loss(outcome) for outcome in outcomes),
        peak=max(fits, default=0),
    )


def speeds(duels: Iterable[DuelOutcome]) -> tuple[Speed, ...]:
    """Return the speeds of a run's duels with their noise floors, then pooled over datasets."""
    outcomes = list(duels)
    floors = noise_floors(outcomes)
    single = [with_floor(speed, floors) for outcome in outcomes for speed in speeds_of(outcome)]
    return (*single, *pool_speeds(single))
