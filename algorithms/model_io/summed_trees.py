"""An ensemble as the files of other libraries can say it: rounds of trees, and their sum."""

from dataclasses import dataclass, fields, replace

import numpy as np

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MOST_CODES
from algorithms.prediction.node_rules import ends_left, nan_goes_left
from harness import Tree, TreeEnsemble


@dataclass(frozen=True)
class PlainSum:
    """Trees of one value a leaf, in rounds of one for each score.

    A node that asks for a category sends those of its set left, all others and NaN right, or NaN
    where ``nan_left`` says: its sides were exchanged where it was the other way round.
    """

    ensemble: TreeEnsemble
    rounds: np.ndarray  # int64 (n_rounds, n_outputs), numbers of trees
    value: np.ndarray  # float64 (n_nodes,), times the weight of the tree
    ends: np.ndarray  # float64 (n_nodes,), x <= end goes left
    nan_left: np.ndarray  # bool (n_nodes,)
    left: np.ndarray  # int32 (n_nodes,), of the whole ensemble
    right: np.ndarray


def require_sum(e):
    """Raise ModelFileError where an ensemble is no sum, or its leaves hold several values."""
    if e.combination != "sum" or e.value.shape[1] != 1:
        raise ModelFileError(
            "the file holds sums of trees with one value a leaf; this model is the "
            f"{e.combination} of trees with {e.value.shape[1]}"
        )
    if (e.set_codes >= MOST_CODES).any():
        raise ModelFileError(f"a category's code is above {MOST_CODES - 1}")


def plain_sum(ensemble, *, members_left):
    """Return an ensemble as rounds of plain trees.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    members_left : bool
        Which side the listed categories are to go to.

    Raises
    ------
    ModelFileError
        Where the scores have not as many trees each.
    """
    e = ensemble
    ends = ends_left(e)
    nan_left = nan_goes_left(e, ends)
    asks_set = e.categories >= 0
    turned = asks_set.copy()
    turned[asks_set] = e.members_left[e.categories[asks_set]] != members_left
    return PlainSum(
        e,
        rounds_of(e),
        value_of(e),
        ends,
        nan_left ^ turned,
        np.where(turned, e.right, e.left),
        np.where(turned, e.left, e.right),
    )


def rounds_of(e):
    """Return the numbers of trees, a row for each round and a column for each score."""
    counts = np.bincount(e.output, minlength=e.n_outputs)
    if (counts != counts[0]).any():
        raise ModelFileError("the file holds as many trees for each score; this model has not")
    return np.argsort(e.output, kind="stable").reshape(e.n_outputs, -1).T


def first_rounds(e, count):
    """Return an ensemble of the first rounds of another."""
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
    """Return each node's value times the weight of its tree, as it is added to a sum."""
    weight = np.repeat(e.weight, np.diff(e.offsets))
    return (weight * e.value[:, 0]).astype(e.sum_dtype).astype(np.float64)


def base_in_trees(e):
    """Return an ensemble of the same sums, to the bit, that starts from 0.

    A base that starts the sum is added to the first tree of each score, one that ends it becomes
    a last round of trees without a question.
    """
    none = np.zeros(e.n_outputs)
    if not e.base.any():
        return replace(e, base=none, base_first=True)
    if not e.base_first or not e.n_trees:
        return with_constants(e)
    first = rounds_of(e)[0]
    value = value_of(e)
    for k, t in enumerate(first):
        nodes = slice(e.offsets[t], e.offsets[t + 1])
        parts = e.base[k].astype(e.sum_dtype), value[nodes].astype(e.sum_dtype)
        value[nodes] = parts[0] + parts[1]
    return replace(e, base=none, value=value[:, None], weight=np.ones(e.n_trees))


def with_constants(e):
    """Return an ensemble with its base as a last round of trees of one leaf each."""
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
