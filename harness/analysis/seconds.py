"""Typical times of trials, and which trials' times are comparable.

Times of different machines are never pooled. If a run used several machines (a cluster, or a store
that was moved), the times of the hardware class with the most trials are shown for every algorithm,
with the number of trials left out. Within a class, trials that had the machine to themselves have
priority over those that ran beside others, whose times are rough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from harness.core.model import Outcome, Sample, Status


@dataclass(frozen=True)
class Timing:
    """Typical times of some trials."""

    seconds: Mapping[str, float]  # phase → median wall seconds, of warm calls if there are any
    crowded: bool  # whether all of these trials ran beside others


def machine_of(outcome: Outcome) -> str:
    """Return the hardware class that a trial ran on; "" if its worker recorded none."""
    return str(outcome.facts.get("machine") or "")


def machines_of(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return the number of finished trials by hardware class, the largest first."""
    counted = Counter(machine_of(o) for o in outcomes if o.status is Status.DONE)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def counts(outcome: Outcome, machines: Mapping[str, int]) -> bool:
    """Return whether a trial's times are comparable; ``machines`` is `machines_of` its run."""
    return machine_of(outcome) == next(iter(machines), "")


def left_out(machines: Mapping[str, int]) -> str:
    """Return a sentence about the trials that are left out of the times; "" if there are none."""
    first, *others = [*machines.items()] or [("", 0)]
    if not others:
        return ""
    kept = f"machine {first[0]}" if first[0] else "an unrecorded machine"
    trials = sum(n for _, n in others)
    return (
        f"Times are those of {first[1]:,} trials on {kept}; {trials:,} on "
        f"{len(others)} other kind{'s' if len(others) > 1 else ''} of machine are left out."
    )


def timing_of(outcomes: Iterable[Outcome], machine: str) -> Timing:
    """Return the typical times on one hardware class, of trials that ran alone if there are any."""
    there = [o for o in outcomes if o.status is Status.DONE and machine_of(o) == machine]
    alone = [o for o in there if o.facts.get("alone") is not False]
    return Timing(typical_seconds(alone or there), crowded=bool(there) and not alone)


def typical_seconds(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the median wall seconds of each phase, of warm calls if there are any."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for outcome in outcomes:
        for sample in outcome.samples if outcome.status is Status.DONE else ():
            samples[sample.phase].append(sample)
    return {
        phase: median([s.wall for s in timed if not s.cold] or [s.wall for s in timed])
        for phase, timed in samples.items()
    }
