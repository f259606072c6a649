"""Compare the duels and tree comparisons of two stored runs.

A ratio comes from alternating calls, so the ratios of two runs are comparable: if their intervals
do not overlap, something changed. Both ratios are shown; no ratio of ratios is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.analysis.run_view import Interval, Parity, Speed
from harness.core.ids import canonical


@dataclass(frozen=True)
class RatioChange:
    """The ratio of a duel in both runs: time of the reference over time of ours."""

    algorithm: str
    reference: str
    dataset: str
    phase: str
    old: Interval
    new: Interval

    @property
    def verdict(self) -> str:
        """``faster`` or ``slower`` if the intervals do not overlap, else ``undecided``."""
        if self.new.low > self.old.high:
            return "faster"
        return "slower" if self.new.high < self.old.low else "undecided"


@dataclass(frozen=True)
class ParityLevelChange:
    """The parity level of a pair on a dataset in both runs; "" if no level is reached."""

    algorithm: str
    reference: str
    dataset: str
    mode: str  # the algorithm's param ``parity``; "" is its default mode
    old: str
    new: str


def ratio_changes(old: Iterable[Speed], new: Iterable[Speed]) -> tuple[RatioChange, ...]:
    """Return the ratios of every duel and phase in both runs.

    Two duels are the same if both sides have the same params, threads and rows.
    """
    before = _by_subject(old)
    return tuple(
        RatioChange(s.algorithm, s.reference, s.dataset, s.phase, before[key].ratio, s.ratio)
        for key, s in _by_subject(new).items()
        if key in before
    )


def _by_subject(speeds: Iterable[Speed]) -> Mapping[tuple[str, ...], Speed]:
    return {
        (s.algorithm, s.reference, s.dataset, s.phase, s.subject): s
        for s in speeds
        if s.dataset and s.algorithm != s.reference
    }


def parity_level_changes(
    old: Iterable[Parity], new: Iterable[Parity]
) -> tuple[ParityLevelChange, ...]:
    """Return the parity levels of every pair and dataset that both runs compared."""
    before = {_place(parity): parity for parity in old}
    return tuple(
        ParityLevelChange(
            parity.algorithm,
            parity.reference,
            parity.dataset,
            str(parity.params[0].get("parity") or ""),
            before[place].parity_level,
            parity.parity_level,
        )
        for parity in new
        if (place := _place(parity)) in before
    )


def _place(parity: Parity) -> tuple[str, ...]:
    params = map(canonical, parity.params)
    return (parity.algorithm, parity.reference, parity.dataset, parity.preparation, *params)
