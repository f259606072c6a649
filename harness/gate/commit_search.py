"""Binary search for the first changed commit; the result of a commit may be undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Remaining:
    """Commits that may be the first changed one, by index: after ``good`` up to ``changed``."""

    good: int  # −1: the commit before the first one
    changed: int

    @property
    def steps(self) -> int:
        """Return the number of measurements that are still needed if each one is decided."""
        return math.ceil(math.log2(self.changed - self.good))


def find_first_changed(
    n_commits: int, is_changed: Callable[[int, Remaining], bool | None]
) -> Remaining:
    """Find the first changed commit; return several if undecided ones may be the first.

    Parameters
    ----------
    n_commits
        Number of commits after the good one, the oldest first; the last one is changed.
    is_changed
        Function of a commit's index and the `Remaining` commits before the measurement; returns
        True, False, or None if undecided. Each commit is tried at most once, the one nearest to the
        middle first.
    """
    remaining, undecided = Remaining(-1, n_commits - 1), set[int]()
    while True:
        good, changed = remaining.good, remaining.changed
        untried = [i for i in range(good + 1, changed) if i not in undecided]
        if not untried:
            return remaining
        middle = _nearest(untried, (good + changed) / 2)
        state = is_changed(middle, remaining)
        if state is None:
            undecided.add(middle)
        else:
            remaining = Remaining(good, middle) if state else Remaining(middle, changed)


def _nearest(numbers: Sequence[int], center: float) -> int:
    return min(numbers, key=lambda number: abs(number - center))
