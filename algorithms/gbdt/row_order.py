"""Reorder training rows so that the rows of a leaf lie close together in memory.

The trees of one model have similar splits, so the leaves of a tree grown on a sample predict which
rows will share leaves. Rows are sorted by these leaves, depth first. The rows of a leaf are then
long runs, which use whole cache lines. Random draws use a row's original number, so the model is
bitwise identical to that without reordering.
"""

import numpy as np

from algorithms.estimator.constraints import all_free
from algorithms.gbdt.binning import bin_table, sample_rows
from algorithms.gbdt.gradient_quantization import IN_ORDER, pack_rows, stride_of_sizes
from algorithms.gbdt.grower import Grower
from algorithms.gbdt.kernels.booster_arrays import Rules
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.sampling import sampled_share
from algorithms.prediction.predictor import FastPredictor

MIN_VALUES_TO_REORDER = 1 << 22  # smaller tables mostly fit into the cache
MAX_COLUMNS = 128  # longer rows fill whole cache lines in any order
MIN_TREES = 10
SAMPLE = 20_000
MIN_LEAVES = 10  # minimum effective number of leaves: exp of the entropy of leaf sizes
TINY = 1e-300
PLAIN = Rules(
    num_leaves=63,
    max_depth=-1,
    min_child_samples=20,
    min_child_weight=0.0,
    reg_alpha=0.0,
    reg_lambda=0.0,
    min_split_gain=0.0,
    max_delta_step=0.0,
    path_smooth=0.0,
    cat_smooth=10.0,
    cat_l2=10.0,
    max_cat_threshold=32,
    max_cat_to_onehot=4,
    min_data_per_group=100,
    extra_trees=0,
    plain=1,
)


def is_worth_it(params, table, objective):
    """Return whether to reorder rows: many rows, few dense columns and many trees.

    Parameters
    ----------
    params : the estimator
    table : SplitTable or StreamedTable
    objective : Objective, or a callable, which needs the original order
    """
    n_rows, n_columns = table.shape
    return (
        n_columns <= MAX_COLUMNS
        and sampled_share(params) * n_rows * n_columns >= MIN_VALUES_TO_REORDER
        and not len(table.sparse_columns)
        and hasattr(objective, "kind")
        and objective.renewed is None
        and not objective.is_ranking
        and params.boosting_type != "dart"
        and params.n_estimators * objective.n_scores >= MIN_TREES
    )


def find_order(table, binner, objective, targets, workers):
    """Return the row order given by a tree on a sample of the rows, in the form of `pack_rows`.

    The order consists of the row's number at each position, uint32 (n_rows,), and the ascending
    positions of the rows that enter the mean |g|. It is `IN_ORDER` if the tree does not separate
    the rows well.

    Parameters
    ----------
    table : SplitTable, all columns dense
    binner : Binner
    objective : Objective
    targets : from `Objective.targets`
    """
    X = table.array
    drawn = sample_rows(len(X), SAMPLE)
    sample = X[drawn]
    sample.flags.writeable = X.flags.writeable  # avoids compiling kernels for both types
    walker = find_order_tree(sample, binner, objective, targets[:, drawn], workers)
    if walker is None:
        return IN_ORDER
    return order_of_positions(walker.raw(X, workers.threads)[:, 0].astype(np.uint16))


def find_order_tree(sample, binner, objective, targets, workers):
    """Return the predictor of each row's position among the leaves.

    It is None if the tree does not separate the rows well.

    Parameters
    ----------
    sample : (n, n_features), the rows that `sample_rows` draws
    targets : their targets
    binner, objective, workers : as in `find_order`
    """
    n_features = sample.shape[1]
    free = np.zeros(n_features, np.int64), all_free(n_features)
    grower = Grower(bin_table(sample, binner, *free, workers), binner, PLAIN, workers)
    g, records = first_gradients(objective, targets), np.empty(len(sample), np.int64)
    scale = pack_rows(g, g[:0], np.uint32(0), records, workers)
    tree = grower.grow(records, scale, 0)
    if not separates_rows(tree.nodes):
        return None
    tree.nodes["value"] = places_of_leaves(tree.nodes)
    return FastPredictor(join_trees([[tree]], binner, np.zeros(1)))


def order_of_positions(position):
    """Return the row order, as `find_order`, of rows' positions among the leaves.

    Parameters
    ----------
    position : uint16 (n_rows,)
    """
    number = np.argsort(position, kind="stable").astype(np.uint32)
    return number, np.flatnonzero(number % stride_of_sizes(len(position)) == 0).astype(np.uint32)


def first_gradients(objective, targets):
    """Return mean minus target, times a positive factor: float32 (n,).

    Classes get random values. Weights and initial scores are ignored, because the result only
    determines the row order.
    """
    values, mix = targets[0], np.random.default_rng(0).normal(size=objective.n_scores)
    if objective.kind is None:
        values = mix[values.astype(np.int64)]
    elif len(targets) > 1:
        values = mix @ targets
    values = values.astype(np.float64, copy=False)
    values = values / max(np.abs(values).max(), TINY)
    return (values.mean() - values).astype(np.float32)


def separates_rows(nodes):
    """Return whether a tree's leaves split the rows evenly enough (entropy of leaf sizes)."""
    share = nodes["count"][nodes["left"] < 0] / nodes["count"][0]
    share = share[share > 0.0]
    return np.exp(-share @ np.log(share)) >= MIN_LEAVES


def places_of_leaves(nodes):
    """Return each leaf's depth-first index, float64 (n_nodes,); 0 for inner nodes."""
    place, waiting, count = np.zeros(len(nodes)), [0], 0
    while waiting:
        node = waiting.pop()
        if nodes["left"][node] < 0:
            place[node] = count
            count += 1
        else:
            waiting += [int(nodes["right"][node]), int(nodes["left"][node])]
    return place
