"""Walk two trees side by side, level by level from the root, as long as they part the same rows.

The walk goes by structure, so it does not depend on how an ensemble numbers its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.parity.questions import is_missing, listed, same_questions, same_thresholds
from harness.analysis.parity.sides import Rows, Training
from harness.trees import TreeEnsemble

Found = tuple[int, str]  # the number of a pair, and in what its nodes differ


@dataclass
class Pairs:
    """Nodes of two trees that stand at the same place; a pair comes after its parent."""

    a: list[int] = field(default_factory=list)  # node numbers of the ensembles
    b: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)  # number of a pair; -1 at the root
    right: list[bool] = field(default_factory=list)  # it is its parent's right child

    def __len__(self) -> int:
        return len(self.a)

    def nodes(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of some pairs."""
        return np.array(self.a)[pairs], np.array(self.b)[pairs]

    def way(self, pair: int) -> Iterator[int]:
        """Yield a pair and its ancestors, up to the root."""
        while pair >= 0:
            yield pair
            pair = self.parent[pair]

    def path(self, pair: int) -> str:
        """Return the way from the root to a pair, of L and R."""
        steps = ["R" if self.right[p] else "L" for p in self.way(pair)]
        return "".join(reversed(steps[:-1]))


class Walk:
    """One tree of each side, walked.

    Attributes
    ----------
    pairs : Pairs
    leaves : (k,) int array
        Pairs of two leaves.
    parted : list
        Pairs whose splits part the training rows in another way, or of which one is a leaf.
    reworded : list
        Pairs that ask other questions and part the training rows alike all the same.
    """

    def __init__(self, a: TreeEnsemble, b: TreeEnsemble, training: Training, tree: int) -> None:
        self.a, self.b, self.training = a, b, training
        self.pairs = Pairs()
        self.parted: list[Found] = []
        self.reworded: list[Found] = []
        self._rows: dict[int, Rows] = {0: np.arange(training.rows)}
        leaves: list[np.ndarray] = []
        x, y = a.offsets[tree : tree + 1], b.offsets[tree : tree + 1]
        parent, right = np.array([-1]), np.array([False])
        while len(x):
            here = self._add(x, y, parent, right)
            inner_x, inner_y = a.left[x] >= 0, b.left[y] >= 0
            leaves.append(here[~inner_x & ~inner_y])
            self.parted += [(pair, "leaf or split") for pair in here[inner_x != inner_y].tolist()]
            on = inner_x & inner_y
            on[on] = self._alike(here[on], x[on], y[on])
            parent, right = np.repeat(here[on], 2), np.tile([False, True], on.sum())
            x = np.column_stack([a.left[x[on]], a.right[x[on]]]).ravel()
            y = np.column_stack([b.left[y[on]], b.right[y[on]]]).ravel()
        self.leaves = np.concatenate(leaves)

    def _add(
        self, x: np.ndarray, y: np.ndarray, parent: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Add a level of pairs and return their numbers."""
        first, pairs = len(self.pairs), self.pairs
        for kept, given in (
            (pairs.a, x), (pairs.b, y), (pairs.parent, parent), (pairs.right, right),
        ):  # fmt: skip
            kept.extend(given.tolist())
        return np.arange(first, len(pairs))

    def _alike(self, pairs: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return which pairs of inner nodes part the training rows alike; note what differs."""
        alike = same_questions(self.a, self.b, x, y)
        for i in np.flatnonzero(~alike).tolist():
            pair = int(pairs[i])
            what, alike[i] = self._difference(pair, int(x[i]), int(y[i]))
            (self.reworded if alike[i] else self.parted).append((pair, what))
        return alike

    def _difference(self, pair: int, x: int, y: int) -> tuple[str, bool]:
        """Return in what two splits differ, and whether the training rows part alike."""
        a, b = self.a, self.b
        if a.feature[x] != b.feature[y]:
            return "feature", False
        sets = (a.categories[x] >= 0, b.categories[y] >= 0)
        if sets[0] != sets[1]:
            return "kind of split", False
        rows = self.rows_at(pair)
        moved = rows[self.training.goes_left(a, x, rows) != self.training.goes_left(b, y, rows)]
        question = "category set" if sets[0] else "threshold"
        if len(moved):
            values = self.training.asked(a, x, moved)
            missing = is_missing(a, x, values) | is_missing(b, y, values)
            return ("missing side" if missing.all() else question), False
        if sets[0]:
            same = listed(a, x) == listed(b, y)
        else:
            same = bool(same_thresholds(a, b, np.array([x]), np.array([y]))[0])
        return ("missing side" if same else question), True

    def rows_at(self, pair: int) -> Rows:
        """Return the training rows that reach a pair: the same in both, as they did not part."""
        way = list(self.pairs.way(pair))
        known = next(i for i, p in enumerate(way) if p in self._rows)
        rows = self._rows[way[known]]
        for here in reversed(way[:known]):
            above = self.pairs.a[self.pairs.parent[here]]
            left = self.training.goes_left(self.a, above, rows)
            rows = self._rows[here] = rows[~left if self.pairs.right[here] else left]
        return rows
