"""Selection of trials, duels and tree comparisons of a stored run that are run again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from harness.config.experiment import Experiment
from harness.core.errors import ConfigError, unknown
from harness.core.model import JSON, Duel
from harness.planning.plan import Plan
from harness.planning.tree_comparisons import Match


@dataclass(frozen=True)
class Selection:
    """Selected part of a plan; an empty tuple selects everything of its kind.

    With ``duels`` or ``cells`` nothing else is selected: duels by the cells of their two sides,
    trials by their cells, which stay the same when code or versions change.
    """

    algorithms: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    duels: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.algorithms or self.datasets or self.duels or self.cells)

    def has(self, dataset: str, *algorithms: str) -> bool:
        """Return whether this dataset and these algorithms are selected."""
        known = all(not self.algorithms or name in self.algorithms for name in algorithms)
        return known and (not self.datasets or dataset in self.datasets)

    def plan(self, plan: Plan) -> Plan:
        """Return the selected part of a plan; ids and preparations are those of the whole plan."""
        if self.duels:
            return replace(plan, jobs=(), skipped=(), duels=self._duels(plan))
        if self.cells:
            return self._trials(plan)
        return replace(
            plan,
            jobs=tuple(job for job in plan.jobs if self.has(job.dataset.name, job.name)),
            skipped=tuple(o for o in plan.skipped if self.has(o.trial.dataset, o.trial.algorithm)),
            duels=self._duels(plan),
        )

    def _trials(self, plan: Plan) -> Plan:
        jobs = [
            replace(job, trials=tuple(t for t in job.trials if t.cell in self.cells))
            for job in plan.jobs
        ]
        skipped = tuple(o for o in plan.skipped if o.trial.cell in self.cells)
        return replace(plan, jobs=tuple(j for j in jobs if j.trials), skipped=skipped, duels=())

    def _duels(self, plan: Plan) -> tuple[Duel, ...]:
        return tuple(
            duel
            for duel in plan.duels
            if self.has(duel.a.dataset.name, duel.a.name, duel.b.name)
            and (not self.duels or duel_cells(duel) in self.duels)
        )

    def matches(self, matches: Iterable[Match]) -> list[Match]:
        """Return the selected tree comparisons."""
        if self.duels or self.cells:
            return []
        return [m for m in matches if self.has(m.a.dataset.name, m.a.name, m.b.name)]

    def experiment(self, experiment: Experiment) -> Experiment:
        """Return the experiment without gates and diagnostics that need more than the selection."""
        diagnostics = experiment.diagnostics
        pairs = diagnostics.pairs
        if pairs is not None and self.algorithms:
            pairs = [pair for pair in pairs if set(pair) <= set(self.algorithms)]
        names = [] if self.duels or self.cells else diagnostics.names
        diagnostics = diagnostics.model_copy(update={"pairs": pairs, "names": names})
        return experiment.model_copy(update={"gate": [], "diagnostics": diagnostics})


def duel_cells(duel: Duel) -> str:
    """Return the cells of a duel's sides, which identify it in its run, whatever the code."""
    return " ".join(trial.cell for job in (duel.a, duel.b) for trial in job.trials)


def chosen(kind: str, patterns: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a run that match patterns (names or globs).

    Raises
    ------
    ConfigError
        If a pattern matches no name.
    """
    names = list(known)
    matching: dict[str, None] = {}
    for pattern in patterns:
        fitting = [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]
        if not fitting:
            raise ConfigError(unknown(f"{kind} of this run", pattern, names))
        matching |= dict.fromkeys(fitting)
    return tuple(matching)


def stored_selection(config: JSON) -> Selection:
    """Return the selection that a stored run was limited to."""
    parts = config.get("only") or {}
    return Selection(**{key: tuple(values) for key, values in parts.items()})
