"""Ensembles in the form of other libraries' files: rounds of trees that are summed."""

from dataclasses import dataclass, fields, replace

import numpy as np

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MAX_CODES
from algorithms.prediction.node_rules import ends_left, nan_goes_left
from harness import Tree, TreeEnsemble


@dataclass(frozen=True)
class PlainSum:
    """Trees with one value per leaf, in rounds of one tree per score; or trees of all scores.

    A categorical split sends the codes of its set to the side of ``members_left`` in `plain_sum`,
    all other codes to the other side, and NaN according to ``nan_left``; the children were swapped
    where necessary.
    """

    ensemble: TreeEnsemble
    rounds: np.ndarray  # int64 (n_rounds, n_outputs or 1), tree indices
    value: np.ndarray  # float64 (n_nodes, n_values), times the weight of the tree
    ends: np.ndarray  # float64 (n_nodes,), x <= end goes left
    nan_left: np.ndarray  # bool (n_nodes,)
    left: np.ndarray  # int32 (n_nodes,), of the whole ensemble
    right: np.ndarray
    linear: object  # harness.LinearLeaves, times the weight of the tree; None: constant leaves


def require_sum(e, *, may_be_linear=False, vectors=False):
    """Raise ModelFileError if an ensemble is not a sum, or its leaves have several values.

    With ``vectors`` each leaf may have one value for each output.
    """
    if not may_be_linear:
        refuse_linear(e)
    allowed = {1, e.n_outputs} if vectors else {1}
    if e.combination != "sum" or e.value.shape[1] not in allowed:
        raise ModelFileError(
            "the file format stores sums of trees with one value per leaf; this model is the "
            f"{e.combination} of trees with {e.value.shape[1]}"
        )
    if (e.set_codes >= MAX_CODES).any():
        raise ModelFileError(f"a category code is above {MAX_CODES - 1}")


def refuse_linear(e):
    """Raise ModelFileError if leaves are linear models."""
    if e.linear is not None:
        raise ModelFileError(
            "the file format cannot store linear leaves (linear_tree=True): use LightGBM's text "
            "format or this project's JSON"
        )


def plain_sum(ensemble, *, members_left):
    """Return the `PlainSum` of an ensemble.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    members_left : bool
        Whether the listed categories go left; otherwise right.

    Raises
    ------
    ModelFileError
        If the scores do not have equally many trees.
    """
    e = ensemble
    ends = ends_left(e)
    nan_left = nan_goes_left(e, ends)
    is_categorical = e.categories >= 0
    swapped = is_categorical.copy()
    swapped[is_categorical] = e.members_left[e.categories[is_categorical]] != members_left
    return PlainSum(
        e,
        rounds_of(e),
        values_of(e),
        ends,
        nan_left ^ swapped,
        np.where(swapped, e.right, e.left),
        np.where(swapped, e.left, e.right),
        weighted_linear(e),
    )


def rounds_of(e):
    """Return the tree indices, one row per round and one column per score.

    If leaves are vectors, each tree is a row.
    """
    if e.value.shape[1] > 1:
        return np.arange(e.n_trees)[:, None]
    counts = np.bincount(e.output, minlength=e.n_outputs)
    if (counts != counts[0]).any():
        raise ModelFileError(
            "the file format has as many trees for each score; this model does not"
        )
    return np.argsort(e.output, kind="stable").reshape(e.n_outputs, -1).T


def first_rounds(e, count):
    """Return an ensemble with the first ``count`` rounds of another."""
    numbers = rounds_of(e)[:count].ravel()
    arrays = e.to_arrays()
    rest = {f.name: getattr(e, f.name) for f in fields(e) if f.name not in arrays}
    return TreeEnsemble.join(
        [e.tree(t) for t in numbers.tolist()],
        weight=e.weight[numbers],
        output=e.output[numbers],
        base=e.base,
        **rest,
    )


def value_of(e):
    """Return each node's value times the weight of its tree, rounded to the sum's dtype."""
    return values_of(e)[:, 0]


def values_of(e):
    """Return `value_of` of vector leaves, float64 (n_nodes, n_values)."""
    weight = np.repeat(e.weight, np.diff(e.offsets))[:, None]
    return (weight * e.value).astype(e.sum_dtype).astype(np.float64)


def weighted_linear(e):
    """Return the linear leaves times the weights of the trees, or None if leaves are constant."""
    if e.linear is None:
        return None
    weight = np.repeat(e.weight, np.diff(e.offsets))
    of_terms = np.repeat(weight, np.diff(e.linear.start))
    outputs = {
        "constant": weight * e.linear.constant,
        "coefficient": of_terms * e.linear.coefficient,
    }
    return replace(e.linear, **outputs)


def base_in_trees(e):
    """Return an ensemble with base score 0 and bitwise the same sums.

    A base score that starts the sum is added to the first tree of each score; one that ends the
    sum becomes a last round of single-leaf trees.
    """
    require_sum(e, may_be_linear=True)
    none = np.zeros(e.n_outputs)
    if not e.base.any():
        return replace(e, base=none, base_first=True)
    if not e.base_first or not e.n_trees:
        return with_constants(e)
    first = rounds_of(e)[0]
    value, linear = value_of(e), weighted_linear(e)
    constant = None if linear is None else linear.constant
    for k, t in enumerate(first):
        nodes = slice(e.offsets[t], e.offsets[t + 1])
        parts = e.base[k].astype(e.sum_dtype), value[nodes].astype(e.sum_dtype)
        value[nodes] = parts[0] + parts[1]
        if constant is not None:
            constant[nodes] += e.base[k]
    parts = {"value": value[:, None], "weight": np.ones(e.n_trees), "linear": linear}
    return replace(e, base=none, **parts)


def with_constants(e):
    """Return an ensemble with its base score as a last round of single-leaf trees."""
    leaf = np.full(1, -1, np.int32)
    cover = float(np.nanmax(e.cover[e.offsets[:-1]], initial=0.0))
    constants = [
        Tree(leaf, np.zeros(1), leaf, leaf, np.full((1, 1), b), cover=np.full(1, cover))
        for b in e.base
    ]
    arrays = e.to_arrays()
    rest = {f.name: getattr(e, f.name) for f in fields(e) if f.name not in arrays}
    return TreeEnsemble.join(
        [*(e.tree(t) for t in range(e.n_trees)), *constants],
        weight=np.append(e.weight, np.ones(e.n_outputs)),
        output=np.append(e.output, np.arange(e.n_outputs, dtype=np.int32)),
        base=np.zeros(e.n_outputs),
        **{**rest, "base_first": True},
    )
