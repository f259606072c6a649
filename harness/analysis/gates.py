"""Gates: claims about a stored run, decided by the bounds of intervals.

A gate passes if the whole interval is within the limit and fails if the whole interval is beyond
it. Otherwise, or if nothing was measured, it is *undecided*.

- ``accuracy``: the loss may be worse by ``limit`` of the gap. It passes by the 90 % interval (one
  side of it has an error of 5 %) and fails by the 95 % interval. A trial of ours without a score
  fails it. If no algorithm beats the constant model there is no gap, and the loss may not be worse.
- ``speed``, ``memory``: the reference's time or memory over ours is at least ``limit``. Only
  launches count as units, and the ratio must be beyond the limit by more than the noise floor. If
  our side ended the duel it fails; if the reference ended it, it is undecided.
- ``parity_level``: the parity level is ``limit`` or higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from harness.analysis.run_view import Accuracy, Interval, Parity, RunView, Speed
from harness.config.experiment import Gate
from harness.core.model import DuelOutcome, Status
from harness.core.parity_level import reaches

State = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True)
class Decision:
    """The decision of one gate on one pair and dataset (``""``: over all datasets)."""

    gate: Gate
    state: State
    reason: str
    algorithm: str
    reference: str
    dataset: str
    limit: float | str
    measured: Interval | None = None  # in the unit of the limit; higher is better


def gates_of(config: Mapping[str, Any]) -> list[Gate]:
    """Return the gates that a stored run's own experiment declares."""
    declared = config.get("experiment", {}).get("gate", ())
    return [Gate.model_validate(gate) for gate in declared]


def decide_gates(gates: Iterable[Gate], view: RunView) -> list[Decision]:
    """Return the decisions of each gate on its pairs and datasets.

    A gate that matches nothing in the run gives one undecided decision, so that a misspelled name
    never passes.
    """
    decide = {
        "accuracy": _accuracy,
        "speed": _speed,
        "memory": _memory,
        "parity_level": _parity_level,
    }
    return [
        decision
        for gate in gates
        for decision in list(decide[gate.kind](gate, view)) or [_no_match(gate)]
    ]


def state_of(decisions: Iterable[Decision]) -> State:
    """Return the joint state: fail if any failed, else undecided if any is undecided."""
    states = {decision.state for decision in decisions}
    if "fail" in states:
        return "fail"
    return "undecided" if "undecided" in states else "pass"


# ------------------------------------------------------------------ accuracy


def _accuracy(gate: Gate, view: RunView) -> Iterator[Decision]:
    for verdict in view.accuracy:
        on_track = gate.track in (None, verdict.track)
        if on_track and (verdict.dataset == "") is gate.pooled and _applies_to(gate, verdict):
            has_gap = verdict.gap > 0
            declared = verdict.margin / verdict.gap if has_gap else 0.0
            limit = declared if gate.limit is None else float(gate.limit)
            state, reason = _decide_accuracy(verdict, limit)
            measured = _as_share_of_gap(verdict.difference, verdict.gap) if has_gap else None
            text = "; ".join(filter(None, [verdict.track and f"{verdict.track} track", reason]))
            yield _decision(gate, verdict, state, text, -limit, measured)


def _decide_accuracy(verdict: Accuracy, limit: float) -> tuple[State, str]:
    """Return whether the loss is worse by no more than a share of the gap, with the reason."""
    if verdict.failed[0]:
        return "fail", f"without a score: {verdict.failed[0]} of its trials"
    if unreadable := _unreadable(verdict):
        return "undecided", unreadable
    assert verdict.inner is not None
    least, notes = -limit * max(verdict.gap, 0.0), "; ".join(verdict.notes)
    if verdict.inner.low >= least:
        return "pass", notes
    if verdict.difference.high < least:
        return "fail", notes
    return "undecided", verdict.advice or "the interval reaches across the limit"


def _unreadable(verdict: Accuracy) -> str:
    """Return the reason why the intervals of a verdict cannot be used; empty if they can."""
    if verdict.inner is None or not math.isfinite(verdict.inner.low):
        return verdict.advice or "too few splits for an interval"
    if verdict.error == 0 and verdict.verdict == "inconclusive":
        return verdict.advice  # equal differences have no variance
    return ""


# ------------------------------------------------------------------ speed and memory


def _speed(gate: Gate, view: RunView) -> Iterator[Decision]:
    yield from _decide_failed_duels(gate, view)
    for speed in _speeds(gate, view):
        if speed.phase == gate.phase:
            floor = speed.floor or 0.0
            state, reason = decide_ratio(speed.ratio, speed.unit, _min_ratio(gate), floor)
            text = "; ".join(filter(None, [reason, *speed.notes]))
            yield _decision(gate, speed, state, text, _min_ratio(gate), speed.ratio)


def _memory(gate: Gate, view: RunView) -> Iterator[Decision]:
    yield from _decide_failed_duels(gate, view)
    for speed in _speeds(gate, view):
        if speed.phase == "fit" and speed.memory is not None:
            unit = speed.unit if gate.pooled else "launch"
            state, reason = decide_ratio(speed.memory, unit, _min_ratio(gate), 0.0)
            yield _decision(gate, speed, state, reason, _min_ratio(gate), speed.memory)


def decide_ratio(ratio: Interval, unit: str, least: float, floor: float) -> tuple[State, str]:
    """Return whether a ratio is at least ``least``, with the reason if it is undecided."""
    if unit == "block":
        return "undecided", "too few launches for a gate: set duels.launches to 8 or more"
    if not math.isfinite(ratio.high):
        return "undecided", ratio.note
    if ratio.low >= least and ratio.value >= least * (1 + floor):
        return "pass", ""
    if ratio.high < least and ratio.value < least / (1 + floor):
        return "fail", ""
    if ratio.low < least <= ratio.high:
        return "undecided", "the interval reaches across the limit"
    return "undecided", f"within the noise floor of ±{floor:.1%} around the limit"


def _speeds(gate: Gate, view: RunView) -> Iterator[Speed]:
    failed = _failed_duels(view)
    for speed in view.speed:
        names = _Names(speed.algorithm, speed.reference, speed.dataset)
        if (
            (speed.dataset == "") is gate.pooled
            and names not in failed
            and _applies_to(gate, names)
        ):
            yield speed


class _Names(NamedTuple):
    algorithm: str
    reference: str
    dataset: str


def _failed_duels(view: RunView) -> dict[_Names, DuelOutcome]:
    return {_names(duel): duel for duel in view.duels if duel.status is not Status.DONE}


def _names(outcome: DuelOutcome) -> _Names:
    duel = outcome.duel
    a, b = (job.trials[0].algorithm for job in (duel.a, duel.b))
    return _Names(a, b, duel.a.dataset.name)


def _decide_failed_duels(gate: Gate, view: RunView) -> Iterator[Decision]:
    """Yield the decision on each duel that failed: a failure of our side fails the gate."""
    for names, outcome in _failed_duels(view).items():
        if _applies_to(gate, names):
            why = outcome.failure.message if outcome.failure else outcome.status.value
            state: State = "fail" if outcome.facts.get("failed_side") == "a" else "undecided"
            yield _decision(gate, names, state, f"the duel ended: {why}", _min_ratio(gate))


def _min_ratio(gate: Gate) -> float:
    return 1.0 if gate.limit is None else float(gate.limit)


# ------------------------------------------------------------------ parity levels


def _parity_level(gate: Gate, view: RunView) -> Iterator[Decision]:
    required = str(gate.limit)
    for parity in view.parity:
        if _applies_to(gate, parity):
            level = f"reaches {parity.parity_level or 'no parity level'}"
            reason = "; ".join(filter(None, [level, parity.reason]))
            yield _decision(gate, parity, _decide_parity(parity, required), reason, required)


def _decide_parity(parity: Parity, required: str) -> State:
    """Return whether a parity level is reached; undecided if nothing was compared."""
    if reaches(parity.parity_level, required):
        return "pass"
    if required == "L0":
        return "fail" if parity.verdict == "worse" else "undecided"
    return "undecided" if parity.comparison is None else "fail"


# ------------------------------------------------------------------ common


def _applies_to(gate: Gate, record: Any) -> bool:
    """Return whether a gate applies to a record of a pair; a pooled gate matches no dataset."""
    return (
        record.algorithm != record.reference
        and fnmatchcase(record.algorithm, gate.algorithm)
        and fnmatchcase(record.reference, gate.reference)
        and (gate.pooled or any(fnmatchcase(record.dataset, g) for g in gate.datasets))
    )


def _decision(
    gate: Gate,
    record: Any,
    state: State,
    reason: str,
    limit: float | str,
    measured: Interval | None = None,
) -> Decision:
    names = (record.algorithm, record.reference, record.dataset)
    return Decision(gate, state, reason, *names, limit=limit, measured=measured)


def _no_match(gate: Gate) -> Decision:
    nouns = {"accuracy": "verdict", "parity_level": "parity result"}
    what = nouns.get(gate.kind, f"{gate.phase} duel")
    where = "pooled over datasets" if gate.pooled else f"on {', '.join(gate.datasets)}"
    reason = f"no {what} of {gate.algorithm} against {gate.reference} {where} in this run"
    limit = "" if gate.limit is None else gate.limit
    return Decision(gate, "undecided", reason, gate.algorithm, gate.reference, "", limit)


def _as_share_of_gap(interval: Interval, gap: float) -> Interval:
    """Return a difference of the loss as a share of the gap."""
    low, value, high = (x / gap for x in (interval.low, interval.value, interval.high))
    return Interval(low, value, high, interval.level, interval.n, interval.note)
