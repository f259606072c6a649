"""How the loss falls round by round, on training and on test rows, and what a round costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError


@dataclass(frozen=True)
class Curves:
    """Losses after some rounds; ``seconds`` is None where no time was taken."""

    metric: str
    stage: tuple[int, ...]  # members so far, the last one is all of them
    test: tuple[float, ...]
    train: tuple[float, ...]
    seconds: tuple[float, ...] | None  # of training that many members
    best: int  # members at the least test loss, the first where several are equal
    rows: tuple[int, int]  # training and test rows that the losses are means over

    @property
    def sentence(self) -> str:
        """Say it in words."""
        last, least = self.test[-1], min(self.test)
        members = self.stage[-1]
        if self.best == members:
            told = f"the test {self.metric} still falls at the last of {members} members"
        else:
            told = f"the test {self.metric} is least after {self.best} of {members} members"
        told += f" ({least:.4g}"
        told += f", {last:.4g} at the end)" if last > least else ")"
        return f"{told}; {self.train[-1]:.4g} on training rows"


def curves(
    stage: Sequence[int],
    test: Sequence[np.ndarray],
    train: Sequence[np.ndarray],
    metric: str,
    score: tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], float]],
    clock: tuple[Sequence[int], Sequence[float]] = ((), ()),
) -> Curves:
    """Score the predictions of each stage.

    Parameters
    ----------
    stage : (k,) ascending numbers of members
    test, train
        Predictions after each stage, on test rows and on training rows.
    metric
        Name of a loss: lower is better.
    score
        Predictions → loss, of the test rows and of the training rows.
    clock
        Numbers of members, and the seconds of training just so many: between them seconds are
        interpolated.

    Raises
    ------
    InapplicableError
        Where there is no stage.
    """
    if not len(stage):
        raise InapplicableError("the model has no stages")
    losses = [tuple(score[i](found) for found in part) for i, part in enumerate((test, train))]
    members = tuple(int(s) for s in stage)
    return Curves(
        metric=metric,
        stage=members,
        test=losses[0],
        train=losses[1],
        seconds=seconds_at(members, *clock),
        best=members[int(np.argmin(losses[0]))],
        rows=(len(train[0]), len(test[0])),
    )


def seconds_at(
    stage: Sequence[int], counts: Sequence[int], seconds: Sequence[float]
) -> tuple[float, ...] | None:
    """Return seconds at each stage, on straight lines between those that were timed."""
    if len(counts) < 2:
        return None
    order = np.argsort(counts)
    return tuple(np.interp(stage, np.asarray(counts)[order], np.asarray(seconds)[order]).tolist())
