"""Bitwise comparison of histogram boosters in parity mode with LightGBM."""

import lightgbm
import numpy as np

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.reference._export_lightgbm import export
from harness import Missing

SETTINGS = {
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "enable_bundle": False,
    "feature_pre_filter": False,
    "verbosity": -1,
}
CLASSES = ("binary", "multiclass", "multiclassova")
CHOICES = {
    "num_leaves": [2, 4, 15, 31],
    "max_depth": [-1, -1, 1, 3],
    "learning_rate": [0.1, 0.7, 1.0],
    "min_child_samples": [0, 1, 5, 20],
    "min_child_weight": [1e-3, 1e-3, 1.0],
    "reg_alpha": [0.0, 0.0, 0.3],
    "reg_lambda": [0.0, 0.0, 1.0],
    "min_split_gain": [0.0, 0.0, 0.5],
    "max_bin": [255, 2, 3, 15, 63],
    "min_data_in_bin": [3, 1, 10],
    "max_delta_step": [0.0, 0.0, 0.0, 0.2],
    "path_smooth": [0.0, 0.0, 0.0, 2.0],
    "boost_from_average": [True, True, False],
    "max_cat_to_onehot": [4, 1, 10],
    "cat_smooth": [10.0, 1.0, 0.0],
    "cat_l2": [10.0, 0.5],
    "max_cat_threshold": [32, 2],
    "min_data_per_group": [100, 1, 10],
    "subsample_for_bin": [200000, 200000, 100, 7],
    "random_state": [None, 1, 12345],
}
ROUNDED = {"reg_lambda": 3.0, "learning_rate": 1.0, "min_split_gain": 0.1, "cat_l2": 1e-3}


def column(rng, n):
    """Return a column of a random kind, and whether its values are categories."""
    kind = rng.integers(9)
    x = rng.normal(size=n)
    if kind == 1:
        x = np.round(x, 1)
    elif kind == 2:
        x = np.exp(3.0 * x)
    elif kind == 3:
        x = np.where(rng.random(n) < 0.8, 0.0, x)
    elif kind == 4:
        x = np.where(rng.random(n) < 0.8, 2.0, np.abs(x))
    elif kind == 5:
        x = rng.integers(0, 3, n).astype(float)
    elif kind == 6:
        x = -np.abs(x) * 1e-30
    elif kind >= 7:
        x = np.floor(rng.exponential(rng.choice([1.0, 8.0]), n)) - (kind == 8)
    if rng.random() < 0.4:
        x[rng.random(n) < rng.choice([0.02, 0.3, 0.8])] = np.nan
    return x, kind >= 7


def table(rng, n, n_columns):
    """Return a table (n, n_columns) and the numbers of its categorical columns."""
    results = [column(rng, n) for _ in range(n_columns)]
    return np.column_stack([x for x, _ in results]), [i for i, (_, c) in enumerate(results) if c]


def target(rng, X, objective):
    """Return a target of an objective that depends partly on X."""
    signal = np.tanh(np.nan_to_num(X)).sum(axis=1) + rng.normal(size=len(X))
    if objective not in CLASSES:
        return np.round(signal * 10.0 ** rng.integers(-2, 3), int(rng.choice([0, 1, 15])))
    k = 2 if objective == "binary" else int(rng.integers(3, 5))
    codes = np.digitize(signal, np.quantile(signal, np.arange(1, k) / k))
    codes[:k] = np.arange(k)
    return codes


def draw_case(seed, objective):
    """Return X, y, weights and parameters of a random case."""
    rng = np.random.default_rng(seed)
    X, categorical = table(rng, int(rng.integers(30, 600)), int(rng.integers(1, 7)))
    weight = rng.lognormal(0.0, rng.choice([0.3, 2.0]), len(X)) if rng.random() < 0.5 else None
    params = {name: given[rng.integers(len(given))] for name, given in CHOICES.items()}
    for name, most in ROUNDED.items():
        if rng.random() < 0.3:
            params[name] = float(np.round(rng.uniform(0.0, most), int(rng.integers(2, 18))))
    if objective in ("huber", "quantile"):
        params["alpha"] = float(rng.choice([0.3, 0.9, 0.1234567891234]))
    return X, target(rng, X, objective), weight, params | {"categorical_feature": categorical}


def fit_both(objective, X, y, weight=None, *, categorical_feature=(), n_estimators=5, **params):
    """Return our booster in parity mode and LightGBM's, trained."""
    is_auto = categorical_feature == "auto"
    categorical = categorical_feature if is_auto else list(categorical_feature)
    kind = HistogramBoostingClassifier if objective in CLASSES else HistogramBoostingRegressor
    shared = {"objective": objective, **params}
    ours = kind(
        parity="lightgbm",
        n_estimators=n_estimators,
        categorical_feature=categorical,
        **shared,
    ).fit(X, y, sample_weight=weight)
    theirs = {k: v for k, v in shared.items() if v is not None} | SETTINGS
    if objective.startswith("multiclass"):
        theirs["num_class"] = len(np.unique(y))
    rows = lightgbm.Dataset(
        X, label=y, weight=weight, categorical_feature=categorical, params=theirs
    )
    return ours, lightgbm.train(theirs, rows, num_boost_round=n_estimators)


def difference(ours, booster):
    """Return the difference of the first two trees that are not bitwise equal, or an empty text."""
    theirs = export(booster, len(getattr(ours, "classes_", ())))
    if theirs.n_trees != ours.ensemble_.n_trees:
        return f"{ours.ensemble_.n_trees} trees, LightGBM has {theirs.n_trees}"
    for number in range(theirs.n_trees):
        reported = differing_node(ours.ensemble_.tree(number), theirs.tree(number))
        if reported:
            return f"tree {number}: {reported}"
    return ""


def differing_node(a, b):
    """Return the difference of the first two nodes that are not equal, or an empty text."""
    todo = [(0, 0, "root")]
    while todo:
        x, y, path = todo.pop(0)
        one, other = compared_fields(a, x), compared_fields(b, y)
        for name, value in one.items():
            if value != other[name]:
                return f"{path}: {name} is {value!r}, LightGBM's {other[name]!r}"
        if a.left[x] >= 0:
            todo.append((int(a.left[x]), int(b.left[y]), path + "L"))
            todo.append((int(a.right[x]), int(b.right[y]), path + "R"))
    return ""


def compared_fields(tree, node):
    """Return the compared fields of a node."""
    if tree.left[node] < 0:
        return {"leaf": True, "value": float(tree.value[node, 0])}
    results = {"leaf": False, "feature": int(tree.feature[node]), "rows": int(tree.cover[node])}
    results["gain"] = f"{tree.gain[node]:g}"  # LightGBM writes six digits
    if node in tree.sets:
        return results | {"set": sorted(map(int, tree.sets[node][0]))}
    threshold, kind = float(tree.threshold[node]), tree.missing[node]
    zero_left = threshold >= 0.0  # where missing values are read as zero
    to_left = zero_left if kind == Missing.NAN_AS_ZERO else bool(tree.default_left[node])
    return results | {"threshold": threshold, "missing left": to_left}


def check_case(seed, objective):
    """Train a random case both ways; compare trees and predictions bitwise."""
    X, y, weight, params = draw_case(seed, objective)
    ours, theirs = fit_both(objective, X, y, weight, **params)
    assert difference(ours, theirs) == ""
    for rows in (X, unseen_rows(X, params["categorical_feature"])):
        check_predictions(ours, theirs, rows)


def unseen_rows(X, categorical):
    """Return rows not seen in training, some with unknown categories."""
    rng = np.random.default_rng(len(X))
    new = rng.permuted(X, axis=0) * rng.choice([1.0, 0.99], X.shape)
    new[:, categorical] = np.round(new[:, categorical]) + rng.integers(
        0, 2, new[:, categorical].shape
    )
    new[rng.random(new.shape) < 0.1] = np.nan
    return new


def check_predictions(ours, theirs, X):
    """Compare raw scores and predictions bitwise."""
    raw = theirs.predict(X, raw_score=True)
    np.testing.assert_array_equal(ours._raw(X).reshape(raw.shape), raw)
    predictions = theirs.predict(X)
    if not hasattr(ours, "classes_"):
        np.testing.assert_array_equal(ours.predict(X), predictions)
        return
    wide = (
        np.column_stack([1.0 - predictions, predictions]) if predictions.ndim == 1 else predictions
    )
    np.testing.assert_array_equal(ours.predict_proba(X), wide)
