"""Training times at several sizes, taken from the duels of a run.

Duels of one algorithm on one generated dataset at several sizes (``higgs_like:rows=10000``,
``higgs_like:rows=100000``) are timed warm and alone. Each launch is one point: the mean over its
blocks of native form plus fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from harness.core.ids import canonical
from harness.core.model import DuelOutcome, Job, Status

COORDINATES = ("rows", "columns", "threads")
PHASES = ("native", "fit")


@dataclass(frozen=True)
class Line:
    """Timed launches of one algorithm that differ along one axis only."""

    algorithm: str
    params: Mapping[str, Any]
    preparation: str
    dataset: str  # the generated dataset's name, without its options
    axis: str
    x: tuple[float, ...]
    seconds: tuple[float, ...]
    duels: tuple[str, ...]  # ids


@dataclass(frozen=True)
class _Launch:
    job: Job
    duel: str
    at: Mapping[str, float]  # COORDINATES
    seconds: float


def lines_of(duels: Iterable[DuelOutcome]) -> list[Line]:
    """Return every line through at least two sizes."""
    kinds: dict[str, list[_Launch]] = defaultdict(list)
    for outcome in duels:
        if outcome.status is Status.DONE:
            for launch in _launches(outcome):
                kinds[_kind(launch.job)].append(launch)
    lines = []
    for launches in kinds.values():
        for axis in COORDINATES:
            rest = [c for c in COORDINATES if c != axis]
            groups: dict[tuple[float, ...], list[_Launch]] = defaultdict(list)
            for launch in launches:
                groups[tuple(launch.at[c] for c in rest)].append(launch)
            lines += [_line(axis, same) for same in groups.values() if _sizes(axis, same) > 1]
    return lines


def _sizes(axis: str, launches: Iterable[_Launch]) -> int:
    return len({launch.at[axis] for launch in launches})


def _line(axis: str, launches: list[_Launch]) -> Line:
    trial = launches[0].job.trials[0]
    return Line(
        algorithm=trial.algorithm,
        params=trial.params,
        preparation=trial.preparation,
        dataset=trial.dataset.partition(":")[0],
        axis=axis,
        x=tuple(launch.at[axis] for launch in launches),
        seconds=tuple(launch.seconds for launch in launches),
        duels=tuple(dict.fromkeys(launch.duel for launch in launches)),
    )


def _kind(job: Job) -> str:
    """Return the key of launches on one line, without the coordinates."""
    trial, options = job.trials[0], job.dataset.options
    other = {key: value for key, value in options.items() if key not in COORDINATES}
    name = trial.dataset.partition(":")[0]
    env = job.environment.name
    return canonical([trial.algorithm, trial.params, trial.preparation, name, other, env])


def _launches(outcome: DuelOutcome) -> Iterator[_Launch]:
    """Yield the time of each launch of each side."""
    for side in ("a", "b"):
        job: Job = getattr(outcome.duel, side)
        facts = outcome.facts.get(side) or {}
        if "train_rows" not in facts or "columns" not in facts:
            continue
        at = {"rows": facts["train_rows"], "columns": facts["columns"], "threads": job.threads}
        walls: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for block in outcome.blocks:
            walls[block.launch][block.phase] += [s.wall for s in getattr(block, side)]
        for by_phase in walls.values():
            if all(by_phase[phase] for phase in PHASES):
                seconds = sum(fmean(by_phase[phase]) for phase in PHASES)
                yield _Launch(job, outcome.duel.id, at, seconds)
