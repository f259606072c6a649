"""Decisions from the measurements of head and base: pass, fail or undecided.

Only a change for the worse can fail. Speed and accuracy use the gates of `harness.analysis.gates`
with the base as the reference. Memory is compared split by split, in fresh fits and first
predictions. Duels do not serve for memory: their process already holds an earlier model, so memory
that a model keeps would be part of the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from harness.analysis.gates import Decision, State, decide_gates, decide_ratio
from harness.analysis.run_view import Cell, Parity, RunView
from harness.analysis.stats import hodges_lehmann, transformed
from harness.config.experiment import Gate
from harness.core.ids import canonical
from harness.core.model import FAILURES, Status
from harness.core.parity_level import reaches

LEVEL = 0.95
MIN_BYTES = 512 * 1024  # a smaller rise of the peak passes, whatever its share
GATED = ("train", "predict")
PEAKS = ("fit", "predict")
PAGE = 4096  # bytes; a smaller peak counts as one page


@dataclass(frozen=True)
class Limits:
    """Largest accepted deterioration of the head, each as a share."""

    slower: float = 0.05  # of the base's time
    larger: float = 0.10  # of the base's peak memory
    worse: float = 0.01  # of the gap between the best and the constant model's loss


def decide(view: RunView, labels: Mapping[str, str], limits: Limits) -> list[Decision]:
    """Return all decisions on the algorithms of a run.

    Parameters
    ----------
    labels
        Algorithm → its name in the base.
    """
    decisions: list[Decision] = []
    for name, label in labels.items():
        gates = decide_gates(_gates(name, label, limits), view)
        decisions += [_with_percent(_excuse_base_failure(d, view)) for d in gates]
        decisions += _memory(view, name, label, limits.larger)
        decisions += _parity_levels(view, name, label)
    return decisions


def undecided_decisions(label: str, reason: str) -> list[Decision]:
    """Return an undecided decision of each kind for all algorithms: none was measured."""
    pair = {"algorithm": "*", "reference": label}
    speeds = [Gate(kind="speed", phase=phase, **pair) for phase in GATED]
    kinds = [Gate(kind="accuracy", **pair), Gate(kind="memory", **pair)]
    return [make_decision(gate, "undecided", reason) for gate in (*kinds, *speeds)]


def failed_to_load(algorithm: str, label: str, reason: str) -> Decision:
    """Return the failure of an algorithm that the head cannot load."""
    return make_decision(
        Gate(kind="accuracy", algorithm=algorithm, reference=label), "fail", reason
    )


def make_decision(gate: Gate, state: State, reason: str, dataset: str = "") -> Decision:
    """Return a decision that rests on no measurement."""
    limit = "" if gate.limit is None else gate.limit
    return Decision(gate, state, reason, gate.algorithm, gate.reference, dataset, limit)


def _gates(name: str, label: str, limits: Limits) -> list[Gate]:
    pair = {"algorithm": name, "reference": label}
    least = 1 / (1 + limits.slower)
    speeds = [Gate(kind="speed", phase=phase, limit=least, **pair) for phase in GATED]
    return [Gate(kind="accuracy", limit=limits.worse, **pair), *speeds]


def _excuse_base_failure(decision: Decision, view: RunView) -> Decision:
    """Turn a failure into undecided if the base fails as well.

    A duel reports only the side that failed, and its dataset may differ from those of the trials.
    """
    label = decision.reference
    of_base = [o for c in view.cells if c.algorithm == label for o in c.outcomes]
    both = {
        v.dataset for v in view.accuracy if v.reference == label and 0 < v.failed[0] <= v.failed[1]
    }
    if decision.gate.kind == "accuracy":
        excused = decision.dataset in both
    else:
        excused = decision.measured is None and any(o.status in FAILURES for o in of_base)
    if decision.state != "fail" or not excused:
        return decision
    reason = f"the base fails, too; {decision.reason}"
    return replace(decision, state="undecided", reason=reason)


def _with_percent(decision: Decision) -> Decision:
    """Describe a ratio of times as a change in percent."""
    if decision.gate.kind != "speed" or decision.measured is None:
        return decision
    share = 1 / decision.measured.value - 1
    word = f"{abs(share):.1%} {'slower' if share > 0 else 'faster'} than the base"
    return replace(decision, reason="; ".join(filter(None, [word, decision.reason])))


# ------------------------------------------------------------------ memory


def _memory(view: RunView, name: str, label: str, larger: float) -> Iterator[Decision]:
    """Compare the peak of each phase on every dataset that both sides have peaks of."""
    for phase in GATED:
        heads, bases = (
            {c.dataset: peaks_of(c, phase) for c in view.cells if c.algorithm == side}
            for side in (name, label)
        )
        least = 1 / (1 + larger)
        gate = Gate(kind="memory", algorithm=name, reference=label, limit=least, phase=phase)
        for dataset, peaks in heads.items():
            base = bases.get(dataset, {})
            pairs = [(peaks[key], base[key]) for key in peaks if key in base]
            yield _compare_peaks(gate, dataset, pairs, least)


def _compare_peaks(
    gate: Gate, dataset: str, pairs: Sequence[tuple[int, int]], least: float
) -> Decision:
    """Return whether the head's peaks (the first of each pair) exceed the base's."""
    if not pairs:
        return make_decision(gate, "undecided", "no peak of both sides", dataset)
    ratio = transformed(hodges_lehmann([math.log(b / h) for h, b in pairs], LEVEL), math.exp)
    more = median(h - b for h, b in pairs)
    state, why = decide_ratio(ratio, "split", least, 0.0)
    if state != "pass" and more < MIN_BYTES:
        state, why = "pass", f"less than {MIN_BYTES // 1024} KiB more"
    what = "a fit" if gate.phase == "train" else "a prediction"
    reason = "; ".join(filter(None, [f"{more / 2**20:+.2f} MiB at the peak of {what}", why]))
    return Decision(gate, state, reason, gate.algorithm, gate.reference, dataset, least, ratio)


def peaks_of(cell: Cell, phase: str) -> dict[tuple[str, int], int]:
    """Return the peak of each split and seed, in bytes above the warm process.

    Parameters
    ----------
    cell
        An algorithm on a dataset.
    phase
        ``train`` (the peak of the fit) or ``predict``.
    """
    measured = "fit" if phase == "train" else phase
    by_split: dict[tuple[str, int], int] = {}
    for outcome in cell.outcomes:
        peaks = {name: [s.peak for s in outcome.samples if s.phase == name] for name in PEAKS}
        has_peaks = max(peaks["fit"], default=0) > 0  # false if the machine reports no peaks
        if outcome.status is Status.DONE and has_peaks and peaks[measured]:
            by_split[outcome.trial.split.label, outcome.trial.seed] = max(*peaks[measured], PAGE)
    return by_split


# ------------------------------------------------------------------ parity levels


def _parity_levels(view: RunView, name: str, label: str) -> Iterator[Decision]:
    """Compare the parity level of the head with that of the base."""
    heads = {_key(p): p for p in view.parity if p.algorithm == name}
    for base in (p for p in view.parity if p.algorithm == label):
        if (head := heads.get(_key(base))) is not None and base.parity_level:
            level, reference = base.parity_level, base.reference
            gate = Gate(kind="parity_level", algorithm=name, reference=reference, limit=level)
            state, reason = _compare_levels(head, base)
            yield Decision(gate, state, reason, name, reference, base.dataset, level)


def _compare_levels(head: Parity, base: Parity) -> tuple[State, str]:
    mode = str(head.params[0].get("parity") or "default")
    level = head.parity_level or "no parity level"
    message = f"{mode} mode reaches {level}, the base {base.parity_level}"
    reason = "; ".join(filter(None, [message, head.reason]))
    return ("pass" if reaches(head.parity_level, base.parity_level) else "fail"), reason


def _key(parity: Parity) -> tuple[str, str, str]:
    mode = parity.params[0].get("parity")
    return parity.reference, parity.dataset, canonical(mode)


def states(decisions: Iterable[Decision]) -> dict[State, int]:
    """Return the number of decisions by state."""
    counts: dict[State, int] = {"fail": 0, "undecided": 0, "pass": 0}
    for decision in decisions:
        counts[decision.state] += 1
    return counts
