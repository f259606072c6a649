"""Two stored runs beside each other: ratios of their duels, rungs of their comparisons of trees.

A ratio comes from calls that alternate, so that of one run may stand beside that of another; where
their intervals lie apart, something changed. Both ratios are shown, and no third is made of them.
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
        """``faster`` or ``slower`` where the intervals lie apart, else ``undecided``."""
        if self.new.low > self.old.high:
            return "faster"
        return "slower" if self.new.high < self.old.low else "undecided"


@dataclass(frozen=True)
class RungChange:
    """The rung of a pair on a dataset in both runs; "" is no rung."""

    algorithm: str
    reference: str
    dataset: str
    mode: str  # of the algorithm's param ``parity``; "" is its default one
    old: str
    new: str


def ratio_changes(old: Iterable[Speed], new: Iterable[Speed]) -> tuple[RatioChange, ...]:
    """Return the ratios of every duel and phase that both runs have.

    It is the same duel where both sides have the same params and threads, and the same rows.
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


def rung_changes(old: Iterable[Parity], new: Iterable[Parity]) -> tuple[RungChange, ...]:
    """Return the rungs of every pair and dataset that both runs compared."""
    before = {_place(parity): parity for parity in old}
    return tuple(
        RungChange(
            parity.algorithm,
            parity.reference,
            parity.dataset,
            str(parity.params[0].get("parity") or ""),
            before[place].rung,
            parity.rung,
        )
        for parity in new
        if (place := _place(parity)) in before
    )


def _place(parity: Parity) -> tuple[str, ...]:
    params = map(canonical, parity.params)
    return (parity.algorithm, parity.reference, parity.dataset, parity.preparation, *params)
