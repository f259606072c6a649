"""Which trials' seconds may stand beside each other, and what is typical of them.

Seconds of unlike machines are never pooled: a run that was carried out on several (a cluster, a
store that was carried elsewhere) shows those of the hardware class that most of its trials ran on,
for every algorithm, and says how many it leaves out. Within a class, trials that had the machine
to themselves go before those that ran beside others, whose times are rough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from harness.core.model import Outcome, Sample, Status


@dataclass(frozen=True)
class Timing:
    """What the seconds of some trials are of.

    Attributes
    ----------
    seconds
        Phase → median wall seconds, of warm calls where there are any.
    crowded
        Whether all of these trials ran beside others.
    """

    seconds: Mapping[str, float]
    crowded: bool


def machine_of(outcome: Outcome) -> str:
    """Return the hardware class that a trial ran on, as its worker told; "" where it did not."""
    return str(outcome.facts.get("machine") or "")


def machines_of(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return how many finished trials each hardware class ran, the one with most of them first."""
    counted = Counter(machine_of(o) for o in outcomes if o.status is Status.DONE)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def counts(outcome: Outcome, machines: Mapping[str, int]) -> bool:
    """Say whether a trial's seconds may stand beside those of others; of `machines_of` its run."""
    return machine_of(outcome) == next(iter(machines), "")


def left_out(machines: Mapping[str, int]) -> str:
    """Return in a sentence which trials no seconds are of; "" where all ran on one class."""
    first, *others = [*machines.items()] or [("", 0)]
    if not others:
        return ""
    kept = f"machine {first[0]}" if first[0] else "a machine that was not written down"
    trials = sum(n for _, n in others)
    return (
        f"Times are those of {first[1]:,} trials on {kept}; {trials:,} on "
        f"{len(others)} other kind{'s' if len(others) > 1 else ''} of machine are left out of them."
    )


def timing_of(outcomes: Iterable[Outcome], machine: str) -> Timing:
    """Return what is typical of trials on one hardware class, of those that ran alone if any."""
    there = [o for o in outcomes if o.status is Status.DONE and machine_of(o) == machine]
    alone = [o for o in there if o.facts.get("alone") is not False]
    return Timing(typical_seconds(alone or there), crowded=bool(there) and not alone)


def typical_seconds(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the median wall seconds of each phase, of warm calls where there are any."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for outcome in outcomes:
        for sample in outcome.samples if outcome.status is Status.DONE else ():
            samples[sample.phase].append(sample)
    return {
        phase: median([s.wall for s in found if not s.cold] or [s.wall for s in found])
        for phase, found in samples.items()
    }
