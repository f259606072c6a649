"""Levels of scores and times over several stored runs, one point per run, for history pages.

Mean scores and raw seconds of different runs are shown side by side without a verdict:
:func:`harness.analysis.compare.compare_runs` judges scores, and only a duel judges speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from harness.analysis.build_view import cells_of, speeds
from harness.analysis.pairs import declared_pairs, judge_pairs
from harness.analysis.parity_levels import parities
from harness.analysis.run_view import Cell, Parity, Speed
from harness.analysis.scores import Scorer
from harness.analysis.verdicts import MARGIN
from harness.core.ids import canonical
from harness.core.model import FAILURES, Outcome, Status, Task
from harness.plugins.registry import Registry

if TYPE_CHECKING:
    from harness.store import Store


@dataclass(frozen=True)
class Level:
    """The mean primary score of an algorithm on a dataset in one run.

    Attributes
    ----------
    algorithm
        Name of the algorithm.
    params
        Parameters as canonical JSON text.
    preparation
        Name of the preparation of the columns.
    dataset
        Name of the dataset.
    metric
        Name of the metric.
    lower_is_better
        Whether smaller scores are better.
    score
        Mean score over the finished splits, in the metric's unit.
    seconds
        Median wall seconds of the fit, not interleaved; NaN if there are none.
    failed
        Number of failed trials.
    """

    algorithm: str
    params: str
    preparation: str
    dataset: str
    metric: str
    lower_is_better: bool
    score: float
    seconds: float
    failed: int = 0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Key of the same measurement in another run."""
        return self.algorithm, self.params, self.preparation, self.dataset


@dataclass(frozen=True)
class RunPoint:
    """One run in a series of runs.

    Attributes
    ----------
    run
        The run, as :meth:`Store.run` returns it, JSON.
    levels
        Mean scores of each algorithm on each dataset.
    speeds
        Speeds of its duels on each dataset.
    done
        Number of finished trials.
    failed
        Number of failed trials.
    skipped
        Number of skipped trials.
    parity
        Its tree comparisons.
    """

    run: Mapping[str, Any]
    levels: tuple[Level, ...]
    speeds: tuple[Speed, ...]
    done: int
    failed: int
    skipped: int
    parity: tuple[Parity, ...] = ()

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.run["id"])

    @property
    def revision(self) -> str:
        """The commit of the run, or ""."""
        return str((self.run.get("machine") or {}).get("revision") or "")


@dataclass
class CachingScorer(Scorer):
    """A scorer that scores the same predictions once: runs share most of their outcomes."""

    known: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    def score(self, outcome: Outcome) -> dict[str, float]:
        """Return the score of each metric of the outcome's task; NaN if there is none."""
        sha256 = outcome.arrays.get("predictions")
        if sha256 is None or outcome.status is not Status.DONE:
            return super().score(outcome)
        key = outcome.trial.id, sha256  # equal hashes mean equal predictions
        if key not in self.known:
            self.known[key] = super().score(outcome)
        return self.known[key]


def course(store: Store, registry: Registry, runs: Sequence[str]) -> tuple[RunPoint, ...]:
    """Return a point for each run, in the order given."""
    scorer = CachingScorer(store, registry)
    return tuple(_point(store, scorer, run) for run in runs)


def _point(store: Store, scorer: Scorer, run: str) -> RunPoint:
    stored, stored_run = store.outcomes(run), store.run(run)
    statuses = [outcome.status for outcome, _ in stored]
    duels = (outcome for outcome, _ in store.duels(run))
    return RunPoint(
        run=stored_run,
        levels=tuple(_level(cell, scorer) for cell in cells_of(stored, scorer)),
        speeds=tuple(speed for speed in speeds(duels) if speed.dataset),
        done=sum(status is Status.DONE for status in statuses),
        failed=sum(status in FAILURES for status in statuses),
        skipped=sum(status is Status.SKIPPED for status in statuses),
        parity=parities_of(store, stored_run, scorer),
    )


def parities_of(store: Store, run: Mapping[str, Any], scorer: Scorer) -> tuple[Parity, ...]:
    """Return the parity of every pair of a stored run; scores are read only if needed."""
    stored = store.parities(run["id"])
    if not stored:
        return ()
    declared: Mapping[str, Any] = run["config"].get("declared", {})
    cells = cells_of(store.outcomes(run["id"]), scorer)
    share = float(declared.get("margin", MARGIN))
    accuracy = judge_pairs(declared_pairs(declared, cells), cells, scorer, share)
    return parities(stored, accuracy, declared)


def _level(cell: Cell, scorer: Scorer) -> Level:
    metric = scorer.primary(Task(cell.task))
    name = metric.name if metric else ""
    finite = [score for score in cell.scores.get(name, ()) if math.isfinite(score)]
    return Level(
        algorithm=cell.algorithm,
        params=canonical(cell.params),
        preparation=cell.preparation,
        dataset=cell.dataset,
        metric=name,
        lower_is_better=metric.lower_is_better if metric else True,
        score=fmean(finite) if finite else math.nan,
        seconds=cell.seconds.get("fit", math.nan),
        failed=sum(outcome.status in FAILURES for outcome in cell.outcomes),
    )
