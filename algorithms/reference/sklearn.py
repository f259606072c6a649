"""scikit-learn adapters: trees and ensembles, used through their own estimators.

Params are those of the estimators; those of a member tree are ``estimator__max_depth`` etc.
HistGradientBoosting turns early stopping on by itself above 10 000 rows. Here it is off unless
requested, so that every library builds the requested number of trees.
"""

from __future__ import annotations

import copy
from importlib import import_module

import numpy as np

from algorithms.declarations import search_spaces
from harness import ALL_TASKS, Accepts, Algorithm, Argument, EstimatorAdapter, hookimpl

EVERY_VALUE = Argument("", "impossible", "every distinct value is a candidate split")
NO_L2 = Argument("", "impossible", "leaves are not shrunk")
TREE = {
    "depth": Argument("max_depth", convert=lambda depth: depth or None),
    "leaves": Argument("max_leaf_nodes"),
    "min_samples": Argument("min_samples_leaf"),
    "bins": EVERY_VALUE,
    "l2": NO_L2,
}
TREES = {"trees": Argument("n_estimators"), **TREE}
MEMBERS = {
    "trees": Argument("n_estimators"),
    "depth": Argument("estimator__max_depth", convert=lambda depth: depth or None),
    "leaves": Argument("estimator__max_leaf_nodes"),
    "min_samples": Argument("estimator__min_samples_leaf"),
    "bins": EVERY_VALUE,
    "l2": NO_L2,
}
RATE = {"rate": Argument("learning_rate")}


class SklearnAdapter(EstimatorAdapter):
    """Adapter of one estimator; a single row is predicted without starting threads."""

    def fit(self, native):
        """Build a new estimator and train it."""
        super().fit(native)
        self.alone = copy.copy(self)
        self.alone.model = copy.copy(self.model)
        if hasattr(self.model, "n_jobs"):
            self.alone.model.n_jobs = 1

    def predict_one(self, x):
        """Predict one row in the calling thread."""
        return self.alone.predict(x)

    def export_trees(self):
        """Return the fitted trees in the common form."""
        from algorithms.reference._export_sklearn import export

        return export(self.model)


class BaggingAdapter(SklearnAdapter):
    """Bagging in threads: by default joblib starts processes, whose memory is not measured."""

    def fit(self, native):
        """Build a new estimator and train it."""
        from joblib import parallel_config

        with parallel_config("threading"):
            super().fit(native)

    def predict(self, X):
        """Return values, or probabilities with one column per class of the whole dataset."""
        from joblib import parallel_config

        with parallel_config("threading"):
            return super().predict(X)


class HistAdapter(SklearnAdapter):
    """Adapter that replaces the columns that HistGradientBoosting rejects.

    Columns without any value become constant; those with over 255 categories become numeric codes.
    The estimator has no ``n_jobs``; its threads are those of OpenMP, set for the whole process.
    """

    def prepare(self, X, y, weight):
        """Set the threads and keep the rows: scikit-learn has no training format of its own."""
        from threadpoolctl import threadpool_limits

        threadpool_limits(self.spec.threads, user_api="openmp")
        self.empty, self.many = empty_columns(X), many_categories(X)
        return super().prepare(self.accepted(X), y, weight)

    def predict(self, X):
        """Return values, or probabilities with one column per class of the whole dataset."""
        return super().predict(self.accepted(X))

    def staged(self, X):
        """Yield predictions after each round."""
        return super().staged(self.accepted(X))

    def accepted(self, X):
        """Return X, or a copy of it with the rejected columns replaced."""
        if not (self.empty or self.many):
            return X
        X = X.copy()
        if isinstance(X, np.ndarray):
            X[:, self.empty] = 0.0
            return X
        for j in self.many:
            codes = X.iloc[:, j].cat.codes.to_numpy(np.float64)
            X.isetitem(j, np.where(codes < 0, np.nan, codes))
        for j in self.empty:
            X.isetitem(j, 0.0)
        return X


def empty_columns(X):
    """Return the positions of columns without any value."""
    if not isinstance(X, np.ndarray):
        return np.flatnonzero(X.isna().all()).tolist()
    return [j for j in np.flatnonzero(np.isnan(X[0])).tolist() if np.isnan(X[:, j]).all()]


def many_categories(X, limit=255):
    """Return the positions of columns with more than ``limit`` categories."""
    if isinstance(X, np.ndarray):
        return []
    sizes = [len(d.categories) if d == "category" else 0 for d in X.dtypes]
    return np.flatnonzero(np.array(sizes) > limit).tolist()


def driver(module, stem, *, adapter=SklearnAdapter, threads=False, base_depths=None):
    """Return an adapter factory for ``sklearn.<module>.<stem>Classifier`` and ``…Regressor``."""

    def build(spec):
        kind = "Classifier" if spec.task.is_classification else "Regressor"
        model = getattr(import_module(f"sklearn.{module}"), stem + kind)(random_state=spec.seed)
        if threads:
            model.set_params(n_jobs=spec.threads)
        if base_depths:
            member = getattr(import_module("sklearn.tree"), "DecisionTree" + kind)
            model.set_params(estimator=member(max_depth=base_depths[kind]))
        return model.set_params(**spec.params)

    return lambda spec: adapter(build, spec)


def sparse_without_missing(dataset):
    """Return the reason why the exact trees skip a dataset, or None."""
    both = dataset.sparse and dataset.missing
    return "its trees take no missing values in sparse data" if both else None


EXACT = {"accepts": Accepts(missing=True, sparse=True), "skip": sparse_without_missing}
BOOSTED = {"accepts": Accepts(sparse=True), "params": {"n_estimators": 100}}
ALGORITHMS = {
    "decision_tree": {
        **EXACT,
        "adapter": driver("tree", "DecisionTree"),
        "capacity": TREE,
        "space": search_spaces.TREE,
        "paper": "https://doi.org/10.1201/9781315139470",
        "summary": "scikit-learn's CART",
    },
    "bagging": {
        **EXACT,
        "adapter": driver(
            "ensemble",
            "Bagging",
            adapter=BaggingAdapter,
            threads=True,
            base_depths={"Classifier": None, "Regressor": None},
        ),
        "params": {"n_estimators": 100},
        "defaults": {"n_estimators": 10},
        "capacity": MEMBERS,
        "space": search_spaces.BAGGING,
        "paper": "https://doi.org/10.1007/BF00058655",
        "summary": "scikit-learn's bagged trees",
    },
    "random_forest": {
        **EXACT,
        "adapter": driver("ensemble", "RandomForest", threads=True),
        "params": {"n_estimators": 100},
        "capacity": TREES,
        "space": search_spaces.FOREST,
        "paper": "https://doi.org/10.1023/A:1010933404324",
        "summary": "scikit-learn's random forest",
    },
    "adaboost": {
        **BOOSTED,
        "adapter": driver("ensemble", "AdaBoost", base_depths={"Classifier": 1, "Regressor": 3}),
        "defaults": {"n_estimators": 50},
        "capacity": {**MEMBERS, **RATE},
        "space": search_spaces.ADABOOST,
        "paper": "https://doi.org/10.1006/jcss.1997.1504",
        "summary": "scikit-learn's AdaBoost: SAMME on stumps, R2 on trees of depth 3",
    },
    "gradient_boosting": {
        **BOOSTED,
        "adapter": driver("ensemble", "GradientBoosting"),
        "early_stopping": lambda rounds, share: {
            "n_estimators": 1000,
            "n_iter_no_change": rounds,
            "validation_fraction": share,
        },
        "capacity": {**TREES, **RATE},
        "space": search_spaces.GRADIENT_BOOSTING,
        "paper": "https://doi.org/10.1214/aos/1013203451",
        "summary": "scikit-learn's gradient boosting on exact trees",
    },
    "hist_gradient_boosting": {
        "adapter": driver("ensemble", "HistGradientBoosting", adapter=HistAdapter),
        "accepts": Accepts(missing=True, categorical=True),
        "params": {"max_iter": 100, "early_stopping": False},
        "defaults": {"early_stopping": "auto"},
        "early_stopping": lambda rounds, share: {
            "max_iter": 1000,
            "early_stopping": True,
            "n_iter_no_change": rounds,
            "validation_fraction": share,
        },
        "capacity": {
            **TREE,
            **RATE,
            "trees": Argument("max_iter"),
            "bins": Argument("max_bins", "approximate", "at most 255", lambda bins: min(bins, 255)),
            "min_hessian": Argument("", "impossible", "always 0.001"),
            "l2": Argument("l2_regularization"),
        },
        "space": search_spaces.HIST_GRADIENT_BOOSTING,
        "paper": "https://proceedings.neurips.cc/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html",
        "summary": "scikit-learn's histogram gradient boosting",
    },
}


@hookimpl
def register_algorithms(register):
    """Register the six algorithms of scikit-learn."""
    common = {"origin": "reference", "tasks": ALL_TASKS, "libraries": ("scikit-learn",)}
    for name, declared in ALGORITHMS.items():
        module = "tree" if name == "decision_tree" else "ensemble"
        stem = {"adaboost": "AdaBoost"}.get(name, name.title().replace("_", ""))
        kinds = ("Classifier", "Regressor")
        estimators = tuple(f"sklearn.{module}.{stem}{kind}" for kind in kinds)
        register(Algorithm(f"sklearn.{name}", estimators=estimators, **common, **declared))
