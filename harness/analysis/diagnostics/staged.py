"""Loss after each round, on training and on test rows, and the time of a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics import InapplicableError


@dataclass(frozen=True)
class Curves:
    """Losses after some rounds; ``seconds`` is None if no time was measured."""

    metric: str
    stage: tuple[int, ...]  # numbers of members, the last one is all of them
    test: tuple[float, ...]
    train: tuple[float, ...]
    seconds: tuple[float, ...] | None  # of training that many members
    best: int  # members at the least test loss, the first if several are equal
    rows: tuple[int, int]  # training and test rows of the losses

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        last, least = self.test[-1], min(self.test)
        members = self.stage[-1]
        if self.best == members:
            text = f"the test {self.metric} still falls at the last of {members} members"
        else:
            text = f"the test {self.metric} is least after {self.best} of {members} members"
        text += f" ({least:.4g}"
        text += f", {last:.4g} at the end)" if last > least else ")"
        return f"{text}; {self.train[-1]:.4g} on training rows"


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
        Function from predictions to loss, for the test rows and for the training rows.
    clock
        Numbers of members, and the seconds of training exactly that many; seconds in between are
        interpolated.

    Raises
    ------
    InapplicableError
        If there is no stage.
    """
    if not len(stage):
        raise InapplicableError("the model has no stages")
    losses = [tuple(score[i](output) for output in part) for i, part in enumerate((test, train))]
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
    """Return seconds at each stage, linearly interpolated between the measured ones."""
    if len(counts) < 2:
        return None
    order = np.argsort(counts)
    return tuple(np.interp(stage, np.asarray(counts)[order], np.asarray(seconds)[order]).tolist())
