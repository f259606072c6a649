"""Find the first place where each level of agreement ends: structure, values, bits.

Trees are compared in order. Within a tree, two different splits come before a split that only one
side has, which may be a consequence of the former under a limit on leaves. For the same reason the
search ends with the first tree whose structure differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.parity.ensembles import Rows, Training
from harness.analysis.parity.paired_walk import Differing, Walk
from harness.trees.ensemble import TreeEnsemble

LEVELS = ("structure", "values", "bits")
WHOLE = -1  # tree number of a difference of the whole ensembles

Shifts = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Place:
    """A place where two ensembles differ, and the kind of difference."""

    level: str
    what: str
    tree: int
    paths: tuple[str, str] = ("", "")  # from the root of each tree, of L and R
    nodes: tuple[int, int] = (-1, -1)  # node numbers of the whole ensembles
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))  # rows that reach it
    others: int = 0  # further places of this tree on this level


def first_places(
    a: TreeEnsemble, b: TreeEnsemble, training: Training, tolerance: float
) -> tuple[list[Place], int]:
    """Return the first place of each level, in order, and the number of trees with equal structure.

    Parameters
    ----------
    tolerance
        Leaf values agree if they differ by no more than this share of the larger one, or by
        one rounding unit of the tree's largest leaf.
    """
    places = {place.level: place for place in _of_the_whole(a, b, tolerance)}
    shifts = base_shifts(a, b, tolerance)
    n_equal, n_trees = 0, min(a.n_trees, b.n_trees)
    while n_equal < n_trees and "structure" not in places:
        for place in _of_a_tree(a, b, n_equal, training, tolerance, shifts):
            places.setdefault(place.level, place)
        n_equal += "structure" not in places
    if "structure" not in places and a.n_trees != b.n_trees:
        rows = np.arange(training.rows)
        places["structure"] = Place("structure", "number of trees", n_trees, rows=rows)
    return sorted(places.values(), key=lambda p: (p.tree, LEVELS.index(p.level))), n_equal


def _of_the_whole(a: TreeEnsemble, b: TreeEnsemble, tolerance: float) -> Iterator[Place]:
    """Yield differences of the ensembles as a whole."""
    if _form(a) != _form(b):
        yield Place("values", "form", WHOLE)
    elif (a.link, a.temperature) != (b.link, b.temperature):
        yield Place("values", "link", WHOLE)
    elif not (a.n_trees and b.n_trees) and not _bases_agree(a, b, tolerance):
        yield Place("values", "base score", WHOLE)
    elif _bases_agree(a, b, tolerance) and not np.array_equal(a.base, b.base):
        yield Place("bits", "base score", WHOLE)


def _bases_agree(a: TreeEnsemble, b: TreeEnsemble, tolerance: float) -> bool:
    """Return whether base scores differ by no more than this share of the larger one."""
    if a.base.shape != b.base.shape:
        return False
    finite = np.isfinite(a.base) & np.isfinite(b.base)
    one, other = np.where(finite, a.base, 0.0), np.where(finite, b.base, 0.0)
    near = np.abs(one - other) <= tolerance * np.maximum(np.abs(one), np.abs(other))
    return bool(np.where(finite, near, a.base == b.base).all())


def _form(e: TreeEnsemble) -> tuple[object, ...]:
    """Return the properties that comparable ensembles share; the mean of one tree is its sum."""
    alone = e.combination == "mean" and e.n_trees == 1
    combination = "sum" if alone else e.combination
    return combination, e.n_outputs, e.value.shape[1], e.against


def _of_a_tree(
    a: TreeEnsemble,
    b: TreeEnsemble,
    tree: int,
    training: Training,
    tolerance: float,
    shifts: Shifts,
) -> Iterator[Place]:
    """Yield the first place of each level in one tree."""
    walk = Walk(a, b, training, tree)

    def place(level: str, differing: list[Differing]) -> Place:
        pair, what = differing[0]
        nodes = (walk.pairs.a[pair], walk.pairs.b[pair])
        rows = walk.rows_at(pair)
        return Place(level, what, tree, walk.pairs.paths(pair), nodes, rows, len(differing) - 1)

    if a.output[tree] != b.output[tree]:
        yield place("structure", [(0, "output")])
    elif walk.differing_splits:
        yield place(
            "structure", sorted(walk.differing_splits, key=lambda p: p[1] == "leaf or split")
        )
    far: list[Differing] = []
    near: list[Differing] = []
    if _form(a) == _form(b):
        far, near = _differing_leaves(a, b, tree, walk, tolerance, shifts)
        weight = _weight(a, b, tree, tolerance)
        (far if weight == "values" else near).extend([(0, "tree weight")] if weight else [])
    if far:
        yield place("values", far)
    if bits := sorted([*walk.equivalent_splits, *near]):
        yield place("bits", bits)


def _differing_leaves(
    a: TreeEnsemble, b: TreeEnsemble, tree: int, walk: Walk, tolerance: float, shifts: Shifts
) -> tuple[list[Differing], list[Differing]]:
    """Return the pairs of leaves that differ beyond the tolerance, and those within it."""
    one, other = tree_values(a, b, tree, walk.pairs.nodes(walk.leaves), shifts)
    size = np.maximum(np.abs(one), np.abs(other)).max(axis=1)
    with np.errstate(invalid="ignore"):  # infinite leaves
        distance = np.where(one == other, 0.0, np.abs(one - other)).max(axis=1)
    unit = max(np.finfo(a.sum_dtype).eps, np.finfo(b.sum_dtype).eps)
    far = ~(distance <= tolerance * size + unit * size.max(initial=0.0))
    groups = (walk.leaves[far], walk.leaves[~far & (distance > 0)])
    beyond, within = ([(pair, "leaf value") for pair in g.tolist()] for g in groups)
    return beyond, within


def tree_values(
    a: TreeEnsemble,
    b: TreeEnsemble,
    tree: int,
    nodes: tuple[np.ndarray, np.ndarray],
    shifts: Shifts,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the contributions of paired leaves of one tree, two arrays (k, n_values)."""
    one = leaf_values(a, tree, nodes[0]) + shifts[0][tree]
    other = leaf_values(b, tree, nodes[1]) + shifts[1][tree]
    return one, other


def leaf_values(e: TreeEnsemble, tree: int, nodes: np.ndarray) -> np.ndarray:
    """Return leaf values, for a sum multiplied by the tree's weight."""
    values: np.ndarray = e.value[nodes]
    if e.combination == "sum":
        values = (e.weight[tree] * values).astype(e.sum_dtype).astype(np.float64)
    return values


def base_shifts(a: TreeEnsemble, b: TreeEnsemble, tolerance: float) -> Shifts:
    """Return the values to add to the leaves of each tree to include the base scores.

    A library keeps its initial score separate or within its first trees. If the bases differ by
    more than the tolerance, they are added to the first tree of each output. Otherwise they are
    not: if a leaf and the base nearly cancel, their rounding would be taken for a rule.
    """
    differ = a.combination == "sum" and not _bases_agree(a, b, tolerance)
    one, other = (_shift(e, counted=differ) for e in (a, b))
    return one, other


def _shift(e: TreeEnsemble, *, counted: bool) -> np.ndarray:
    width = e.value.shape[1]
    shift = np.zeros((e.n_trees, width))
    if counted:
        for tree in np.unique(e.output, return_index=True)[1].tolist():
            shift[tree] = e.base[e.output[tree] : e.output[tree] + width]
    return shift


def _weight(a: TreeEnsemble, b: TreeEnsemble, tree: int, tolerance: float) -> str:
    """Return the level on which tree weights differ, or ""; a sum has them in the leaves."""
    one, other = float(a.weight[tree]), float(b.weight[tree])
    if "sum" in {a.combination, b.combination} or one == other:
        return ""
    return "bits" if abs(one - other) <= tolerance * max(abs(one), abs(other)) else "values"
