"""Conversion of second-order trees to and from `harness.TreeEnsemble`, and importances."""

import numpy as np

from algorithms.gbdt.model import class_codes
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.summed_trees import require_sum, rounds_of, values_of
from algorithms.newton.tree import NODE, NewtonTree, have_vectors, rounded_gain

LIBRARY = "tree-harness"


def join_trees(
    rounds, base, link, classes, n_features, missing_value=np.nan, outputs=None
):  # fmt: skip
    """Return rounds of trees as a `harness.TreeEnsemble`, read and summed as XGBoost does.

    Parameters
    ----------
    rounds : list of lists of NewtonTree, equally many consecutive ones per score; or trees for all
        scores at once
    base : float32 (n_scores,)
    link : link function of the ensemble
    classes : (n_classes,) labels, or None for regression
    n_features : int
    missing_value : value that is read as missing, in addition to NaN
    outputs : int (n_trees,), score of each tree, if its place in the round does not say it
    """
    from harness import Missing, TreeEnsemble

    trees = [tree for round_ in rounds for tree in round_]
    nodes = join_nodes(trees)
    offsets = np.cumsum([0] + [len(tree.nodes) for tree in trees])
    start = np.repeat(offsets[:-1], np.diff(offsets))
    inner = nodes["left"] >= 0
    left, right = (np.where(inner, nodes[side] + start, -1) for side in ("left", "right"))
    sets = [tree.sets[at] for tree in trees for at in sorted(tree.sets)]
    categorical = [
        first + at for first, t in zip(offsets, trees, strict=False) for at in sorted(t.sets)
    ]
    categories = np.full(len(nodes), -1, np.int32)
    categories[categorical] = np.arange(len(sets))
    return TreeEnsemble(
        feature=np.where(inner, nodes["feature"], -1),
        threshold=np.where(inner, nodes["threshold"], 0.0),
        left=left,
        right=right,
        default_left=inner & (nodes["missing_left"] == 1),
        missing=np.full(len(nodes), int(Missing.NAN)),
        categories=categories,
        value=join_values(trees, nodes).astype(np.float64),
        gain=np.where(inner, nodes["gain"], np.nan),
        cover=nodes["cover"].astype(np.float64),
        set_indptr=np.cumsum([0] + [len(codes) for codes in sets]),
        set_codes=np.concatenate([*sets, np.empty(0, np.int32)]),
        members_left=np.zeros(len(sets), bool),
        offsets=offsets,
        weight=np.ones(len(trees)),
        output=outputs_of(rounds, len(base)) if outputs is None else outputs,
        base=base.astype(np.float64),
        n_features=n_features,
        comparison="<",
        link=link,
        input_dtype="float32",
        sum_dtype="float32",
        absent="nan",
        missing_value=float(missing_value),
        classes=class_codes(classes),
        library=LIBRARY,
        cover_kind="hessian",
    )


def outputs_of(rounds, n_scores):
    """Return the first score of each tree of all rounds, int64 (n_trees,)."""
    if have_vectors(rounds):
        return np.zeros(sum(map(len, rounds)), np.int64)
    scores = [np.repeat(np.arange(n_scores), len(round_) // n_scores) for round_ in rounds]
    return np.concatenate([np.empty(0, np.int64), *scores])


def join_nodes(trees):
    """Return the concatenated nodes of all trees."""
    return np.concatenate([tree.nodes for tree in trees]) if trees else np.empty(0, NODE)


def join_values(trees, nodes):
    """Return the values of all nodes of all trees, float32 (n_nodes, 1 or n_outputs)."""
    if have_vectors([trees]):
        return np.concatenate([tree.values for tree in trees])
    return nodes["value"][:, None]


def rounds_from(e, n_parallel=1):
    """Return an ensemble with XGBoost's conventions as rounds of NewtonTree.

    Parameters
    ----------
    e : harness.TreeEnsemble
    n_parallel : int, number of trees of a score in each round

    Raises
    ------
    ModelFileError
        If its trees follow other conventions.
    """
    rules = (e.comparison, e.input_dtype, e.sum_dtype, e.base_first)
    if rules != ("<", "float32", "float32", True) or e.members_left.any():
        raise ModelFileError(
            "its trees do not follow XGBoost's rules: read_model and serve predict with them"
        )
    is_vector = e.value.shape[1] > 1
    require_sum(e, vectors=True)
    start = np.repeat(e.offsets[:-1], np.diff(e.offsets))
    inner = e.left >= 0
    nodes = np.zeros(e.n_nodes, NODE)
    nodes["feature"], nodes["missing_left"] = e.feature, e.default_left
    nodes["left"], nodes["right"] = (np.where(inner, c - start, -1) for c in (e.left, e.right))
    with np.errstate(over="ignore"):  # values in a file may exceed float32
        values = np.nan_to_num(values_of(e)).astype(np.float32)
        nodes["threshold"] = e.threshold
        if not is_vector:
            nodes["value"] = values[:, 0]
        nodes["gain"], nodes["cover"] = gain_of(e), np.nan_to_num(e.cover)
    parts = zip(e.offsets[:-1].tolist(), e.offsets[1:].tolist(), strict=True)
    trees = [
        NewtonTree(nodes[a:b].copy(), sets_of(e, a, b), values[a:b] if is_vector else None)
        for a, b in parts
    ]
    n_scores = 1 if is_vector else e.n_outputs
    numbers = np.arange(e.n_trees)[:, None] if is_vector else rounds_of(e)
    if n_parallel < 1 or len(numbers) % n_parallel:
        raise ModelFileError(f"{len(numbers)} trees of a score are no rounds of {n_parallel} trees")
    numbers = numbers.reshape(-1, n_parallel, n_scores).transpose(0, 2, 1)
    numbers = numbers.reshape(len(numbers), n_parallel * n_scores)
    return [[trees[t] for t in round_] for round_ in numbers.tolist()]


def gain_of(e):
    """Return the gains of an ensemble's nodes, 0 at leaves and the largest where infinite."""
    return rounded_gain(np.nan_to_num(e.gain, posinf=float(np.finfo(np.float32).max)))


def sets_of(e, first, last):
    """Return the codes of each categorical split in nodes first … last − 1, node → int32."""
    categorical = np.flatnonzero(e.categories[first:last] >= 0).tolist()
    numbers = e.categories[first:last][categorical].tolist()
    ends = e.set_indptr
    return {
        at: e.set_codes[ends[k] : ends[k + 1]] for at, k in zip(categorical, numbers, strict=True)
    }


def importances(rounds, kind, n_features):
    """Return the unnormalized importance of each feature, float64 (n_features,).

    Parameters
    ----------
    kind : "weight" counts splits, "total_gain" and "total_cover" sum their gains and Σh; "gain" and
        "cover" are means
    """
    nodes = join_nodes([tree for round_ in rounds for tree in round_])
    nodes = nodes[nodes["left"] >= 0]
    count = np.bincount(nodes["feature"], minlength=n_features).astype(np.float64)
    if kind == "weight":
        return count
    total = np.bincount(nodes["feature"], nodes[kind.removeprefix("total_")], n_features)
    return total if kind.startswith("total_") else total / np.maximum(count, 1.0)


def flat(raw):
    """Return scores as a vector if there is only one output."""
    return raw[:, 0] if raw.shape[1] == 1 else raw
