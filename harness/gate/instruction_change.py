"""Instructions of a fit of head and base: printed beside a gate, without effect on its result."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.core.errors import HarnessError
from harness.core.model import Duel
from harness.core.progress import Progress
from harness.execution.session import TooLateError
from harness.measurement.instructions import (
    NO_COUNTER,
    Counter,
    NotCountedError,
    count_fit,
    find_counter,
)

NO_TIME = "the time budget was used up"


@dataclass(frozen=True)
class InstructionChange:
    """Instructions of one warm fit on both sides.

    Attributes
    ----------
    algorithm, dataset
        Names of the algorithm and of the dataset.
    head, base
        Counts; 0 if not counted.
    tool
        ``perf`` or ``cachegrind``.
    reason
        Why there are no counts; "" if there are.
    """

    algorithm: str
    dataset: str
    head: int = 0
    base: int = 0
    tool: str = ""
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Return the change in words."""
        where = f"instructions of a fit of {self.algorithm} on {self.dataset}"
        if self.reason:
            return f"{where} were not counted: {self.reason}"
        change = f"{self.head / self.base - 1:+.1%} ({self.head:,}, base {self.base:,})"
        return f"{where}: {change}, by {self.tool}; advisory, not part of the result"


def count_changes(
    duels: Iterable[Duel], folder: Path, deadline: float, progress: Progress
) -> tuple[tuple[InstructionChange, ...], str]:
    """Return the changes of the head of each duel against its base, and a reason.

    The reason says why nothing was counted; else it is "".

    Parameters
    ----------
    duels
        Duels of the head (side A) against the base (side B).
    folder
        Folder for the workers' files.
    deadline
        Time of the monotonic clock at which a running count ends, and after which none is started.
    progress
        Progress of the gate.
    """
    planned = list(duels)
    counter = find_counter() if planned else None
    if counter is None:
        return (), NO_COUNTER if planned else ""
    progress.stage("instruction counts", len(planned))
    changes = []
    for duel in planned:
        change = InstructionChange(duel.a.trials[0].algorithm, duel.a.dataset.name)
        if time.monotonic() >= deadline:
            changes.append(replace(change, reason=NO_TIME))
        else:
            changes.append(_count(change, duel, counter, folder, deadline))
        progress.step(change.algorithm)
    return tuple(changes), ""


def _count(
    change: InstructionChange, duel: Duel, counter: Counter, folder: Path, deadline: float
) -> InstructionChange:
    """Return a change with the counts of both sides, or with the reason why there are none."""
    try:
        head, base = (count_fit(job, counter, folder, deadline) for job in (duel.a, duel.b))
    except TooLateError as error:
        is_over = time.monotonic() >= deadline
        return replace(change, reason=NO_TIME if is_over else str(error))
    except (HarnessError, NotCountedError, OSError) as error:
        return replace(change, reason=str(error))
    if min(head, base) <= 0:
        reason = f"{counter.name} finds no more instructions in three fits than in one"
        return replace(change, reason=reason)
    return replace(change, head=head, base=base, tool=counter.name)
