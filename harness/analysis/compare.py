"""Compare two stored runs cell by cell: scores, times and statuses.

A cell id is the same in both runs whatever the code, versions or machine. A change of scores is
therefore paired over identical splits and judged like a pair of algorithms, in the direction of
each metric. Raw seconds of two runs are *not interleaved*: they are shown side by side without a
verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.analysis.build_view import cells_of, speeds
from harness.analysis.compare_duels import (
    ParityLevelChange,
    RatioChange,
    parity_level_changes,
    ratio_changes,
)
from harness.analysis.pairs import Best, Losses, evidence_of
from harness.analysis.run_view import Accuracy, Cell, Speed
from harness.analysis.scores import Scorer
from harness.analysis.trends import parities_of
from harness.analysis.verdicts import MARGIN, judge
from harness.core.errors import ConfigError, unknown
from harness.core.ids import canonical
from harness.core.model import Metric, Outcome, Status, Task
from harness.plugins.registry import Registry

if TYPE_CHECKING:
    from harness.store import Store

Key = tuple[str, str, str, str]  # algorithm, params, preparation, dataset


@dataclass(frozen=True)
class Seconds:
    """Median raw wall seconds of one phase in both runs: not interleaved, without a verdict."""

    algorithm: str
    dataset: str
    phase: str
    old: float
    new: float
    remeasured: bool  # whether any outcome of the new run differs from the old run's


@dataclass(frozen=True)
class OutcomeChange:
    """A cell whose status changed in the new run."""

    algorithm: str
    dataset: str
    split: str
    old: str
    new: str


@dataclass(frozen=True)
class RunComparison:
    """The common cells of two runs, and their changes."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    matched: int  # cells in both runs
    only_old: int
    only_new: int
    other_data: int  # common cells whose dataset has other bytes now
    changes: tuple[Accuracy, ...]  # ``reference`` is the old run; positive = the new is better
    seconds: tuple[Seconds, ...]
    turns: tuple[OutcomeChange, ...]
    ratios: tuple[RatioChange, ...] = ()  # of the duels in both runs
    parity_levels: tuple[ParityLevelChange, ...] = ()  # of the tree comparisons in both runs


def compare_runs(
    store: Store,
    old: str,
    new: str,
    registry: Registry,
    metrics: Iterable[str] = (),
    tolerances: Mapping[str, float] | None = None,
) -> RunComparison:
    """Compare two runs of one store.

    Parameters
    ----------
    old, new
        Runs as :meth:`harness.store.Store.run` takes them.
    metrics
        Names of metrics to compare besides the primary ones.
    tolerances
        Metric → smallest change that counts, in its own unit. By default it is the new run's
        declared margin, a share of the gap between the constant and the best model.
    """
    runs = [store.run(name) for name in (old, new)]
    kept = tolerances or {}
    selected = {*metrics, *kept}
    _check_metrics(selected, registry)
    by_cell = [{o.trial.cell: o for o, _ in store.outcomes(run["id"])} for run in runs]
    both = [cell for cell in by_cell[1] if cell in by_cell[0]]
    same = [cell for cell in both if _data(by_cell[0][cell]) == _data(by_cell[1][cell])]
    scorer = Scorer(store, registry)
    sides = [{_key(c): c for c in _cells(side, same, scorer)} for side in by_cell]
    share = float(runs[1]["config"].get("declared", {}).get("margin", MARGIN))
    judged = _Changes(scorer, runs[0]["id"], share, kept, [c for s in sides for c in s.values()])
    pairs = [(sides[0][key], cell) for key, cell in sides[1].items()]
    return RunComparison(
        old=runs[0],
        new=runs[1],
        matched=len(same),
        only_old=len(by_cell[0]) - len(both),
        only_new=len(by_cell[1]) - len(both),
        other_data=len(both) - len(same),
        changes=tuple(change for a, b in pairs for change in judged.of(a, b, selected)),
        seconds=tuple(row for a, b in pairs for row in _seconds(a, b)),
        turns=tuple(_turns(by_cell[0], by_cell[1], same)),
        ratios=ratio_changes(*(_ratios(store, run["id"]) for run in runs)),
        parity_levels=parity_level_changes(*(parities_of(store, run, scorer) for run in runs)),
    )


def _ratios(store: Store, run: str) -> tuple[Speed, ...]:
    return speeds(outcome for outcome, _ in store.duels(run))


def _check_metrics(names: Iterable[str], registry: Registry) -> None:
    known = registry.names("metric")
    for name in names:
        if name not in known:
            raise ConfigError(unknown("metric", name, known))


def _data(outcome: Outcome) -> Any:
    return outcome.trial.ingredients.get("dataset")


def _cells(side: Mapping[str, Outcome], cells: Iterable[str], scorer: Scorer) -> tuple[Cell, ...]:
    return cells_of(((side[cell], False) for cell in cells), scorer)


def _key(cell: Cell) -> Key:
    return cell.algorithm, canonical(cell.params), cell.preparation, cell.dataset


# ------------------------------------------------------------------ scores


class _Changes:
    """Compares cells of the new run with those of the old one."""

    def __init__(
        self,
        scorer: Scorer,
        old: str,
        share: float,
        tolerances: Mapping[str, float],
        cells: Iterable[Cell],
    ) -> None:
        self.scorer, self.old, self.share, self.tolerances = scorer, old, share, tolerances
        self.by_dataset: dict[str, list[Cell]] = defaultdict(list)
        for cell in cells:
            self.by_dataset[cell.dataset].append(cell)

    def of(self, old: Cell, new: Cell, selected: set[str]) -> Iterator[Accuracy]:
        """Yield the change of the primary metric, and of the metrics in ``selected``."""
        if all(o.status is Status.SKIPPED for o in (*old.outcomes, *new.outcomes)):
            return
        primary = self.scorer.primary(Task(new.task))
        for metric in self.scorer.metrics(Task(new.task)):
            if metric is primary or metric.name in selected:
                yield self._judged(old, new, metric)

    def _judged(self, old: Cell, new: Cell, metric: Metric) -> Accuracy:
        def losses(cell: Cell) -> Losses:
            return Losses.of(cell, self.scorer, metric)

        best = Best(losses(cell) for cell in self.by_dataset[new.dataset])
        evidence = evidence_of(losses(new), losses(old), self.scorer, best)
        pair = replace(evidence.pair, reference=self.old)
        tolerance = self.tolerances.get(metric.name)
        return judge(replace(evidence, pair=pair, margin=tolerance), self.share)


# ------------------------------------------------------------------ seconds and statuses


def _seconds(old: Cell, new: Cell) -> Iterator[Seconds]:
    remeasured = any(a != b for a, b in zip(old.outcomes, new.outcomes, strict=True))
    for phase, after in new.seconds.items():
        if phase in old.seconds:
            yield Seconds(new.algorithm, new.dataset, phase, old.seconds[phase], after, remeasured)


def _turns(
    old: Mapping[str, Outcome], new: Mapping[str, Outcome], cells: Iterable[str]
) -> Iterator[OutcomeChange]:
    for cell in cells:
        before, after = old[cell], new[cell]
        if before.status is not after.status:
            trial = after.trial
            ends = (before.status.value, after.status.value)
            yield OutcomeChange(trial.algorithm, trial.dataset, trial.split.label, *ends)
