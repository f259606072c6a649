"""Random tables with categories, and CatBoost's trees on them, for ``parity="catboost"``."""

import json
import re

import catboost
import numpy as np
import pandas as pd
from catboost_kit import PARITY, targets

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric.derived_columns import Indicator

FIXED = {name: value for name, value in PARITY.items() if name != "parity"}
QUIET = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
CTRS = [
    None,
    ["Borders:Prior=0.3:Prior=2"],
    ["Borders:TargetBorderCount=3:CtrBorderCount=7", "Counter:Prior=0.5:CtrBorderCount=31"],
    ["Buckets", "Counter"],
    ["BinarizedTargetMeanValue:TargetBorderCount=4:Prior=-0.5", "Buckets:Prior=0.1"],
    ["Counter"],
]


def random_categories(seed, loss, **fixed):
    """Return a frame with categories, y, weights or None, and parameters of both estimators."""
    rng = np.random.default_rng(seed)
    n_rows, n_numeric = int(rng.choice([60, 300, 1500, 11000])), int(rng.integers(0, 4))
    columns = {}
    for j in range(n_numeric):
        values = rng.normal(size=n_rows).astype(np.float32)
        kind = rng.integers(3)
        if kind == 1:
            values = (values > 0.3).astype(np.float32)
        elif kind == 2:
            values[rng.random(n_rows) < 0.1] = np.nan
        columns[f"n{j}"] = values
    score = sum(np.nan_to_num(own) for own in columns.values()) + rng.normal(size=n_rows)
    for j in range(int(rng.integers(1, 4))):
        n_levels = int(rng.choice([2, 3, 5, 12, 40, max(n_rows // 3, 2)]))
        codes = (n_levels * rng.random(n_rows) ** rng.choice([1.0, 2.0])).astype(int)
        score = score + rng.normal(size=n_levels)[codes]
        columns[f"c{j}"] = as_categories(codes, int(rng.integers(4)))
    names = [name for name in columns if name[0] == "c"]
    order = rng.permutation(len(columns))
    X = pd.DataFrame(columns).iloc[:, order]
    weight = rng.uniform(0.2, 2.0, n_rows) if rng.random() < 0.3 else None
    params = {
        "iterations": 12,
        "learning_rate": float(rng.choice([0.03, 0.1, 0.5])),
        "depth": int(rng.integers(1, 7)),
        "l2_leaf_reg": float(rng.choice([1.0, 3.0, 10.0])),
        "score_function": str(rng.choice(["Cosine", "L2"])),
        "loss_function": loss,
        "has_time": True,
        "cat_features": names,
        "max_ctr_complexity": 1,
        "one_hot_max_size": 1,
        "model_size_reg": float(rng.choice([0.0, 0.5, 2.0])),
    }
    ctrs = CTRS[rng.integers(len(CTRS))]
    if loss in ("Logloss", "MultiClass") and ctrs is not None:
        ctrs = [re.sub(":TargetBorderCount=[34]", "", text) for text in ctrs]
    if ctrs is not None:
        params["simple_ctr"] = ctrs
    elif loss in ("RMSE", "Poisson") and rng.random() < 0.5:
        params["ctr_target_border_count"] = int(rng.integers(1, 6))
    if ctrs is not None and rng.random() < 0.5:
        params["combinations_ctr"] = ctrs
    return X, targets(loss, score), weight, {**params, **fixed}


def as_categories(codes, kind):
    """Return codes as integers, text, or a categorical column of either."""
    if kind == 0:
        return codes
    text = np.array([f"v{code}" for code in codes], object)
    if kind == 1:
        return text
    return pd.Categorical(text if kind == 2 else codes)


def fit_both(X, y, weight, params):
    """Return our estimator and CatBoost's, fitted by default without random numbers."""
    classifies = params["loss_function"] in ("Logloss", "MultiClass")
    ours = SymmetricBoostingClassifier if classifies else SymmetricBoostingRegressor
    theirs = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    ours = ours(**{**PARITY, "thread_count": 1, **params}).fit(X, y, sample_weight=weight)
    theirs = theirs(**{**FIXED, **QUIET, **params}).fit(X, y, sample_weight=weight)
    return ours, theirs


def library_trees(model, folder):
    """Return CatBoost's trees, (splits, leaf values), with splits as `our_splits` writes them."""
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    saved = json.loads(path.read_text())
    info = saved["features_info"]
    flat = {f["feature_index"]: f["flat_feature_index"] for f in info.get("float_features", [])}
    cats = {
        f["feature_index"]: f["flat_feature_index"] for f in info.get("categorical_features", [])
    }
    by_index = number_ctrs(info)
    trees = []
    for tree in saved["oblivious_trees"]:
        splits = []
        for split in tree.get("splits") or []:
            if split["split_type"] == "FloatFeature":
                column = flat[split["float_feature_index"]]
                splits.append(("float", column, np.float32(split["border"])))
            elif split["split_type"] == "OneHotFeature":
                splits.append(("one-hot", cats[split["cat_feature_index"]]))
            else:
                ctr = by_index[split["split_index"]]
                splits.append(describe_ctr(ctr, flat, cats, split["border"]))
        trees.append((splits, np.array(tree["leaf_values"])))
    return trees


def number_ctrs(info):
    """Return split index → statistic."""
    at = sum(len(f.get("borders") or []) for f in info.get("float_features", []))
    at += sum(len(f.get("values") or []) for f in info.get("categorical_features", []))
    numbered = {}
    for ctr in info.get("ctrs") or []:
        for _ in ctr["borders"]:
            numbered[at] = ctr
            at += 1
    return numbered


def describe_ctr(ctr, flat, cats, border):
    """Return a statistic of CatBoost as a tuple."""
    parts = []
    for one in ctr["elements"]:
        if one["combination_element"] == "cat_feature_value":
            parts.append(("column", cats[one["cat_feature_index"]]))
        elif one["combination_element"] == "float_feature":
            parts.append(("border", flat[one["float_feature_index"]], np.float32(one["border"])))
        else:
            parts.append(("level", cats[one["cat_feature_index"]]))
    key = ctr["ctr_type"], ctr["target_border_idx"], np.float32(ctr["prior_numerator"])
    return "ctr", tuple(sorted(parts)), key, np.float32(border)


def our_splits(model, tree):
    """Return the splits of one of our trees as tuples."""
    splits, derived = [], model._derived
    for feature, border in zip(tree.features.tolist(), tree.borders, strict=True):
        if feature < derived.n_features:
            splits.append(("float", feature, border))
            continue
        own = derived.features[feature - derived.n_features]
        if isinstance(own, Indicator):
            splits.append(("one-hot", own.column))
            continue
        projection = own.projection
        parts = [("column", j) for j in projection.columns]
        parts += [("border", j, np.float32(value)) for j, value, _ in projection.borders]
        parts += [("level", j) for j, _ in projection.levels]
        target = own.target if own.options.kind != "Counter" else 0
        key = own.options.kind, target, np.float32(own.options.priors[own.prior])
        splits.append(("ctr", tuple(sorted(parts)), key, border))
    return splits


def first_difference(ours, theirs, folder):
    """Return where the trees of two fitted estimators differ first, or an empty text."""
    trees = library_trees(theirs, folder)
    if len(trees) != len(ours._trees):
        return f"{len(ours._trees)} and {len(trees)} trees"
    for number, (tree, (splits, leaves)) in enumerate(zip(ours._trees, trees, strict=True)):
        mine = our_splits(ours, tree)
        if mine != splits:
            return f"splits of tree {number}: {mine} and {splits}"
        if not np.array_equal(np.ravel(tree.values), leaves):
            return f"leaf values of tree {number}"
    return ""
