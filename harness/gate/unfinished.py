"""Planned measurements that a gate did not finish: their decisions are undecided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.analysis.gates import Decision
from harness.analysis.run_view import RunView
from harness.config.experiment import Gate
from harness.gate.decision import GATED, make_decision
from harness.planning.plan import Plan
from harness.planning.tree_comparisons import Match

Where = tuple[str, str]  # an algorithm as the head calls it, and a dataset


@dataclass(frozen=True)
class Unfinished:
    """Algorithms and datasets with unfinished measurements, by kind of measurement."""

    trials: frozenset[Where] = frozenset()
    duels: frozenset[Where] = frozenset()
    matches: frozenset[tuple[str, str, str]] = frozenset()  # algorithm, reference, dataset

    def covers(self, decision: Decision) -> bool:
        """Return whether a decision rests on unfinished measurements; a failure always stands.

        A decision without a dataset means that the algorithm has no measurement at all.
        """
        kind = decision.gate.kind
        if decision.state == "fail" or kind == "parity_level":
            return False
        places = self.duels if kind == "speed" else self.trials
        names = {name for name, _ in places}
        where = (decision.algorithm, decision.dataset)
        return where in places or (not decision.dataset and decision.algorithm in names)


def find_unfinished(
    plan: Plan, matches: Iterable[Match], view: RunView, compared: Iterable[str]
) -> Unfinished:
    """Return the part of a plan that has no outcome.

    Parameters
    ----------
    plan, matches
        Both sides of each algorithm, and of each claimed parity level.
    view
        The measurements of the run.
    compared
        The ids of the finished tree comparisons.
    """
    trials = {outcome.trial.id for cell in view.cells for outcome in cell.outcomes}
    duels = {outcome.duel.id for outcome in view.duels}
    made = set(compared)
    return Unfinished(
        frozenset(
            (job.algorithm, job.dataset.name)
            for job in plan.jobs
            if any(trial.id not in trials for trial in job.trials)
        ),
        frozenset(
            (duel.a.algorithm, duel.a.dataset.name) for duel in plan.duels if duel.id not in duels
        ),
        frozenset(
            (match.a.algorithm, match.b.algorithm, match.a.dataset.name)
            for match in matches
            if match.what["id"] not in made
        ),
    )


def mark_unfinished(
    decisions: Iterable[Decision], unfinished: Unfinished, base: str, reason: str
) -> Iterator[Decision]:
    """Yield the decisions; replace those that rest on unfinished measurements by undecided ones.

    Parameters
    ----------
    base
        The commit of the base, in the form used in names.
    reason
        Reason why they are unfinished.
    """
    kept = [decision for decision in decisions if not unfinished.covers(decision)]
    yield from kept
    failed = {_key(d.gate, d.dataset) for d in kept if d.state == "fail"}
    for gate, dataset in _gates(unfinished, base):
        if gate.kind == "parity_level" or _key(gate, dataset) not in failed:
            yield make_decision(gate, "undecided", reason, dataset)


def _gates(unfinished: Unfinished, base: str) -> Iterator[tuple[Gate, str]]:
    """Yield each gate that was not measured, with its dataset."""
    for name, dataset in sorted(unfinished.trials):
        pair = {"algorithm": name, "reference": f"{name}@{base}"}
        yield Gate(kind="accuracy", **pair), dataset
        for phase in GATED:
            yield Gate(kind="memory", phase=phase, **pair), dataset
    for name, dataset in sorted(unfinished.duels):
        pair = {"algorithm": name, "reference": f"{name}@{base}"}
        for phase in GATED:
            yield Gate(kind="speed", phase=phase, **pair), dataset
    for name, reference, dataset in sorted(unfinished.matches):
        yield Gate(kind="parity_level", algorithm=name, reference=reference, limit="L0"), dataset


def _key(gate: Gate, dataset: str) -> tuple[str, str, str, str]:
    return gate.kind, gate.phase, gate.algorithm, dataset
