"""The sums behind the splits of each kind of ensemble, from its trees and its params.

The link, the base score and the values come from the trees. The rest comes from the params, in the
names of the algorithm's reference library, and from the table below. If a param changes the sums in
a way that cannot be reproduced from outside (sampled rows, another loss), :class:`UnknownError`
names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.parity.ensembles import Side, Training
from harness.analysis.parity.gains import Terms
from harness.core.errors import HarnessError
from harness.trees.ensemble import TreeEnsemble


class UnknownError(HarnessError):
    """Error for sums of a split that cannot be recomputed; the message says why."""


def terms_of(side: Side, training: Training, tree: int) -> Terms:
    """Return the sums of one side when it built one of its trees."""
    rule = RULES.get(side.reference)
    if rule is None:
        what = f"{side.reference} has" if side.reference else "without a reference library there is"
        raise UnknownError(f"{side.name}: {what} no rule for its gains")
    return rule(side, training, tree)


def param(side: Side, names: str, default: Any) -> Any:
    """Return a param by any of its names, separated by spaces."""
    values = [side.params[name] for name in names.split() if side.params.get(name) is not None]
    return values[0] if values else default


def require(side: Side, neutral: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise UnknownError if a param is set to a value that changes the sums."""
    for names, values in neutral.items():
        given = param(side, names, values[0])
        if given not in values:
            name = names.split()[0]
            raise UnknownError(f"{side.name}: with {name}={given!r} its sums are not reproducible")


# ------------------------------------------------------------------ impurity


def impurity(side: Side, training: Training, weight: np.ndarray, prefix: str = "") -> Terms:
    """Return the terms of a tree that is built on targets, with these row weights."""
    e = side.ensemble
    require(side, {"class_weight": (None,)})
    default = "gini" if e.classes else "squared_error"
    criterion = param(side, f"{prefix}criterion", default)
    scale = 1 / float(weight.sum())
    if criterion == "squared_error":
        return Terms("squared error", (weight * training.y)[:, None], weight, scale=scale)
    if criterion not in {"gini", "entropy", "log_loss"}:
        raise UnknownError(f"{side.name}: no rule for the criterion {criterion!r}")
    g = weight[:, None] * one_hot(training.y, e.classes)
    if criterion == "gini":
        return Terms("Gini impurity", g, weight, scale=scale)
    return Terms("entropy", g, weight, scale=scale, entropy=True)


def one_hot(y: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Return one column of 0 and 1 per class, (n, k)."""
    values: np.ndarray = (y[:, None] == np.array(classes)[None, :]).astype(np.float64)
    return values


def single_tree(side: Side, training: Training, _tree: int) -> Terms:
    """Return the terms of a single tree."""
    return impurity(side, training, training.weights)


def bagged(prefix: str) -> Callable[[Side, Training, int], Terms]:
    """Return the rule of trees that are built on samples of the rows, or on all of them."""

    def rule(side: Side, training: Training, _tree: int) -> Terms:
        if param(side, "bootstrap", default=True):
            reason = "the rows that each tree was built on are not exported"
            raise UnknownError(
                f"{side.name}: {reason}; bootstrap=false builds all trees on the same rows"
            )
        require(side, {"max_samples": (1.0, None)})
        if prefix and training.weight is not None:  # weights only say which rows are drawn
            return impurity(side, training, np.ones(training.rows), prefix)
        return impurity(side, training, training.weights, prefix)

    return rule


def adaptive(side: Side, training: Training, tree: int) -> Terms:
    """Return the terms of AdaBoost's SAMME: weights grow for rows that earlier trees got wrong.

    w ← w · exp(α_t · [tree t is wrong]), then normalized; α_t is the weight of tree t.
    """
    e = side.ensemble
    if e.combination != "vote":
        raise UnknownError(f"{side.name}: the rows that R2 draws for each tree are not exported")
    weight = training.weights / training.weights.sum()
    for before in range(tree):
        voted = np.array(e.classes)[e.value[training.leaves(e, before)].argmax(axis=1)]
        weight = weight * np.exp(e.weight[before] * (voted != training.y))
        weight /= weight.sum()
    return impurity(side, training, weight, "estimator__")


# ------------------------------------------------------------------ gradients


def scores_before(side: Side, training: Training, tree: int) -> np.ndarray:
    """Return the raw scores (n, n_outputs) before the round of a tree, as float64."""
    e = side.ensemble
    start = tree - tree % e.n_outputs
    each_once = np.array_equal(e.output, np.arange(e.n_trees) % e.n_outputs)
    if e.combination != "sum" or not each_once or e.value.shape[1] != 1:
        raise UnknownError(f"{side.name}: its rounds do not have one tree per output")
    values: np.ndarray = first_trees(e, start).raw(training.X).astype(np.float64)
    return values / e.temperature


def first_trees(e: TreeEnsemble, number: int) -> TreeEnsemble:
    """Return an ensemble of the first ``number`` trees."""
    nodes = int(e.offsets[number])
    per_node = ("feature", "threshold", "left", "right", "default_left", "missing", "categories")
    cut: dict[str, Any] = {n: getattr(e, n)[:nodes] for n in (*per_node, "value", "gain", "cover")}
    cut |= {"weight": e.weight[:number], "output": e.output[:number]}
    return replace(e, **cut, offsets=e.offsets[: number + 1])


def gradients(
    side: Side, training: Training, tree: int, scores: np.ndarray
) -> tuple[str, np.ndarray, np.ndarray]:
    """Return loss, gradient and hessian (n,) of the output that a tree contributes to.

    Squared error: g = s − y, h = 1. Log loss of two classes: g = p − y, h = p(1 − p), p = σ(s).
    Of more: g = p_k − [y = k], h = p_k(1 − p_k), p = softmax(s).
    """
    e, y = side.ensemble, training.y
    k = int(e.output[tree])
    if e.link == "identity" and not e.classes:
        return "squared error", scores[:, 0] - y, np.ones(len(y))
    if e.link == "sigmoid" and len(e.classes) == 2:
        p = 1 / (1 + np.exp(-scores[:, 0]))
        return "log loss", p - (y == e.classes[1]), p * (1 - p)
    if e.link == "softmax":
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        p = (power / power.sum(axis=1, keepdims=True))[:, k]
        return "log loss", p - (y == e.classes[k]), p * (1 - p)
    raise UnknownError(f"{side.name}: no rule for scores with the link {e.link!r}")


def residuals(side: Side, training: Training, tree: int) -> Terms:
    """Return the terms of trees that are fitted to gradients by squared error."""
    losses = (None, "squared_error", "log_loss")
    require(side, {"loss": losses, "subsample": (1.0,), "init": (None, "zero")})
    _, g, _ = gradients(side, training, tree, scores_before(side, training, tree))
    weight = training.weights
    scale = 1 / float(weight.sum())
    return Terms("squared error of the gradients", (weight * g)[:, None], weight, scale=scale)


def second_order(
    side: Side, training: Training, tree: int, scores: np.ndarray, l2: float, l1: float = 0.0
) -> Terms:
    """Return the terms of trees that are grown on gradients and hessians."""
    loss, g, h = gradients(side, training, tree, scores)
    weight = training.weights
    return Terms(f"second-order {loss}", (weight * g)[:, None], weight * h, l2, l1)


def sklearn_histogram(side: Side, training: Training, tree: int) -> Terms:
    """Return the terms of scikit-learn's HistGradientBoosting."""
    require(side, {"loss": (None, "squared_error", "log_loss"), "class_weight": (None,)})
    scores = scores_before(side, training, tree)
    return second_order(side, training, tree, scores, param(side, "l2_regularization", 0.0))


def xgboost(side: Side, training: Training, tree: int) -> Terms:
    """Return the terms of XGBoost; its softmax doubles the hessian."""
    objectives = ("reg:squarederror", "binary:logistic", "multi:softprob")
    require(
        side,
        {
            "objective": (None, *objectives),
            "subsample": (1, None),
            "scale_pos_weight": (1, None),
            "max_delta_step": (0, None),
            "booster": ("gbtree", None),
        },
    )
    scores = scores_before(side, training, tree)
    l2, l1 = param(side, "reg_lambda lambda", 1.0), param(side, "reg_alpha alpha", 0.0)
    terms = second_order(side, training, tree, scores, l2, l1)
    return replace(terms, h=2 * terms.h) if side.ensemble.link == "softmax" else terms


def lightgbm(side: Side, training: Training, tree: int) -> Terms:
    """Return the terms of LightGBM, whose first trees include the initial score.

    Its softmax scales the hessian by K / (K − 1); ``sigmoid`` scales scores.
    """
    e = side.ensemble
    require(
        side,
        {
            "objective": (None, "regression", "binary", "multiclass"),
            "boosting boosting_type": ("gbdt", None),
            "data_sample_strategy": ("bagging", None),
            "subsample_freq bagging_freq": (0, None),
            "use_quantized_grad": (False, None),
            "is_unbalance unbalance": (False, None),
            "scale_pos_weight": (1, None),
            "max_delta_step": (0, None),
            "path_smooth": (0, None),
            "linear_tree": (False, None),
            "extra_trees": (False, None),
        },
    )
    scores = scores_before(side, training, tree)
    if tree < e.n_outputs and not e.base.any() and param(side, "boost_from_average", default=True):
        scores = scores + initial_scores(e, training)
    l2, l1 = param(side, "reg_lambda lambda_l2", 0.0), param(side, "reg_alpha lambda_l1", 0.0)
    terms = second_order(side, training, tree, scores, l2, l1)
    slope = 1 / e.temperature
    factor = e.n_outputs / (e.n_outputs - 1) if e.link == "softmax" else 1.0
    return replace(terms, g=terms.g * slope, h=terms.h * slope**2 * factor)


def initial_scores(e: TreeEnsemble, training: Training) -> np.ndarray:
    """Return the constant scores that fit the targets best, divided by the temperature."""
    if not e.classes:
        return np.array([np.average(training.y, weights=training.weights)])
    share = np.average(one_hot(training.y, e.classes), axis=0, weights=training.weights)
    with np.errstate(divide="ignore"):
        logs = np.log(share)
    return logs[1:] - logs[:1] if e.link == "sigmoid" else np.maximum(logs, np.log(1e-15))


RULES: dict[str, Callable[[Side, Training, int], Terms]] = {
    "sklearn.decision_tree": single_tree,
    "sklearn.bagging": bagged("estimator__"),
    "sklearn.random_forest": bagged(""),
    "sklearn.adaboost": adaptive,
    "sklearn.gradient_boosting": residuals,
    "sklearn.hist_gradient_boosting": sklearn_histogram,
    "xgboost.exact": xgboost,
    "xgboost.approx": xgboost,
    "xgboost.hist": xgboost,
    "lightgbm.gbdt": lightgbm,
}
