"""New leaf values of a model for other rows, with the same splits: `Booster.refit`.

With decay_rate ρ, the new values are ρ · old + (1 − ρ) · v, where v is the value that training
would give to the leaf on the new rows. The constants and slopes of linear leaves are refitted in
the same way. A leaf that no row reaches is not changed.
"""

from dataclasses import replace

import numpy as np

from algorithms.compat.lightgbm.training import by_row
from algorithms.gbdt.linear_leaves import GrownLeaves, call_once
from algorithms.prediction.predictor import FastPredictor


def refit_leaves(estimator, training, decay_rate):
    """Change the leaf values of an estimator in place, round by round.

    Parameters
    ----------
    estimator : NativeModel, of trees without a base
    training : Training, of the new rows, before its first round
    decay_rate : float
    """
    trees, booster, core = estimator.ensemble_, training.booster, training.core
    data, k = training.train_set, trees.n_outputs
    X = estimator._read_rows(data.rows())  # noqa: SLF001 - its own estimator
    given, rows = by_row(data.init_score, X.shape[0], k), training.rows()
    booster.score[:] = 0.0 if given is None else np.reshape(given, (-1, k))[rows].T
    leaves = trees.leaves(X[rows])
    value, linear = trees.value.copy(), trees.linear
    if linear is not None:
        arrays = linear.constant.copy(), linear.coefficient.copy()
        linear = replace(linear, constant=arrays[0], coefficient=arrays[1])
    for t in range(trees.n_trees):
        if t % k == 0:
            booster.differentiate()
        at, g = leaves[:, t], booster.g[t % k].astype(np.float64)
        h = booster.h[t % k] if booster.h.shape[1] else np.ones_like(g)
        sum_g = np.bincount(at, g, len(value))
        sum_h = np.bincount(at, h, len(value))
        reached = np.unique(at)
        pull = np.maximum(np.abs(sum_g[reached]) - core.reg_alpha, 0.0) * np.sign(sum_g[reached])
        rate = rate_of(core, t // k)
        new = -pull / (sum_h[reached] + core.reg_lambda + 1e-15) * rate
        value[reached, 0] = decay_rate * value[reached, 0] + (1.0 - decay_rate) * new
        output = value[at, 0]
        if linear is not None:
            derivatives = booster.g[t % k], booster.h[t % k]
            if has_missing_splits(trees, t, booster.linear):
                is_plain = linear.start[reached + 1] == linear.start[reached]
                new = np.where(is_plain, value[reached, 0] * rate, new)
            refit_linear_leaves(linear, booster.linear, at, derivatives, new, rate, decay_rate)
            output = linear.outputs(value[:, 0], at, booster.linear.values)
        booster.score[t % k] += output
    replace_values(estimator, value=value, linear=linear)


def rate_of(core, number):
    """Return the factor of the new leaf values of a round.

    The trees of the first round hold the initial score, so they are not shrunk; as in LightGBM.
    """
    is_unshrunk = core.boosting_type == "rf" or (number == 0 and core.boost_from_average)
    is_ranking = getattr(core._objective, "is_ranking", False)  # noqa: SLF001 - its own estimator
    return 1.0 if is_unshrunk and not is_ranking else core.learning_rate


def has_missing_splits(trees, number, fitter):
    """Return whether a tree splits on a numeric column with missing values in the new rows.

    The constants of leaves without slopes then receive ``decay_rate`` twice, as in LightGBM.
    """
    feature = trees.feature[trees.offsets[number] : trees.offsets[number + 1]]
    feature = feature[feature >= 0]
    return bool((fitter.has_missing & ~fitter.is_categorical)[feature].any())


def refit_linear_leaves(linear, fitter, at, derivatives, new, rate, decay_rate):
    """Change the linear models of the leaves of a tree in place.

    Leaves with fewer complete rows than coefficients get a constant as their new model.

    Parameters
    ----------
    linear : harness.LinearLeaves of all trees
    fitter : LinearLeafFitter, of the training rows
    at : (n_rows,), node of each row's leaf
    derivatives : g and h, float32 (n_rows,); an empty h means ones
    new : (n_leaves,), new values of the nodes that rows reach, ascending by node
    rate : float, factor of the fitted coefficients
    decay_rate : float
    """
    nodes, counts = np.unique(at, return_counts=True)
    ends = np.cumsum(counts)
    rows = np.argsort(at, kind="stable").astype(np.uint32)
    leaves = GrownLeaves(nodes, rows, np.stack([ends - counts, ends], axis=1))
    spans = [np.arange(linear.start[node], linear.start[node + 1]) for node in nodes.tolist()]
    terms = np.concatenate(spans)
    start = np.concatenate([[0], np.cumsum([len(one) for one in spans])])
    found = fitter.fit_terms(leaves, start, linear.feature[terms], *derivatives, call_once)
    constant = np.where(np.isnan(found[0]), new, found[0] * rate)
    for array, own, fitted in (
        (linear.constant, nodes, constant),
        (linear.coefficient, terms, found[1] * rate),
    ):
        array[own] = decay_rate * array[own] + (1.0 - decay_rate) * fitted


def replace_values(estimator, **arrays):
    """Replace the leaf values of an estimator: ``value`` or ``linear`` of its `TreeEnsemble`."""
    estimator.ensemble_ = replace(estimator.ensemble_, **arrays)
    estimator._base = estimator.ensemble_.base  # noqa: SLF001 - its own estimator
    estimator._walker = FastPredictor(estimator.ensemble_)  # noqa: SLF001 - its own estimator
