"""The argument of every section: the view of a run, with helpers that sections share."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

from harness.analysis.run_view import Accuracy, Cell, RunView, Speed
from harness.analysis.verdicts import MARGIN
from harness.core.model import FAILURES, DuelOutcome, Outcome, Status
from reports.text.commands import command, duels_again, run_again
from reports.text.format import short, slug
from reports.text.means import mean

PHASES = ("import", "compile", "load", "preparation", "native", "fit", "predict", "predict_one")


@dataclass(frozen=True)
class Pair:
    """An algorithm and its reference."""

    algorithm: str
    reference: str


class Page:
    """The run that a report is about.

    Attributes
    ----------
    view : RunView
        The stored data of the run; all other members are derived from it.
    """

    def __init__(self, view: RunView) -> None:
        self.view = view

    def of_run(self, key: str) -> str:
        """Return a text field of the run: id, name, started, ended or status."""
        return str(self.view.run.get(key) or "")

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The resolved experiment."""
        config = self.view.run.get("config") or {}
        return config.get("experiment", config) if isinstance(config, Mapping) else {}

    @property
    def own_files(self) -> list[str]:
        """The names of the user's own files, without their folders."""
        config = self.view.run.get("config") or {}
        files = config.get("files", []) if isinstance(config, Mapping) else []
        return [PurePath(str(file.get("path", ""))).name for file in files if file]

    # -------------------------------------------------------------- cells

    @cached_property
    def names(self) -> dict[int, str]:
        """Name of each cell, by position: the algorithm and the params that distinguish it."""
        prepared: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for cell in self.view.cells:
            key = canonical(cell.params)
            prepared[cell.algorithm, key, cell.dataset].add(cell.preparation)
        several = {(a, key) for (a, key, _), found in prepared.items() if len(found) > 1}
        names = {}
        for position, cell in enumerate(self.view.cells):
            notes = [track_name(cell.tracks)] if cell.tracks else []
            notes += _differences(cell.params, self._rivals(cell))
            if (cell.algorithm, canonical(cell.params)) in several:
                notes.append(cell.preparation)
            names[position] = f"{cell.algorithm} ({', '.join(notes)})" if notes else cell.algorithm
        return names

    def _rivals(self, cell: Cell) -> list[Mapping[str, Any]]:
        """Return the sets of params of one algorithm on the same tracks."""
        key = (cell.algorithm, cell.tracks)
        return list(self._params[key].values())

    @cached_property
    def _params(self) -> dict[tuple[str, tuple[str, ...]], dict[str, Mapping[str, Any]]]:
        sets: dict[tuple[str, tuple[str, ...]], dict[str, Mapping[str, Any]]] = defaultdict(dict)
        for cell in self.view.cells:
            sets[cell.algorithm, cell.tracks][canonical(cell.params)] = cell.params
        return sets

    def variant(self, algorithm: str, params: Mapping[str, Any]) -> str:
        """Return the params that distinguish a set from others of its algorithm: "max_bin=15"."""
        key = canonical(params)
        for (name, _), sets in self._params.items():
            if name == algorithm and key in sets:
                return ", ".join(_differences(params, sets.values()))
        return ""

    @cached_property
    def by_dataset(self) -> dict[str, list[tuple[str, Cell]]]:
        """(name, cell) for each dataset, sorted by mean primary metric, best first."""
        cells_of: dict[str, list[tuple[str, Cell]]] = defaultdict(list)
        for position, cell in enumerate(self.view.cells):
            cells_of[cell.dataset].append((self.names[position], cell))
        for cells in cells_of.values():
            cells.sort(key=lambda named: (self.badness(named[1]), named[0]))
        return dict(cells_of)

    def metric(self, cell: Cell) -> str:
        """Return the name of the metric of this cell's verdicts."""
        judged = self._judged.get(cell.dataset, set())
        primary = [m for m in cell.scores if self.view.metrics.get(m, {}).get("primary")]
        primary.sort(key=lambda name: name not in judged)
        scored = [name for name in primary if any(map(math.isfinite, cell.scores[name]))]
        return next(iter([*scored, *primary, *cell.scores]), "")

    @cached_property
    def _judged(self) -> dict[str, set[str]]:
        """Dataset → metrics of its verdicts."""
        metrics: dict[str, set[str]] = defaultdict(set)
        for verdict in self.view.accuracy:
            metrics[verdict.dataset].add(verdict.metric)
        return metrics

    def lower_is_better(self, metric: str) -> bool:
        """Whether a smaller value of a metric is better."""
        return bool(self.view.metrics.get(metric, {}).get("lower_is_better", True))

    def score(self, cell: Cell, metric: str = "") -> float:
        """Return the mean over finished splits of a metric (the primary one), or NaN."""
        return mean(cell.scores.get(metric or self.metric(cell), ()))

    def badness(self, cell: Cell) -> float:
        """Return the primary metric with the sign for smaller is better; infinite if missing.

        A mean over fewer splits than others have is not ranked: the missing one may be hard.
        """
        value = self.score(cell)
        if math.isnan(value) or not self.scored(cell) >= self._scored_on[cell.dataset]:
            return math.inf
        return value if self.lower_is_better(self.metric(cell)) else -value

    def scored(self, cell: Cell) -> set[tuple[str, int]]:
        """Return the splits and seeds on which a cell has its primary metric."""
        scores = cell.scores.get(self.metric(cell), ())
        trials = [outcome.trial for outcome in cell.outcomes]
        known = [t for t, s in zip(trials, scores, strict=False) if math.isfinite(s)]
        return {(trial.split.label, trial.seed) for trial in known}

    @cached_property
    def _scored_on(self) -> dict[str, set[tuple[str, int]]]:
        """Dataset → the splits and seeds on which any cell has its primary metric."""
        splits: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for cell in self.view.cells:
            splits[cell.dataset] |= self.scored(cell)
        return splits

    def is_reference(self, algorithm: str) -> bool:
        """Whether an algorithm comes from another library."""
        return self.view.algorithms.get(algorithm, {}).get("origin") == "reference"

    # -------------------------------------------------------------- outcomes

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Every outcome of every cell."""
        return [outcome for cell in self.view.cells for outcome in cell.outcomes]

    @property
    def done(self) -> list[Outcome]:
        """The outcomes with a result."""
        return [o for o in self.outcomes if o.status is Status.DONE]

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes that failed."""
        return [o for o in self.outcomes if o.status in FAILURES]

    @property
    def skipped(self) -> list[Outcome]:
        """The skipped outcomes, with their reasons."""
        return [o for o in self.outcomes if o.status is Status.SKIPPED]

    @property
    def failed_duels(self) -> list[DuelOutcome]:
        """The duels that did not finish."""
        return [d for d in self.view.duels if d.status is not Status.DONE]

    @property
    def reused(self) -> int:
        """Number of outcomes reused from earlier runs."""
        return sum(sum(cell.reused) for cell in self.view.cells)

    @property
    def margin(self) -> float:
        """Equivalence margin over datasets, a share of the gap."""
        pooled = [a.margin for a in self.view.accuracy if not a.dataset]
        return pooled[0] if pooled else MARGIN

    def losses(self, datasets: Iterable[str]) -> dict[str, dict[str, float]]:
        """Return name → dataset → mean primary metric, with the sign for smaller is better."""
        losses: dict[str, dict[str, float]] = defaultdict(dict)
        for dataset in datasets:
            for name, cell in self.by_dataset[dataset]:
                mine = losses[name]
                if math.isfinite(loss := self.badness(cell)):
                    mine[dataset] = loss
        return losses

    # -------------------------------------------------------------- pairs

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every pair with a verdict or a duel; A/A duels are left out."""
        pairs: dict[Pair, None] = {}
        for verdict in self.view.accuracy:
            pairs[Pair(verdict.algorithm, verdict.reference)] = None
        for speed in self.view.speed:
            if speed.algorithm != speed.reference or len(set(speed.environments)) > 1:
                pairs[Pair(speed.algorithm, speed.reference)] = None
        return list(pairs)

    @cached_property
    def _accuracy(self) -> dict[Pair, list[Accuracy]]:
        return _by_pair(self.view.accuracy)

    @cached_property
    def _speed(self) -> dict[Pair, list[Speed]]:
        return _by_pair(self.view.speed)

    def accuracy(self, pair: Pair, *, pooled: bool = False) -> list[Accuracy]:
        """Return a pair's verdicts on each dataset, or those pooled over datasets."""
        return [a for a in self._accuracy.get(pair, []) if (a.dataset == "") is pooled]

    def speed(self, pair: Pair, phase: str = "", *, pooled: bool = False) -> list[Speed]:
        """Return a pair's speeds on each dataset, or those pooled over datasets."""
        speeds = [s for s in self._speed.get(pair, []) if (s.dataset == "") is pooled]
        return [s for s in speeds if phase in ("", s.phase)]

    # -------------------------------------------------------------- anchors and commands

    def anchor(self, kind: str, name: str) -> str:
        """Return an anchor in the page, such as ``dataset-iris``."""
        return f"{kind}-{slug(name)}"

    def command(self, *words: str) -> str:
        """Return a harness command line, or "" if it cannot be written; see :func:`command`."""
        return command(self.view.run, *words)

    def again(self, algorithms: Iterable[str] = (), datasets: Iterable[str] = ()) -> str:
        """Return the command that repeats cells, or "" if it cannot be exact.

        Without algorithms or datasets it repeats all of them. Seeds, params, capacity, own
        files and plugins are those stored with the run.
        """
        return run_again(
            self.view.run, _part(algorithms, self._known[0]), _part(datasets, self._known[1])
        )

    @cached_property
    def _known(self) -> tuple[set[str], set[str]]:
        """The names of the algorithms and of the datasets."""
        cells = self.view.cells
        return {cell.algorithm for cell in cells}, {cell.dataset for cell in cells}

    def duels_again(self, duels: Iterable[DuelOutcome]) -> str:
        """Return one command a line that repeats duels, or "" if none can be exact."""
        return duels_again(self.view.run, (outcome.duel.id for outcome in duels))


def track_name(tracks: Iterable[str]) -> str:
    """Return "equal capacity", or the short "equal and default" if params are of several tracks."""
    names = [short(track) for track in tracks]
    words = {"equal": "equal capacity", "default": "library default"}
    return words.get(names[0], names[0]) if len(names) == 1 else " and ".join(names)


def canonical(params: Mapping[str, Any]) -> str:
    """Return params as text; equal params give equal text."""
    return json.dumps(params, sort_keys=True, default=str)


def _differences(mine: Mapping[str, Any], every: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return "key=value" for the params of this set that differ between the sets."""
    sets = list(every)
    keys = sorted({key for params in sets for key in params})
    varied = [k for k in keys if len({canonical({k: s.get(k)}) for s in sets}) > 1]
    pairs = [f"{key}={short(mine[key], 20)}" for key in varied if key in mine]
    return pairs or ["defaults"] * bool(varied)


def _part(chosen: Iterable[str], known: set[str]) -> list[str]:
    """Return names in order; empty if they are all names."""
    names = list(dict.fromkeys(chosen))
    return names if known - set(names) else []


def _by_pair(records: Iterable[Any]) -> dict[Pair, list[Any]]:
    by_pair: dict[Pair, list[Any]] = defaultdict(list)
    for record in records:
        by_pair[Pair(record.algorithm, record.reference)].append(record)
    return by_pair
