"""Grown trees of the booster, and their conversion to a `harness.TreeEnsemble`."""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NODE

OURS = "tree-harness"  # value of `TreeEnsemble.library` for our models
LARGEST = np.finfo(np.float64).max  # threshold of a split of all values from missing ones


@dataclass(frozen=True)
class GrownTree:
    """A tree: its nodes as written by the kernels, and the category sets of its splits."""

    nodes: np.ndarray  # dtype NODE, the root first
    sets: dict  # node → ascending codes that go left
    linear: object = None  # LeafModels, of linear trees

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2

    @property
    def outputs(self):
        """Arrays in the unit of the scores; a change of scale must multiply all of them."""
        if self.linear is None:
            return (self.nodes["value"],)
        return self.nodes["value"], self.linear.constant, self.linear.coefficient

    def scale(self, factor):
        """Multiply the outputs of all leaves."""
        for values in self.outputs:
            np.multiply(values, factor, out=values)

    def copy(self):
        """Return a tree whose outputs can be changed separately."""
        linear = self.linear
        if linear is not None:
            outputs = linear.constant.copy(), linear.coefficient.copy()
            linear = linear._replace(constant=outputs[0], coefficient=outputs[1])
        return GrownTree(self.nodes.copy(), self.sets, linear)

    def is_zero(self):
        """Return whether the output of every leaf is 0."""
        return not any(np.count_nonzero(values) for values in self.outputs)


def copy_tree(nodes, goes_left, codes, n_leaves):
    """Return a copy of a grown tree: its nodes, and the codes that categorical splits send left.

    Parameters
    ----------
    nodes : NODE (n_nodes,); the tree has the first 2 n_leaves − 1
    goes_left : uint8 (n_nodes, MAX_BINS)
    codes : list, for each categorical feature its codes, ascending, and their bins
    n_leaves : int
    """
    kind = nodes.dtype
    nodes = nodes[: 2 * n_leaves - 1].view(np.uint8).copy().view(kind)  # faster than field by field
    sets = {}
    if not np.count_nonzero(nodes["is_categorical"]):  # faster than flatnonzero
        return GrownTree(nodes, sets)
    for node in np.flatnonzero(nodes["is_categorical"]).tolist():
        feature_codes, bins = codes[nodes["feature"][node]]
        sets[node] = feature_codes[goes_left[node, bins] == 1]
    return GrownTree(nodes, sets)


def join_trees(rounds, binner, base, link="identity", classes=None):
    """Return rounds of trees as a `harness.TreeEnsemble`.

    Parameters
    ----------
    rounds : list of lists of GrownTree, one tree per score
    binner : Binner
    base : float64 (n_scores,)
    link : str, link function of the ensemble
    classes : (n_classes,) labels, or None for regression
        Labels that are not integers are replaced by their indices.
    """
    from harness import LinearLeaves, Missing, TreeEnsemble

    trees = [tree for round_ in rounds for tree in round_]
    offsets = np.cumsum([0] + [len(tree.nodes) for tree in trees])
    nodes = np.frombuffer(b"".join(tree.nodes for tree in trees), NODE)  # faster than concatenate
    start = np.repeat(offsets[:-1], np.diff(offsets))
    inner = nodes["left"] >= 0
    sides = [np.where(inner, nodes[side] + start, -1) for side in ("left", "right")]
    left, right = (side.astype(np.int32) for side in sides)  # int32 as stored: no conversion check
    feature = np.where(inner, nodes["feature"], 0)
    numeric = inner & (nodes["is_categorical"] == 0)
    unseen = (
        binner.missing[feature] < 0
    )  # no missing values in training: the larger child gets them
    larger_left = nodes["count"][left] >= nodes["count"][right]
    missing_left = np.where(unseen, larger_left, nodes["missing_left"] == 1) & numeric
    firsts = offsets[:-1].tolist()
    found = [
        (first + at, tree.sets[at])
        for first, tree in zip(firsts, trees, strict=True)
        for at in sorted(tree.sets)
    ]
    sets = [codes for _, codes in found]
    categories = np.full(len(nodes), -1, np.int32)
    categories[[place for place, _ in found]] = np.arange(len(sets))
    threshold = np.zeros(len(nodes))
    chosen = feature[numeric], nodes["bin"][numeric]
    threshold[numeric] = find_upper_edges(binner.edges, *chosen, LARGEST)
    return TreeEnsemble(
        feature=np.where(inner, feature, -1).astype(np.int32),
        threshold=threshold,
        left=left,
        right=right,
        default_left=missing_left,
        missing=np.where(nodes["is_categorical"], Missing.NAN, binner.missing_kind).astype(
            np.uint8
        ),
        categories=categories,
        value=nodes["value"][:, None],
        gain=np.where(inner, nodes["gain"], np.nan),
        cover=nodes["count"].astype(np.float64),
        set_indptr=np.cumsum([0] + [len(codes) for codes in sets]),
        set_codes=np.concatenate([*sets, np.empty(0, np.int64)]),
        members_left=np.ones(len(sets), bool),
        offsets=offsets,
        weight=np.ones(len(trees)),
        output=np.tile(np.arange(len(base), dtype=np.int32), len(rounds)),
        base=base,
        n_features=len(binner.missing),
        link=link,
        classes=class_codes(classes),
        cover_kind="rows",
        library=OURS,
        linear=LinearLeaves.join([t.linear for t in trees], [t.nodes["value"] for t in trees]),
    )


def find_upper_edges(edges, features, bins, end):
    """Return the upper edges of bins, float64 (n,).

    Parameters
    ----------
    edges : list of the bin edges of each feature, float64, ascending
    features, bins : (n,) int64
    end : float, the upper edge of a feature's last bin
    """
    if not len(features):
        return np.empty(0)
    used = np.flatnonzero(np.bincount(features))
    own = [edges[f] for f in used.tolist()]
    first = np.empty(used[-1] + 1, np.int64)
    first[used] = np.cumsum([0] + [len(one) + 1 for one in own[:-1]])
    last = np.array([end])
    ends = np.concatenate([part for one in own for part in (one, last)])
    return ends[first[features] + bins]


def class_codes(classes):
    """Return the integers that represent the classes in an ensemble."""
    if classes is None:
        return ()
    integer = np.issubdtype(classes.dtype, np.integer)
    return tuple(int(c) for c in classes) if integer else tuple(range(len(classes)))
