"""Export of fitted scikit-learn estimators as a TreeEnsemble.

Exact trees round X to float32 and compare it with a float64 threshold. Histogram trees compare in
float64. All sums are float64, in the order of the members.
"""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn import tree
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from algorithms.reference._codes import codes_of_labels
from algorithms.reference._errors import not_exportable
from harness import Missing, Tree, TreeEnsemble

ABOUT = {"library": "scikit-learn", "version": sklearn.__version__}
EXACT = {**ABOUT, "input_dtype": "float32", "cover_kind": "weight"}


def export(model):
    """Return a fitted estimator's trees; raise HarnessError if they cannot be exported."""
    name = type(model).__name__.removesuffix("Classifier").removesuffix("Regressor")
    if name not in EXPORTS:
        raise not_exportable(f"no rule for {type(model).__name__}")
    return EXPORTS[name](model)


def exact_tree(fitted, columns=None, n_classes=None):
    """Return the tree of a fitted DecisionTree estimator.

    Parameters
    ----------
    fitted
        DecisionTreeClassifier or DecisionTreeRegressor with one output.
    columns : (n_features,) int array, optional
        Column of X of each of the tree's features, if the tree was trained on some columns only.
    n_classes : int, optional
        Number of classes of the ensemble, if ``fitted.classes_`` are codes of some of them.
    """
    if not isinstance(fitted, tree.BaseDecisionTree) or fitted.n_outputs_ != 1:
        raise not_exportable(f"a member is a {type(fitted).__name__}")
    t = fitted.tree_
    inner = t.children_left >= 0
    feature = np.where(inner, t.feature, 0) if columns is None else columns[t.feature * inner]
    value = t.value[:, 0, :]
    if n_classes is not None and value.shape[1] < n_classes:
        value = np.zeros((len(value), n_classes))
        value[:, fitted.classes_.astype(np.int64)] = t.value[:, 0, :]
    spread = t.weighted_n_node_samples * t.impurity
    children = np.where(inner, spread[t.children_left] + spread[t.children_right], spread)
    return Tree(
        feature=np.where(inner, feature, -1).astype(np.int32),
        threshold=t.threshold,
        left=t.children_left.astype(np.int32),
        right=t.children_right.astype(np.int32),
        value=value,
        default_left=t.missing_go_to_left.astype(bool),
        missing=np.full(t.node_count, Missing.NAN, np.uint8),
        gain=(spread - children) / t.weighted_n_node_samples[0],
        cover=t.weighted_n_node_samples,
    )


def single(model):
    """Return a single tree."""
    return TreeEnsemble.join(
        [exact_tree(model)], n_features=model.n_features_in_, classes=codes(model), **EXACT
    )


def forest(model):
    """Return the mean of the trees of a forest."""
    return TreeEnsemble.join(
        [exact_tree(member) for member in model.estimators_],
        n_features=model.n_features_in_,
        combination="mean",
        classes=codes(model),
        **EXACT,
    )


def bagging(model):
    """Return the mean of bagged trees, each on its own columns, possibly without some classes."""
    n_classes = model.n_classes_ if is_classifier(model) else None
    members = zip(model.estimators_, model.estimators_features_, strict=True)
    return TreeEnsemble.join(
        [exact_tree(member, np.asarray(columns), n_classes) for member, columns in members],
        n_features=model.n_features_in_,
        combination="mean",
        classes=codes(model),
        **EXACT,
    )


def adaboost(model):
    """Return SAMME's weighted vote, or R2's weighted median.

    A vote gives its weight to one class and subtracts weight / (K - 1) from the others.
    Probabilities are the softmax of the mean over K - 1.
    """
    rest = {"combination": "median"}
    if is_classifier(model):
        others = max(1, model.n_classes_ - 1)
        rest = {"combination": "vote", "against": -1 / others, "link": "softmax"}
        rest["temperature"] = others
    return TreeEnsemble.join(
        [exact_tree(member) for member in model.estimators_],
        n_features=model.n_features_in_,
        weight=model.estimator_weights_[: len(model.estimators_)],
        classes=codes(model),
        **rest,
        **EXACT,
    )


def gradient_boosting(model):
    """Return the weighted sum of gradient boosting on exact trees."""
    constant = isinstance(model.init_, (str, DummyClassifier, DummyRegressor))
    if not constant:
        raise not_exportable(f"its initial model is a {type(model.init_).__name__}")
    rounds, width = model.estimators_.shape
    # private; the only way to read the exact initial scores
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]  # noqa: SLF001
    exponential = is_classifier(model) and model.loss == "exponential"
    return TreeEnsemble.join(
        [exact_tree(member) for member in model.estimators_.ravel()],
        n_features=model.n_features_in_,
        weight=np.full(rounds * width, model.learning_rate),
        output=np.tile(np.arange(width), rounds),
        base=base,
        link=link(model, width),
        temperature=0.5 if exponential else 1.0,
        classes=codes(model),
        **EXACT,
    )


def hist_gradient_boosting(model):
    """Return the sum of histogram trees, with the original columns and categories."""
    columns, categories = encoded_columns(model)
    # private: predictors, base score and loss have no public attribute
    rounds = model._predictors  # noqa: SLF001
    base = model._baseline_prediction.ravel()  # noqa: SLF001
    logarithmic = not is_classifier(model) and model.loss in ("gamma", "poisson")
    return TreeEnsemble.join(
        [hist_tree(member, columns, categories) for members in rounds for member in members],
        n_features=model.n_features_in_,
        output=np.tile(np.arange(len(base)), len(rounds)),
        base=base,
        link="exp" if logarithmic else link(model, len(base)),
        classes=codes(model),
        cover_kind="rows",
        **ABOUT,
    )


def encoded_columns(model):
    """Return the column of X of each inner feature, and the category codes of each inner feature.

    The model reorders columns, categorical ones first, and renumbers the categories of the training
    rows.
    """
    preprocessor = model._preprocessor  # noqa: SLF001 - holds the order of columns and categories
    if preprocessor is None:
        return np.arange(model.n_features_in_), {}
    categorical = np.asarray(model.is_categorical_, bool)
    columns = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    known = preprocessor.named_transformers_["encoder"].categories_
    return columns, {i: c[~np.isnan(c.astype(float))].astype(int) for i, c in enumerate(known)}


def hist_tree(predictor, columns, categories):
    """Return one tree; an unknown category goes where missing values go."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    default_left = nodes["missing_go_to_left"].astype(bool)
    sets = {}
    for i in np.flatnonzero(~leaf & nodes["is_categorical"].astype(bool)).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
        known = categories[int(nodes["feature_idx"][i])]
        numbers = np.arange(len(known))
        left = (words[numbers // 32] >> (numbers % 32).astype(np.uint32)) & 1 == 1
        # the listed side is the one that unknown categories do not take
        listed = known[~left] if default_left[i] else known[left]
        sets[i] = (listed.tolist(), not default_left[i])
    return Tree(
        feature=np.where(leaf, -1, columns[nodes["feature_idx"] * ~leaf]).astype(np.int32),
        threshold=nodes["num_threshold"],
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
        value=nodes["value"][:, None],
        default_left=default_left,
        missing=np.full(len(nodes), Missing.NAN, np.uint8),
        gain=np.where(leaf, 0.0, nodes["gain"]),
        cover=nodes["count"].astype(float),
        sets=sets,
    )


def link(model, width):
    """Return the inverse link of a boosted model with ``width`` outputs."""
    if not is_classifier(model):
        return "identity"
    return "sigmoid" if width == 1 else "softmax"


def codes(model):
    """Return the class codes of a classifier's columns."""
    return codes_of_labels(model.classes_) if is_classifier(model) else ()


EXPORTS = {
    "AdaBoost": adaboost,
    "Bagging": bagging,
    "DecisionTree": single,
    "ExtraTree": single,
    "ExtraTrees": forest,
    "GradientBoosting": gradient_boosting,
    "HistGradientBoosting": hist_gradient_boosting,
    "RandomForest": forest,
}
