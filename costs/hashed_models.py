"""Configurations that `costs.model_hashes` fits: estimators, parameters, tables.

Configurations are a product of tables below. Every estimator appears in its default mode and in
every parity mode, for each task and each input form that it accepts, with one and with two threads.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from scipy import sparse

import algorithms

TASKS = ("binary", "multiclass", "regression")
DENSE = ("float64", "float32")
WITH_MISSING = (*DENSE, "missing")
ALL_FORMS = (*WITH_MISSING, "frame", "sparse")
ROWS = {"large": 20_000, "codes": 3_000}  # other forms have 400
PREDICTED = 200
N_CODES = 900  # more categories than a histogram has bins
BLENDS = ("Voting", "Stacking")  # n_jobs of these is a number of processes; it stays at one
BOOSTED = {"n_estimators": 5}

# estimator, parity modes (None: the default mode), input forms, parameters
ESTIMATORS = [
    ("DecisionTree", (None, "scikit-learn"), (*WITH_MISSING, "sparse"), {}),
    ("DecisionTree", (None,), ("frame",), {"categorical_features": "from_dtype"}),
    ("Bagging", (None, "scikit-learn"), WITH_MISSING, BOOSTED),
    ("RandomForest", (None, "scikit-learn"), (*WITH_MISSING, "sparse"), BOOSTED),
    ("AdaBoost", (None, "scikit-learn"), (*DENSE, "sparse"), BOOSTED),
    ("GradientBoosting", (None, "scikit-learn"), (*DENSE, "sparse"), BOOSTED),
    ("NewtonBoosting", (None,), ALL_FORMS, BOOSTED),
    ("NewtonBoosting", ("xgboost",), (*WITH_MISSING, "sparse"), BOOSTED),
    ("HistogramBoosting", (None, "lightgbm"), ALL_FORMS, BOOSTED),
    ("HistogramBoosting", ("scikit-learn",), WITH_MISSING, BOOSTED),
    ("SymmetricBoosting", (None,), (*WITH_MISSING, "sparse"), BOOSTED),
    (
        "SymmetricBoosting",
        ("catboost",),
        WITH_MISSING,
        {**BOOSTED, "bootstrap_type": "No", "random_strength": 0},
    ),
]

# estimator, task, input forms, parity modes, name of a parameter, its values
VARIATIONS = [
    ("DecisionTree", "multiclass", ("float64",), (None,), "criterion",
     ("entropy", "gain_ratio", "misclassification")),
    ("DecisionTree", "regression", ("float64",), (None, "scikit-learn"), "criterion",
     ("absolute_error", "poisson")),
    ("DecisionTree", "binary", ("float64",), (None,), "splitter", ("random",)),
    ("RandomForest", "regression", ("float64",), (None,), "criterion", ("poisson",)),
    ("RandomForest", "binary", ("float64",), (None,), "max_leaf_nodes", (8,)),
    ("AdaBoost", "regression", ("float64",), (None,), "loss", ("square", "exponential")),
    ("AdaBoost", "binary", ("float64",), (None,), "sampling", ("resample",)),
    ("GradientBoosting", "regression", ("float64",), (None, "scikit-learn"), "loss",
     ("absolute_error", "huber", "quantile")),
    ("GradientBoosting", "binary", ("float64",), (None, "scikit-learn"), "loss", ("exponential",)),
    ("GradientBoosting", "binary", ("float64",), (None,), "subsample", (0.5,)),
    ("NewtonBoosting", "regression", ("float64",), (None, "xgboost"), "objective",
     ("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "count:poisson",
      "reg:gamma", "reg:tweedie")),
    ("NewtonBoosting", "binary", ("missing",), (None, "xgboost"), "tree_method",
     ("exact", "approx")),
    ("NewtonBoosting", "binary", ("float64",), (None, "xgboost"), "grow_policy", ("lossguide",)),
    ("NewtonBoosting", "binary", ("float64",), (None,), "subsample", (0.5,)),
    ("HistogramBoosting", "regression", ("float64",), (None,), "objective",
     ("fair", "mape", "poisson", "gamma", "tweedie")),
    ("HistogramBoosting", "regression", ("float64",), (None, "lightgbm"), "objective",
     ("regression_l1", "huber", "quantile")),
    ("HistogramBoosting", "multiclass", ("float64",), (None, "lightgbm"), "objective",
     ("multiclassova",)),
    ("HistogramBoosting", "binary", ("float64", "sparse"), (None,), "data_sample_strategy",
     ("goss",)),
    ("HistogramBoosting", "binary", ("float64",), (None,), "boosting_type", ("dart",)),
    ("HistogramBoosting", "binary", ("float64", "frame"), (None,), "extra_trees", (True,)),
    ("HistogramBoosting", "binary", ("float64",), (None,), "colsample_bytree", (0.5,)),
    ("HistogramBoosting", "binary", ("float64",), (None, "lightgbm"), "categorical_feature",
     ([6],)),
    ("HistogramBoosting", "binary", ("float64", "large"), (None,), "num_leaves", (7, 127)),
    ("HistogramBoosting", "binary", ("codes",), (None, "lightgbm"), "max_cat_to_onehot", (4,)),
    ("NewtonBoosting", "binary", ("codes",), (None,), "max_cat_to_onehot", (4,)),
    ("NewtonBoosting", "regression", ("large",), (None,), "max_depth", (6,)),
    ("RandomForest", "multiclass", ("large",), (None,), "max_depth", (8,)),
]  # fmt: skip


@dataclass(frozen=True)
class Configuration:
    """A model to fit: estimator, parameters and table."""

    estimator: str
    task: str
    form: str
    params: dict = field(default_factory=dict)

    @property
    def name(self):
        """Unique name of the configuration, one word."""
        given = [f"{name}={value}" for name, value in self.params.items()]
        return "/".join([self.estimator, self.task, self.form, *given]).replace(" ", "")


def all_configurations():
    """Return every configuration: list of Configuration."""
    results = []
    for stem, parities, forms, params in ESTIMATORS:
        for parity, form, task in product(parities, forms, TASKS):
            results += with_threads(stem, task, form, parity, params)
    for stem, task, forms, parities, name, values in VARIATIONS:
        for parity, form, value in product(parities, forms, values):
            rounds = {} if stem == "DecisionTree" else BOOSTED
            results += with_threads(stem, task, form, parity, {**rounds, name: value})
    return results + [Configuration(stem, task, "float64") for stem, task in product(BLENDS, TASKS)]


def with_threads(stem, task, form, parity, params):
    """Return the configurations of one estimator and table: list, one for each thread count.

    Parity modes use one thread.
    """
    return [
        Configuration(stem, task, form, {**params, "parity": parity, "n_jobs": threads})
        for threads in ((1, 2) if parity is None else (1,))
    ]


@cache
def make_table(task, form):
    """Return X to train on, y, and X to predict."""
    rng = np.random.default_rng(7)
    n = ROWS.get(form, 400) + PREDICTED
    X = rng.standard_normal((n, 7)).round(3)
    X[:, 6] = rng.integers(0, 8, n)
    codes = (N_CODES * rng.random((n, 2)) ** 3).astype(int)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(codes).sum(axis=1) + np.sin(2.0 * X[:, 6])
    noisy = signal + 0.5 * rng.standard_normal(n)
    y = {
        "binary": noisy > 0.5,
        "multiclass": np.digitize(noisy, (-1.0, 1.0)),
        "regression": np.exp(noisy / 2.0),
    }[task]
    X = convert(X, codes, form, rng)
    return X[:-PREDICTED], y[:-PREDICTED], X[-PREDICTED:]


def convert(X, codes, form, rng):
    """Return the numbers and codes of a table in an input form; only frames have the codes."""
    if form in ("missing", "frame"):
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    if form in ("frame", "codes"):
        kept = codes % 12 if form == "frame" else codes
        columns = {f"code{j}": pd.Categorical(kept[:, j]) for j in range(kept.shape[1])}
        return pd.DataFrame(X).add_prefix("x").assign(**columns)
    if form == "sparse":
        return sparse.csr_matrix(np.where(rng.random(X.shape) < 0.6, 0.0, X))
    return X.astype(np.float32) if form == "float32" else X


def make_model(configuration, seed):
    """Return the estimator of a configuration, not fitted."""
    kind = "Regressor" if configuration.task == "regression" else "Classifier"
    estimator = getattr(algorithms, configuration.estimator + kind)
    if configuration.estimator not in BLENDS:
        return estimator(random_state=seed, **configuration.params)
    members = [
        (stem, getattr(algorithms, stem + kind)(n_estimators=5, random_state=seed))
        for stem in ("RandomForest", "GradientBoosting")
    ]
    votes = (
        {"voting": "soft"} if (configuration.estimator, kind) == ("Voting", "Classifier") else {}
    )
    return estimator(members, **votes, **configuration.params)
