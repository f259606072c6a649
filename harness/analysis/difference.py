"""What a comparison of two ensembles finds, as plain records that a store can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of a drawn tree: a node, at its depth."""

    depth: int
    side: str  # of its parent: "left" or "right"; "" at the root
    text: str
    rows: int  # training rows that reach it
    shape: str  # split, leaf, or more: something that is not drawn
    marked: bool = False  # here the two trees part


@dataclass(frozen=True)
class Node:
    """What one tree has at a place."""

    number: int  # counted from the tree's root, as the ensemble numbers them
    text: str  # "petal width <= 0.8", "leaf 0.25"
    missing: str  # where missing values go: "left" or "right"; "" at a leaf
    rows: tuple[int, ...]  # training rows that go left and right; of a leaf, those in it
    gain: float | None  # as the model itself tells it, in its own unit


@dataclass(frozen=True)
class Gains:
    """What both splits gain by the sums of one side; None where there is no split."""

    by: str  # "a" or "b": whose weights, targets and scores were summed
    criterion: str
    a: float | None
    b: float | None
    resolution: float  # differences below are none: these were computed in double precision
    rounding: float  # what g and h in single precision may move them by, summed in double
    single: float  # what sums in single precision may move them by

    @property
    def apart(self) -> float:
        """Return how far the two gains are apart; no split gains nothing."""
        return abs((self.a or 0.0) - (self.b or 0.0))

    @property
    def size(self) -> float:
        """Return the size of the larger one."""
        return max(abs(self.a or 0.0), abs(self.b or 0.0))

    @property
    def better(self) -> str:
        """Return which split gains more, "a" or "b"; "" where they gain the same."""
        one, other = self.a or 0.0, self.b or 0.0
        return "" if one == other else "a" if one > other else "b"


@dataclass(frozen=True)
class Difference:
    """The first place at which one level of agreement ends.

    ``rows`` reach the place, ``moved`` of them go to the other side; ``affected`` end in a leaf
    with other company or another value, anywhere in this tree.
    """

    level: str  # structure, values or bits
    what: str  # feature, threshold, missing side, category set, sides, leaf or split, leaf value, …
    tree: int  # -1: of the whole ensemble
    path: str  # from the root of a, of L and R
    a: Node | None
    b: Node | None
    cause: str  # tie, rounding, rule; "" where it cannot be told
    sentence: str
    rows: int = 0
    moved: int = 0
    affected: int = 0
    ulps: int | None = None  # between two thresholds or leaf values
    ulps_of: str = ""  # float32 or float64
    relative: float | None = None  # of two leaf values or gains
    gains: tuple[Gains, ...] = ()
    no_gains: str = ""  # why gains could not be computed again
    scale: float | None = None  # every leaf of the tree is this many times as large in b
    shift: float | None = None  # every leaf of the tree is this much larger in b
    others: int = 0  # more places of this tree that differ so
    drawing: tuple[tuple[Line, ...], tuple[Line, ...]] = ((), ())
    path_b: str = ""  # in b, where it is another: above it, left and right are exchanged


@dataclass(frozen=True)
class Comparison:
    """How far two ensembles agree, and the first difference on each level, in order of trees."""

    agreement: str  # bits, values, structure, or "" where the trees are not the same
    differences: tuple[Difference, ...]
    trees: tuple[int, int]
    alike: int  # trees from the first on that split the training rows in the same way
    rows: int  # training rows
    worst: float | None  # largest difference of predictions on them; None: of other shapes
    tolerance: float  # relative, of leaf values


def comparison_from_json(data: Mapping[str, Any]) -> Comparison:
    """Return the comparison that :func:`harness.core.model.to_json` wrote."""
    differences = tuple(_difference(d) for d in data["differences"])
    one, other = data["trees"]
    return Comparison(**{**data, "differences": differences, "trees": (one, other)})


def _difference(data: Mapping[str, Any]) -> Difference:
    one, other = (tuple(Line(**line) for line in lines) for lines in data["drawing"])
    return Difference(
        **{
            **data,
            "a": _node(data["a"]),
            "b": _node(data["b"]),
            "gains": tuple(Gains(**g) for g in data["gains"]),
            "drawing": (one, other),
        }
    )


def _node(data: Mapping[str, Any] | None) -> Node | None:
    return Node(**{**data, "rows": tuple(data["rows"])}) if data else None
