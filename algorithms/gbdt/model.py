"""Grown trees as the booster keeps them, and an ensemble of them in the harness's common form."""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NODE

OURS = "tree-harness"  # the library that an ensemble of ours names
LARGEST = np.finfo(np.float64).max  # where missing values stand alone, all others are at most this


@dataclass(frozen=True)
class GrownTree:
    """One tree: its nodes as the kernels wrote them, and the sets of its splits on categories."""

    nodes: np.ndarray  # booster_arrays.NODE, the root first
    sets: dict  # node → ascending codes that go left

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2


def copy_tree(nodes, goes_left, codes, n_leaves):
    """Return a copy of a grown tree: its nodes, and the codes that each set sends left.

    Parameters
    ----------
    nodes : NODE (n_nodes,), of which the first 2 n_leaves − 1 are the tree's
    goes_left : uint8 (n_nodes, MAX_BINS)
    codes : for each categorical feature its codes, and the bin of each
    n_leaves : int
    """
    kind = nodes.dtype
    nodes = nodes[: 2 * n_leaves - 1].view(np.uint8).copy().view(kind)  # else field by field
    sets = {}
    if not np.count_nonzero(nodes["is_set"]):  # sooner counted than found
        return GrownTree(nodes, sets)
    for node in np.flatnonzero(nodes["is_set"]).tolist():
        own, bins = codes[nodes["feature"][node]]
        sets[node] = np.sort(own[goes_left[node, bins] == 1])
    return GrownTree(nodes, sets)


def join_trees(rounds, binner, base, link="identity", classes=None):
    """Return rounds of trees as a `harness.TreeEnsemble`.

    Parameters
    ----------
    rounds : list of lists of GrownTree, one a score
    binner : Binner
    base : float64 (n_scores,)
    link : of the ensemble
    classes : (n_classes,) labels, or None for regression
        Labels that are not integers are told by their places.
    """
    from harness import Missing, TreeEnsemble

    trees = [tree for round_ in rounds for tree in round_]
    offsets = np.cumsum([0] + [len(tree.nodes) for tree in trees])
    nodes = np.frombuffer(b"".join(tree.nodes for tree in trees), NODE)  # else field by field
    start = np.repeat(offsets[:-1], np.diff(offsets))
    inner = nodes["left"] >= 0
    left, right = (np.where(inner, nodes[side] + start, -1) for side in ("left", "right"))
    feature = np.where(inner, nodes["feature"], 0)
    numeric = inner & (nodes["is_set"] == 0)
    unseen = binner.missing[feature] < 0  # none in training: they go with the larger side
    larger_left = nodes["count"][left] >= nodes["count"][right]
    missing_left = np.where(unseen, larger_left, nodes["missing_left"] == 1) & numeric
    places = [first + at for first, t in zip(offsets, trees, strict=False) for at in sorted(t.sets)]
    sets = [t.sets[at] for t in trees for at in sorted(t.sets)]
    categories = np.full(len(nodes), -1, np.int32)
    categories[places] = np.arange(len(sets))
    return TreeEnsemble(
        feature=np.where(inner, feature, -1),
        threshold=thresholds(binner, feature, nodes["bin"], numeric),
        left=left,
        right=right,
        default_left=missing_left,
        missing=np.full(len(nodes), int(Missing.NAN)),
        categories=categories,
        value=nodes["value"][:, None],
        gain=np.where(inner, nodes["gain"], np.nan),
        cover=nodes["count"].astype(np.float64),
        set_indptr=np.cumsum([0] + [len(codes) for codes in sets]),
        set_codes=np.concatenate([*sets, np.empty(0, np.int64)]),
        members_left=np.ones(len(sets), bool),
        offsets=offsets,
        weight=np.ones(len(trees)),
        output=np.tile(np.arange(len(base)), len(rounds)),
        base=base,
        n_features=len(binner.missing),
        link=link,
        classes=class_codes(classes),
        cover_kind="rows",
        library=OURS,
    )


def thresholds(binner, feature, last_bin, numeric):
    """Return the upper edge of each node's last bin that goes left; 0 where there is none."""
    largest = np.array([LARGEST])
    ends = np.concatenate([end for edges in binner.edges for end in (edges, largest)])
    first = np.cumsum([0] + [len(edges) + 1 for edges in binner.edges[:-1]])
    at = np.where(numeric, first[feature] + last_bin, 0)
    return np.where(numeric, ends[at], 0.0)


def class_codes(classes):
    """Return the integers by which an ensemble names its classes."""
    if classes is None:
        return ()
    integer = np.issubdtype(classes.dtype, np.integer)
    return tuple(int(c) for c in classes) if integer else tuple(range(len(classes)))
