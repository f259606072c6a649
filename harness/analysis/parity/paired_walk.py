"""Walk two trees side by side from the root, as long as they split the training rows equally.

The walk follows the structure, so it does not depend on how an ensemble numbers its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.parity.ensembles import Rows, Training
from harness.analysis.parity.split_equality import (
    is_missing,
    left_categories,
    same_splits,
    same_thresholds,
)
from harness.trees.ensemble import TreeEnsemble

Differing = tuple[int, str]  # the number of a pair, and how its nodes differ


@dataclass
class Pairs:
    """Nodes of two trees at the same place; a pair comes after its parent."""

    a: list[int] = field(default_factory=list)  # node numbers of the ensembles
    b: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)  # number of a pair; -1 at the root
    right: list[bool] = field(default_factory=list)  # whether it is the right child in a
    right_b: list[bool] = field(default_factory=list)  # whether it is the right child in b

    def __len__(self) -> int:
        return len(self.a)

    def nodes(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of some pairs."""
        return np.array(self.a)[pairs], np.array(self.b)[pairs]

    def path(self, pair: int) -> Iterator[int]:
        """Yield a pair and its ancestors, up to the root."""
        while pair >= 0:
            yield pair
            pair = self.parent[pair]

    def paths(self, pair: int) -> tuple[str, str]:
        """Return the paths from the roots to a pair in a and in b, of L and R."""
        path = list(self.path(pair))[:-1]
        a, b = (
            "".join("LR"[right[p]] for p in reversed(path)) for right in (self.right, self.right_b)
        )
        return a, b


class Walk:
    """A side-by-side walk through one tree of each side.

    Attributes
    ----------
    pairs : Pairs
    leaves : (k,) int array
        Pairs of two leaves.
    differing_splits : list
        Pairs whose splits have different partitions of the training rows, or with only one leaf.
    equivalent_splits : list
        Pairs of different splits with the same partition of the training rows.
    exchanged : set
        Pairs of the latter with left and right exchanged, so that the left child of one is at the
        place of the other's right child.
    """

    def __init__(self, a: TreeEnsemble, b: TreeEnsemble, training: Training, tree: int) -> None:
        self.a, self.b, self.training = a, b, training
        self.pairs = Pairs()
        self.differing_splits: list[Differing] = []
        self.equivalent_splits: list[Differing] = []
        self.exchanged: set[int] = set()
        self._rows: dict[int, Rows] = {0: np.arange(training.rows)}
        leaves: list[np.ndarray] = []
        x, y = a.offsets[tree : tree + 1], b.offsets[tree : tree + 1]
        parent, right, right_b = np.array([-1]), np.array([False]), np.array([False])
        while len(x):
            here = self._add(x, y, parent, right, right_b)
            inner_x, inner_y = a.left[x] >= 0, b.left[y] >= 0
            leaves.append(here[~inner_x & ~inner_y])
            self.differing_splits += [
                (pair, "leaf or split") for pair in here[inner_x != inner_y].tolist()
            ]
            on = inner_x & inner_y
            on[on] = self._same_partition(here[on], x[on], y[on])
            parent, right = np.repeat(here[on], 2), np.tile([False, True], on.sum())
            right_b = right ^ np.isin(parent, list(self.exchanged))
            x, y = np.repeat(x[on], 2), np.repeat(y[on], 2)
            x = np.where(right, a.right[x], a.left[x])
            y = np.where(right_b, b.right[y], b.left[y])
        self.leaves = np.concatenate(leaves)

    def _add(self, *level: np.ndarray) -> np.ndarray:
        """Add a level of pairs, in the order of their fields, and return their numbers."""
        first, pairs = len(self.pairs), self.pairs
        a, b, parent, right, right_b = (entries.tolist() for entries in level)
        pairs.a += a
        pairs.b += b
        pairs.parent += parent
        pairs.right += right
        pairs.right_b += right_b
        return np.arange(first, len(pairs))

    def _same_partition(self, pairs: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the mask of pairs with the same partition; record the differences."""
        same = same_splits(self.a, self.b, x, y)
        for i in np.flatnonzero(~same).tolist():
            pair = int(pairs[i])
            what, same[i] = self._difference(pair, int(x[i]), int(y[i]))
            (self.equivalent_splits if same[i] else self.differing_splits).append((pair, what))
        return same

    def _difference(self, pair: int, x: int, y: int) -> tuple[str, bool]:
        """Return the kind of difference of two splits, and whether their partitions are equal."""
        a, b = self.a, self.b
        if a.feature[x] != b.feature[y]:
            return "feature", False
        sets = (a.categories[x] >= 0, b.categories[y] >= 0)
        if sets[0] != sets[1]:
            return "kind of split", False
        rows = self.rows_at(pair)
        moved = rows[self.training.goes_left(a, x, rows) != self.training.goes_left(b, y, rows)]
        kind = "category set" if sets[0] else "threshold"
        if sets[0] and len(moved) == len(rows) > 0:
            self.exchanged.add(pair)
            return "sides", True
        if len(moved):
            values = self.training.feature_values(a, x, moved)
            missing = is_missing(a, x, values) | is_missing(b, y, values)
            return ("missing side" if missing.all() else kind), False
        if sets[0]:
            same = left_categories(a, x) == left_categories(b, y)
        else:
            same = bool(same_thresholds(a, b, np.array([x]), np.array([y]))[0])
        return ("missing side" if same else kind), True

    def rows_at(self, pair: int) -> Rows:
        """Return the training rows that reach a pair; they are the same in both trees."""
        path = list(self.pairs.path(pair))
        known = next(i for i, p in enumerate(path) if p in self._rows)
        rows = self._rows[path[known]]
        for here in reversed(path[:known]):
            above = self.pairs.a[self.pairs.parent[here]]
            left = self.training.goes_left(self.a, above, rows)
            rows = self._rows[here] = rows[~left if self.pairs.right[here] else left]
        return rows
