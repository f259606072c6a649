"""Construction of duels: length or stopping rule, and id."""

from __future__ import annotations

from dataclasses import replace

from harness.analysis.interim_analysis import INTERIM_LAUNCHES
from harness.config.experiment import Duels
from harness.core import ids
from harness.core.model import Duel, Job, StopRule, to_json

DUEL_VERSION = 3  # increase when duels are timed differently


def make_duel(
    a: Job,
    b: Job,
    launches: int,
    blocks: int,
    stop: StopRule | None = None,
    phases: tuple[str, ...] = Duel.phases,
) -> Duel:
    """Return the duel of two jobs of one timed trial each, with its id.

    A duel of an algorithm against itself has no claim, only a precision as its target.
    """
    if stop is not None and a == b:
        stop = replace(stop, claim=0.0) if stop.precision else None
    launches = stop.looks[-1] if stop else launches
    duel = Duel(a, b, "", launches=launches, blocks=blocks, phases=phases, stop=stop)
    sides = [[job.trials[0].id, job.environment.name] for job in (a, b)]
    rule = [to_json(stop)] if stop else []
    return replace(duel, id=ids.digest([DUEL_VERSION, sides, launches, blocks, duel.phases, *rule]))


def stop_rule(settings: Duels) -> StopRule | None:
    """Return the stopping rule of duels; None for a fixed number of launches."""
    if settings.precision is None and settings.claim is None:
        return None
    return StopRule(
        INTERIM_LAUNCHES, settings.phase, settings.precision or 0.0, settings.claim or 0.0
    )
