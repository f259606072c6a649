"""Explain a place where two ensembles differ, by the recomputed gains of both splits.

*tie*: the gains are equal, to a share of 1e-9 or to double precision.
*rounding*: they differ by less than the possible error of sums in single precision, or the
thresholds are a few steps apart.
*rule*: one gain is truly larger, so a side did not take the better split or has other sums: a bug,
or another rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.analysis.difference import Difference, Gains, Node
from harness.analysis.parity.ensembles import Side, Training
from harness.analysis.parity.first_difference import Place, Shifts, tree_values
from harness.analysis.parity.gains import Terms, gain_of, leaf_rounding
from harness.analysis.parity.node_text import leaf, missing_side, sketch, split_text
from harness.analysis.parity.objectives import UnknownError, terms_of
from harness.analysis.parity.paired_walk import Walk
from harness.trees.ensemble import TreeEnsemble

TIE = 1e-9
FEW_ULPS = 4  # between two thresholds that count as equal up to rounding
SAME_FACTOR = 1e-5  # relative spread of factors that count as equal
EXACT = frozenset({"threshold", "leaf value"})  # shown with all digits
SINGLE = float(np.finfo(np.float32).eps)

Mask = np.ndarray | None  # rows that go left; None at a leaf


@dataclass(frozen=True, eq=False)
class Pair:
    """The two sides of a comparison, and their training rows."""

    a: Side
    b: Side
    training: Training
    shifts: Shifts

    @property
    def trees(self) -> tuple[TreeEnsemble, TreeEnsemble]:
        """Return both ensembles."""
        return self.a.ensemble, self.b.ensemble


def explain(place: Place, pair: Pair) -> Difference:
    """Return the facts about a place; its sentence is still empty."""
    difference = Difference(
        place.level,
        place.what,
        place.tree,
        place.paths[0],
        path_b="" if place.paths[0] == place.paths[1] else place.paths[1],
        a=None,
        b=None,
        cause="rule",
        sentence="",
        rows=len(place.rows),
        others=place.others,
    )
    if place.nodes[0] < 0:
        return replace(difference, cause="rounding") if place.level == "bits" else difference
    (a, b), training = pair.trees, pair.training
    one, other = (
        sketch(e, place.tree, path, training, exact=place.what in EXACT)
        for e, path in zip((a, b), place.paths, strict=True)
    )
    difference = replace(
        difference,
        a=_node(a, place.nodes[0], place, training),
        b=_node(b, place.nodes[1], place, training),
        affected=_affected(place, pair),
        drawing=(one, other),
    )
    if place.what == "leaf value":
        return replace(difference, **_of_leaves(place, pair))
    if place.what == "tree weight":
        return replace(difference, cause="rounding" if place.level == "bits" else "rule")
    if place.what == "output":
        return difference
    masks = [_mask(e, node, place, training) for e, node in zip((a, b), place.nodes, strict=True)]
    return _of_splits(difference, place, pair, masks)


def _mask(e: TreeEnsemble, node: int, place: Place, training: Training) -> Mask:
    return training.goes_left(e, node, place.rows) if e.left[node] >= 0 else None


def _node(e: TreeEnsemble, node: int, place: Place, training: Training) -> Node:
    number, exact = node - int(e.offsets[place.tree]), place.what in EXACT
    left = _mask(e, node, place, training)
    if left is None:
        return Node(number, leaf(e, place.tree, node, exact=exact), "", (len(place.rows),), None)
    rows = (int(left.sum()), int((~left).sum()))
    gain = float(e.gain[node])
    text = split_text(e, node, training, exact=exact)
    return Node(number, text, missing_side(e, node), rows, gain if np.isfinite(gain) else None)


def _affected(place: Place, pair: Pair) -> int:
    """Return the number of rows that end in a leaf with other rows, or with another value."""
    a, b = pair.trees
    ends = (pair.training.leaves(a, place.tree), pair.training.leaves(b, place.tree))
    (one, n_one), (other, n_other) = (_numbered(end) for end in ends)
    both, n_both = _numbered(one * len(n_other) + other)
    moved = (n_both[both] != n_one[one]) | (n_both[both] != n_other[other])
    if place.what == "leaf value":
        values = tree_values(a, b, place.tree, ends, pair.shifts)
        moved |= (values[0] != values[1]).any(axis=1)
    return int(moved.sum())


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a code for each value, and the number of values of each code."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return codes, counts


# ------------------------------------------------------------------ splits


def _of_splits(difference: Difference, place: Place, pair: Pair, masks: list[Mask]) -> Difference:
    """Add gains and cause if at least one side splits."""
    (a, b), (x, y) = pair.trees, place.nodes
    one, other = masks
    gains, reason = _recomputed(place, pair, masks)
    moved = len(place.rows) if one is None or other is None else int((one != other).sum())
    difference = replace(difference, gains=gains, no_gains=reason, moved=moved)
    if place.what == "threshold":
        ulps, of = ulps_between(float(a.threshold[x]), float(b.threshold[y]), a.input_dtype)
        difference = replace(difference, ulps=ulps, ulps_of=of)
        if ulps is not None and ulps <= FEW_ULPS:
            return replace(difference, cause="rounding")
        if place.level == "bits":
            return difference
    if one is not None and other is not None and moved in {0, len(place.rows)}:
        return replace(difference, cause="tie", relative=0.0)  # the same partition
    if not gains:
        return replace(difference, **_as_exported(place, pair))
    relative = max(g.apart / g.size if g.size else 0.0 for g in gains)
    return replace(difference, cause=_cause(gains), relative=relative)


def _cause(gains: Sequence[Gains]) -> str:
    """Return tie, rounding or rule, by the gains from each side's own sums.

    If each side took the better split by its own sums, the sums differ: by rounding or by a rule.
    Otherwise one side took the worse split, and only rounding can have caused that.
    """
    if all(g.apart <= max(TIE * g.size, g.resolution) for g in gains):
        return "tie"
    if [g.better for g in gains] == ["a", "b"]:
        one, other = gains
        moved = (abs((one.a or 0.0) - (other.a or 0.0)), abs((one.b or 0.0) - (other.b or 0.0)))
        return "rounding" if max(moved) <= one.rounding + other.rounding else "rule"
    return "rounding" if all(g.apart <= g.single for g in gains) else "rule"


def _recomputed(place: Place, pair: Pair, masks: list[Mask]) -> tuple[tuple[Gains, ...], str]:
    """Return the gains by each side's own sums, and the reasons why some are missing."""
    gains: list[Gains] = []
    reasons: list[str] = []
    for by, side in (("a", pair.a), ("b", pair.b)):
        try:
            terms = terms_of(side, pair.training, place.tree)
        except UnknownError as error:
            reasons.append(str(error))
        else:
            gains.append(_gains(by, terms, place, masks))
    return tuple(gains), "; ".join(reasons)


def _gains(by: str, terms: Terms, place: Place, masks: list[Mask]) -> Gains:
    one, other = (None if m is None else gain_of(terms, place.rows, m) for m in masks)
    known = [gain for gain in (one, other) if gain is not None]
    return Gains(
        by,
        terms.criterion,
        None if one is None else one.value,
        None if other is None else other.value,
        resolution=max(gain.resolution for gain in known),
        rounding=max(gain.terms for gain in known),
        single=max(gain.sums for gain in known),
    )


def _as_exported(place: Place, pair: Pair) -> dict[str, Any]:
    """Return the cause by the exported gains, which are comparable if both have one unit."""
    one, other = (float(e.gain[n]) for e, n in zip(pair.trees, place.nodes, strict=True))
    if pair.a.reference != pair.b.reference or not np.isfinite([one, other]).all():
        return {"cause": ""}
    size = max(abs(one), abs(other))
    relative = abs(one - other) / size if size else 0.0
    if relative <= TIE:
        return {"cause": "tie", "relative": relative}
    small = relative <= SINGLE * np.sqrt(len(place.rows))
    return {"cause": "rounding" if small else "rule", "relative": relative}


# ------------------------------------------------------------------ leaves


def _of_leaves(place: Place, pair: Pair) -> dict[str, Any]:
    """Return the difference of two leaves, and its cause: rounding or a rule."""
    a, b = pair.trees
    nodes = (np.array(place.nodes[:1]), np.array(place.nodes[1:]))
    one, other = (v[0] for v in tree_values(a, b, place.tree, nodes, pair.shifts))
    distance = np.abs(one - other)
    size = float(np.maximum(np.abs(one), np.abs(other)).max())
    worst = int(distance.argmax())
    single = a.sum_dtype == b.sum_dtype == "float32"
    ulps, of = ulps_between(
        float(one[worst]), float(other[worst]), "float32" if single else "float64"
    )
    relative = float(distance.max()) / size if size else 0.0
    pattern = _pattern(place, pair) if place.level == "values" else {}
    small = not pattern and relative <= _rounding(place, pair, one)
    difference = {"relative": relative, "ulps": ulps, "ulps_of": of, **pattern}
    return difference | {"cause": "rounding" if small else "rule"}


def _rounding(place: Place, pair: Pair, value: np.ndarray) -> float:
    """Return the possible error of a leaf with sums in single precision, as a share of its size."""
    bound = SINGLE * float(np.sqrt(max(1, len(place.rows))))
    for side in (pair.a, pair.b):
        try:
            terms = terms_of(side, pair.training, place.tree)
        except UnknownError:
            continue
        bound = max(bound, leaf_rounding(terms, place.rows, value))
    return bound


def _pattern(place: Place, pair: Pair) -> dict[str, Any]:
    """Return the shift or scale that all leaves of the tree have in common, if any."""
    a, b = pair.trees
    walk = Walk(a, b, pair.training, place.tree)
    nodes = walk.pairs.nodes(walk.leaves)
    one, other = (v.ravel() for v in tree_values(a, b, place.tree, nodes, pair.shifts))
    if len(walk.leaves) < 2:
        return {}
    shift = other - one
    if np.ptp(shift) <= SAME_FACTOR * np.abs(shift).max():
        moved = {"shift": float(np.median(shift))}
        bases = pair.shifts[1][place.tree] - pair.shifts[0][place.tree]
        same = np.allclose(bases, moved["shift"], rtol=SAME_FACTOR, atol=0)
        return moved | ({"what": "base score"} if same else {})
    zero = one == 0
    if (zero != (other == 0)).any() or (~zero).sum() < 2:
        return {}
    ratio = other[~zero] / one[~zero]
    scale = float(np.median(ratio))
    constant = np.ptp(ratio) <= SAME_FACTOR * np.abs(ratio).max() < np.abs(scale - 1.0)
    return {"scale": scale} if constant else {}


def ulps_between(one: float, other: float, dtype: str) -> tuple[int | None, str]:
    """Return the steps from one number to another, and the dtype of the steps.

    Parameters
    ----------
    dtype
        float32 or float64; float32 is used only where both numbers are exact in it.

    Returns
    -------
    steps
        None if a number is NaN.
    """
    if math.isnan(one) or math.isnan(other):
        return None, dtype
    exact = all(float(np.float32(v)) == v for v in (one, other) if abs(v) < 3e38)
    if dtype == "float64" or not exact:
        return abs(
            _place(one, np.float64, np.int64) - _place(other, np.float64, np.int64)
        ), "float64"
    return abs(_place(one, np.float32, np.int32) - _place(other, np.float32, np.int32)), "float32"


def _place(value: float, dtype: type[np.floating], bits: type[np.signedinteger]) -> int:
    """Return the position of a number among all of its dtype, zero at 0."""
    number = int(np.array(value, dtype).view(bits))
    return number if number >= 0 else int(np.iinfo(bits).min) - number
