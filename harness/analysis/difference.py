"""Records of the differences between two ensembles, in a form that the store can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of a drawn tree: a node at its depth."""

    depth: int
    side: str  # of its parent: "left" or "right"; "" at the root
    text: str
    rows: int  # training rows that reach it
    shape: str  # split, leaf, or more (nodes that are not drawn)
    marked: bool = False  # whether the two trees differ here


@dataclass(frozen=True)
class Node:
    """The node of one tree at a place."""

    number: int  # counted from the tree's root, as the ensemble numbers them
    text: str  # "petal width <= 0.8", "leaf 0.25"
    missing: str  # where missing values go: "left" or "right"; "" at a leaf
    rows: tuple[int, ...]  # training rows that go left and right; at a leaf, its rows
    gain: float | None  # as exported by the model, in its own unit


@dataclass(frozen=True)
class Gains:
    """The gains of both splits by the sums of one side; None where there is no split."""

    by: str  # "a" or "b": whose weights, targets and scores were summed
    criterion: str
    a: float | None
    b: float | None
    resolution: float  # smaller differences do not count; computed in double precision
    rounding: float  # possible error if g and h are in single precision and sums in double
    single: float  # possible error if sums are in single precision

    @property
    def apart(self) -> float:
        """Return the difference of the two gains; no split has gain 0."""
        return abs((self.a or 0.0) - (self.b or 0.0))

    @property
    def size(self) -> float:
        """Return the size of the larger one."""
        return max(abs(self.a or 0.0), abs(self.b or 0.0))

    @property
    def better(self) -> str:
        """Return the split with the larger gain, "a" or "b"; "" if the gains are equal."""
        one, other = self.a or 0.0, self.b or 0.0
        return "" if one == other else "a" if one > other else "b"


@dataclass(frozen=True)
class Difference:
    """The first place where one level of agreement ends.

    ``rows`` reach the place, and ``moved`` of them go to the other side; ``affected`` rows end in a
    leaf with other rows or another value, anywhere in this tree.
    """

    level: str  # structure, values or bits
    what: str  # feature, threshold, missing side, category set, sides, leaf or split, leaf value, …
    tree: int  # -1: of the whole ensemble
    path: str  # from the root of a, of L and R
    a: Node | None
    b: Node | None
    cause: str  # tie, rounding, rule; "" if unknown
    sentence: str
    rows: int = 0
    moved: int = 0
    affected: int = 0
    ulps: int | None = None  # between two thresholds or leaf values
    ulps_of: str = ""  # float32 or float64
    relative: float | None = None  # of two leaf values or gains
    gains: tuple[Gains, ...] = ()
    no_gains: str = ""  # why gains could not be recomputed
    scale: float | None = None  # every leaf of the tree is this many times as large in b
    shift: float | None = None  # every leaf of the tree is this much larger in b
    others: int = 0  # further places of this tree with the same kind of difference
    drawing: tuple[tuple[Line, ...], tuple[Line, ...]] = ((), ())
    path_b: str = ""  # path in b if it differs: left and right are exchanged above it


@dataclass(frozen=True)
class Comparison:
    """Parity level of two ensembles, and the first difference on each level, in order of trees.

    Attributes
    ----------
    agreement
        Level of agreement: bits, values, structure, or "" if the trees differ.
    differences
        First difference on each level, in order of trees.
    trees
        Numbers of trees of both sides.
    alike
        Number of leading trees that split the training rows in the same way.
    rows
        Number of training rows.
    worst
        Largest difference of predictions on the training rows, in their unit; None if the
        shapes differ.
    tolerance
        Relative tolerance of leaf values.
    """

    agreement: str
    differences: tuple[Difference, ...]
    trees: tuple[int, int]
    alike: int
    rows: int
    worst: float | None
    tolerance: float


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
