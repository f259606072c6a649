"""What a gate had planned and did not get done: it is undecided, never passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.analysis.gates import Decision
from harness.analysis.run_view import RunView
from harness.config.experiment import Gate
from harness.gate.decision import GATED, decided
from harness.planning.plan import Plan
from harness.planning.tree_comparisons import Match

Where = tuple[str, str]  # an algorithm as the head calls it, and a dataset


@dataclass(frozen=True)
class Undone:
    """Algorithms and datasets of which something was not measured, by what it was."""

    trials: frozenset[Where] = frozenset()
    duels: frozenset[Where] = frozenset()
    matches: frozenset[tuple[str, str, str]] = frozenset()  # with the reference in the middle

    def covers(self, decision: Decision) -> bool:
        """Return whether a decision rests on what was not measured; a failure stands all the same.

        One without a dataset says that nothing at all was found of an algorithm.
        """
        kind = decision.gate.kind
        if decision.state == "fail" or kind == "rung":
            return False
        places = self.duels if kind == "speed" else self.trials
        names = {name for name, _ in places}
        where = (decision.algorithm, decision.dataset)
        return where in places or (not decision.dataset and decision.algorithm in names)


def find_undone(
    plan: Plan, matches: Iterable[Match], view: RunView, compared: Iterable[str]
) -> Undone:
    """Return what of a plan has no outcome.

    Parameters
    ----------
    plan, matches
        Both sides of each algorithm, and of each claim.
    view
        What was measured.
    compared
        The ids of the comparisons of trees that were made.
    """
    trials = {outcome.trial.id for cell in view.cells for outcome in cell.outcomes}
    duels = {outcome.duel.id for outcome in view.duels}
    made = set(compared)
    return Undone(
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


def told_undone(
    decisions: Iterable[Decision], undone: Undone, base: str, reason: str
) -> Iterator[Decision]:
    """Yield decisions, and in the place of those that rest on what was not measured undecided ones.

    Parameters
    ----------
    base
        The commit of the base, as it stands in names.
    reason
        Why it was not measured.
    """
    kept = [decision for decision in decisions if not undone.covers(decision)]
    yield from kept
    failed = {_key(d.gate, d.dataset) for d in kept if d.state == "fail"}
    for gate, dataset in _gates(undone, base):
        if gate.kind == "rung" or _key(gate, dataset) not in failed:
            yield decided(gate, "undecided", reason, dataset)


def _gates(undone: Undone, base: str) -> Iterator[tuple[Gate, str]]:
    """Yield each gate that was not measured, with its dataset."""
    for name, dataset in sorted(undone.trials):
        pair = {"algorithm": name, "reference": f"{name}@{base}"}
        yield Gate(kind="accuracy", **pair), dataset
        for phase in GATED:
            yield Gate(kind="memory", phase=phase, **pair), dataset
    for name, dataset in sorted(undone.duels):
        pair = {"algorithm": name, "reference": f"{name}@{base}"}
        for phase in GATED:
            yield Gate(kind="speed", phase=phase, **pair), dataset
    for name, reference, dataset in sorted(undone.matches):
        yield Gate(kind="rung", algorithm=name, reference=reference, limit="L0"), dataset


def _key(gate: Gate, dataset: str) -> tuple[str, str, str, str]:
    return gate.kind, gate.phase, gate.algorithm, dataset
