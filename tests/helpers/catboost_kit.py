"""Random tables and parameters, and CatBoost's trees, for tests of ``parity="catboost"``."""

import json
import os

import catboost
import numpy as np

MAX_SEEDS = int(os.environ.get("SOAK_CATBOOST_MODELS", "200"))

PARITY = {
    "parity": "catboost",
    "bootstrap_type": "No",
    "random_strength": 0,
    "leaf_estimation_backtracking": "No",
}


def seeds_up_to(most):
    """Return the seeds of a slow test: ``most``, or ``SOAK_CATBOOST_MODELS`` if that is fewer."""
    return range(100, 100 + min(most, MAX_SEEDS))


def library_trees(model, folder):
    """Return CatBoost's trees: list of (columns, borders, leaf values), and its initial scores."""
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    saved = json.loads(path.read_text())
    features = saved["features_info"].get("float_features", [])
    column = {f["feature_index"]: f["flat_feature_index"] for f in features}
    trees = []
    for tree in saved["oblivious_trees"]:
        splits = tree.get("splits") or []
        columns = [column[split["float_feature_index"]] for split in splits]
        borders = [np.float32(split["border"]) for split in splits]
        trees.append((columns, borders, np.array(tree["leaf_values"])))
    return trees, saved["scale_and_bias"][1]


def difference(ours, theirs):
    """Return what differs between two trees, or an empty text."""
    columns, borders, values = theirs
    if ours.features.tolist() != columns or ours.borders.tolist() != borders:
        return "splits"
    return "" if np.array_equal(ours.values.reshape(-1), values) else "leaf values"


def first_difference(ours, theirs, folder):
    """Return where the trees of two fitted estimators differ first, or an empty text."""
    trees, start = library_trees(theirs, folder)
    if len(ours._trees) != len(trees) or not np.array_equal(ours._start, start):
        return f"{len(ours._trees)} and {len(trees)} trees from {ours._start} and {start}"
    for number, pair in enumerate(zip(ours._trees, trees, strict=True)):
        if (what := difference(*pair)) != "":
            return f"{what} of tree {number}"
    return ""


def random_case(seed, loss):
    """Return a table X, y, weights or None, and parameters of both estimators."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.choice([50, 300, 1500, 12000])), int(rng.integers(1, 12))
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    for j in range(n_columns):
        kind = rng.integers(4)
        if kind == 1:
            X[:, j] = np.round(X[:, j], 1)
        elif kind == 2:
            X[:, j] = X[:, j] > 0.5
        elif kind == 3:
            X[rng.random(n_rows) < 0.1, j] = np.nan
    score = np.nansum(X[:, :3], axis=1) + rng.normal(size=n_rows)
    y = targets(loss, score)
    weight = rng.uniform(0.2, 2.0, n_rows) if rng.random() < 0.4 else None
    params = {
        "iterations": 15,
        "learning_rate": float(rng.choice([0.03, 0.1, 0.5])),
        "depth": int(rng.integers(1, 8)),
        "l2_leaf_reg": float(rng.choice([0.0, 1.0, 3.0, 10.0])),
        "score_function": str(rng.choice(["Cosine", "L2"])),
        "border_count": int(rng.choice([5, 32, 254])),
        "nan_mode": str(rng.choice(["Min", "Max"])),
        "feature_border_type": str(rng.choice(["GreedyLogSum", "GreedyMinEntropy", "Median"])),
        "loss_function": loss,
    }
    if loss in ("Logloss", "Poisson") and rng.random() < 0.5:
        params["leaf_estimation_iterations"] = int(rng.integers(1, 12))
    if loss != "MAE" and not loss.startswith("Quantile") and rng.random() < 0.3:
        params["leaf_estimation_method"] = "Gradient"
    return X, y, weight, params


def random_sampling(seed):
    """Return random parameters of sampling and noise."""
    rng = np.random.default_rng(2 * 10**6 + seed)
    kind = str(rng.choice(["MVS", "Bayesian", "Bernoulli", "No"]))
    params = {
        "bootstrap_type": kind,
        "random_strength": float(rng.choice([0.0, 0.3, 1.0, 5.0])),
        "rsm": float(rng.choice([0.3, 0.7, 1.0])),
        "random_seed": int(rng.integers(2**31)),
    }
    if kind == "Bayesian":
        params["bagging_temperature"] = float(rng.choice([0.0, 0.3, 1.0, 2.0]))
    elif kind != "No" and rng.random() < 0.7:
        params["subsample"] = float(rng.choice([0.2, 0.6, 1.0]))
    if kind == "MVS" and rng.random() < 0.5:
        params["mvs_reg"] = float(rng.choice([0.0, 0.1, 10.0]))
    return params


def targets(loss, score):
    """Return targets that a loss allows."""
    if loss == "Logloss":
        return (score > 0).astype(int)
    if loss == "MultiClass":
        return np.digitize(score, [-1.0, 0.5])
    return np.floor(np.exp(score / 2)) if loss == "Poisson" else score.astype(np.float32)


def fit_library(X, y, weight, params, **others):
    """Return CatBoost's estimator, fitted on one thread; by default without random numbers."""
    kind = catboost.CatBoostClassifier
    if params["loss_function"] not in ("Logloss", "MultiClass"):
        kind = catboost.CatBoostRegressor
    fixed = {k: v for k, v in PARITY.items() if k != "parity"}
    quiet = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
    return kind(**{**fixed, **quiet, **params, **others}).fit(X, y, sample_weight=weight)


def random_sparse_case(seed, loss):
    """Return a sparse or one-hot table, y, weights or None, and parameters of both estimators.

    Some columns exclude each other, so CatBoost bundles them.
    """
    rng = np.random.default_rng(3 * 10**6 + seed)
    n_rows = int(rng.choice([60, 300, 1500, 12000]))
    kinds = [3, *rng.integers(4, size=rng.integers(1, 6))]  # some column has a border
    X = np.hstack([sparse_block(rng, n_rows, kind) for kind in kinds])
    X = X[:, rng.permutation(X.shape[1])] if rng.random() < 0.5 else X
    X = X.astype(np.float32)
    effects = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.3)
    score = X @ effects + rng.normal(size=n_rows)
    _, _, weight, params = random_case(seed, loss)
    weight = rng.uniform(0.2, 2.0, n_rows) if weight is not None else None
    return X, targets(loss, score), weight, {**params, "iterations": 10}


def sparse_block(rng, n_rows, kind):
    """Return columns of which most entries are 0: one-hot, counts, exclusive numbers, or dense."""
    if kind == 0:
        levels = int(rng.choice([3, 6, 20, 60]))
        codes = (levels * rng.random(n_rows) ** rng.choice([1.0, 3.0])).astype(int)
        return np.eye(levels)[codes]
    if kind == 1:
        return rng.poisson(rng.choice([0.02, 0.1, 0.5]), size=(n_rows, int(rng.integers(2, 40))))
    if kind == 2:
        columns = int(rng.integers(2, 12))
        owner = rng.integers(columns + 3, size=n_rows)
        return np.round(rng.exponential(size=n_rows), 1)[:, None] * (
            owner[:, None] == np.arange(columns)
        )
    return rng.normal(size=(n_rows, 2))
