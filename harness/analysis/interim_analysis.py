"""Interim analyses of a duel: after which launches it may stop early, and at which level.

Stopping at the first launch whose interval looks favorable gives false alarms in one of five
duels. Therefore the interval is analyzed after 8, 12, 16 and 24 launches only, each time at 98 %:
Pocock's boundary, a constant level at every analysis (Pocock 1977, *Biometrika* 64). The intervals
are *repeated confidence intervals* (Jennison & Turnbull 1989, *JRSS B* 51): the chance that any of
the four misses the truth is 4.9 %, so the reported one covers it in 95 % of duels, whatever rule
stopped the duel. Ranks and signs of symmetric differences do not depend on the distribution, and
neither does that number. An O'Brien-Fleming boundary, which spends almost no error early, is
impossible: with 8 launches the widest signed-rank interval has 99.2 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.analysis.run_view import Interval
from harness.analysis.speed import INTERIM_LEVEL, TRAIN, ratio_of, train_blocks
from harness.core.model import Block, Duel, StopRule

INTERIM_LAUNCHES = (8, 12, 16, 24)


def stop_reason(duel: Duel, blocks: Sequence[Block]) -> str:
    """Return the reason why a duel ends after the given blocks; empty if it continues.

    Parameters
    ----------
    duel
        A duel without a stop rule never ends early.
    blocks
        All blocks so far, of whole launches.
    """
    rule, done = duel.stop, len({block.launch for block in blocks})
    if rule is None or done not in rule.looks:
        return ""
    reached, undecided = [], []
    for phase in (rule.phase, *rule.also):
        one = replace(rule, phase=phase)
        ratio = interim_interval(one, blocks)
        answers = [*precision_reached(one, ratio), *claim_decided(one, ratio)]
        reached += answers
        undecided += [] if answers else [undecided_targets(one, ratio)]
    if not undecided:
        return f"stopped after {done} launches: {'; '.join(reached)}"
    last = done == rule.looks[-1]
    return f"not reached in {done} launches: {'; '.join(undecided)}" if last else ""


def interim_interval(rule: StopRule, blocks: Sequence[Block]) -> Interval:
    """Return the interval of the rule's phase."""
    chosen = train_blocks(blocks) if rule.phase == TRAIN else phase_blocks(rule.phase, blocks)
    return ratio_of(chosen, INTERIM_LEVEL)[0]


def phase_blocks(phase: str, blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks of one phase."""
    return [block for block in blocks if block.phase == phase]


def half_width(ratio: Interval) -> float:
    """Return the half-width of a ratio's interval as a share: 0.02 for ±2 %."""
    bounded = ratio.low > 0 and math.isfinite(ratio.high)
    return math.sqrt(ratio.high / ratio.low) - 1 if bounded else math.inf


def precision_reached(rule: StopRule, ratio: Interval) -> list[str]:
    """Return a sentence if the requested precision is reached."""
    wide = half_width(ratio)
    if not rule.precision or wide > rule.precision:
        return []
    return [f"the interval of {rule.phase} reaches ±{wide:.2%}"]


def claim_decided(rule: StopRule, ratio: Interval) -> list[str]:
    """Return a sentence if the interval lies on one side of the claimed ratio."""
    if not rule.claim or ratio.low < rule.claim <= ratio.high:
        return []
    word = "holds" if ratio.low >= rule.claim else "does not hold"
    return [f"the claim that {rule.phase} is ×{rule.claim:g} or more {word}"]


def undecided_targets(rule: StopRule, ratio: Interval) -> str:
    """Describe the targets that the last interim analysis leaves undecided."""
    open_points = []
    if rule.precision:
        open_points.append(
            f"{rule.phase} ±{rule.precision:.2%} (its interval is ±{half_width(ratio):.2%})"
        )
    if rule.claim:
        open_points.append(f"the claim that {rule.phase} is ×{rule.claim:g} or more is undecided")
    return "; ".join(open_points)
