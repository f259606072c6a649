"""Adapters of boosters of optional libraries, registered where these are installed.

The extra ``boosters`` of this package installs ChimeraBoost, Perpetual and YDF. Their trees are
exported where they have the common form (:mod:`algorithms.reference.trees_of`).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd

from algorithms.declarations import search_spaces
from algorithms.reference.catboost import coded
from algorithms.reference.trees_of import trees_of
from harness import ALL_TASKS, Accepts, Algorithm, Argument, EstimatorAdapter, hookimpl


class ChimeraBoostAdapter(EstimatorAdapter):
    """Adapter of ChimeraBoost's estimators; categories are columns of codes."""

    def __init__(self, spec):
        super().__init__(build_chimeraboost, spec)

    def fit(self, native):
        """Build a new estimator and train it; codes of categories are given as objects."""
        self.model = self.build(self.spec)
        categorical = list(self.spec.categorical) or None
        weight = native.weight
        self.model.fit(
            coded_array(native.X), native.y, cat_features=categorical, sample_weight=weight
        )

    def predict(self, X):
        """Return values or probabilities."""
        return super().predict(coded_array(X))

    def staged(self, X):
        """Yield predictions after each round."""
        return super().staged(coded_array(X))

    def export_trees(self):
        """Return the fitted trees in the common form."""
        return trees_of(self.model)


def coded_array(X):
    """Return an array of numbers, in which categories are replaced by codes."""
    return X if isinstance(X, np.ndarray) else coded(X).to_numpy(np.float64)


def build_chimeraboost(spec):
    """Return a new estimator of ChimeraBoost."""
    kind = "Classifier" if spec.task.is_classification else "Regressor"
    cls = getattr(import_module("chimeraboost"), f"ChimeraBoost{kind}")
    return cls(random_state=spec.seed, thread_count=spec.threads, **spec.params)


class PerpetualAdapter(EstimatorAdapter):
    """Adapter of Perpetual's estimators."""

    def __init__(self, spec):
        super().__init__(build_perpetual, spec)

    def export_trees(self):
        """Return the fitted trees in the common form."""
        return trees_of(self.model)


def build_perpetual(spec):
    """Return a new estimator of Perpetual."""
    kind = "Classifier" if spec.task.is_classification else "Regressor"
    cls = getattr(import_module("perpetual"), f"Perpetual{kind}")
    return cls(seed=spec.seed, num_threads=spec.threads, **spec.params)


class YDFAdapter:
    """Adapter of YDF's gradient-boosted trees; params are those of its learner."""

    def __init__(self, spec):
        self.spec = spec

    def prepare(self, X, y, weight):
        """Build the training dataset: columns ``c0``, ``c1``, …, the target and the weights."""
        import ydf

        self.n_features = X.shape[1]
        columns = self._columns(X)
        columns["target"] = y.astype(str) if self.spec.task.is_classification else y
        if weight is not None:
            columns["weight"] = weight
        kinds = [ydf.Semantic.NUMERICAL] * X.shape[1]
        for j in self.spec.categorical:
            kinds[j] = ydf.Semantic.CATEGORICAL
        features = [(f"c{j}", kind) for j, kind in enumerate(kinds)]
        vocabulary = {"max_vocab_count": -1, "min_vocab_frequency": 1}
        return {"features": features, "weights": weight is not None, **vocabulary}, columns

    def _columns(self, X):
        """Return the columns by name: float32 numbers, and codes of categories as text."""
        if isinstance(X, np.ndarray):
            return {f"c{j}": X[:, j] for j in range(X.shape[1])}
        columns = {}
        for j in range(X.shape[1]):
            column = X.iloc[:, j]
            if isinstance(column.dtype, pd.CategoricalDtype):
                codes = column.cat.codes.to_numpy()
                columns[f"c{j}"] = np.where(codes < 0, "", codes.astype(str))  # "" is missing
            else:
                columns[f"c{j}"] = column.to_numpy(np.float64)
        return columns

    def fit(self, native):
        """Train a new model."""
        import ydf

        options, columns = native
        is_classification = self.spec.task.is_classification
        learner = ydf.GradientBoostedTreesLearner(
            label="target",
            task=ydf.Task.CLASSIFICATION if is_classification else ydf.Task.REGRESSION,
            num_threads=self.spec.threads,
            random_seed=self.spec.seed,
            **{**options, "weights": "weight" if options["weights"] else None},
            **self.spec.params,
        )
        self.model = learner.train(columns, verbose=0)

    def predict(self, X):
        """Return values, or probabilities with one column per class of the whole dataset."""
        output = np.asarray(
            self.model.predict(self._columns(X), num_threads=self.spec.threads), np.float64
        )
        if not self.spec.task.is_classification:
            return output
        if output.ndim == 1:
            output = np.column_stack([1 - output, output])
        full = np.zeros((len(output), self.spec.n_classes))
        full[:, [int(label) for label in self.model.label_classes()]] = output
        return full

    def predict_one(self, x):
        """Predict one row through the same call."""
        return self.predict(x)

    def export_trees(self):
        """Return the fitted trees in the common form."""
        from algorithms.reference._export_ydf import export

        columns = [int(name[1:]) for name in self.model.input_feature_names()]
        return export(self.model, columns, self.n_features)


DECLARED = {
    "chimeraboost": {
        "name": "chimeraboost.symmetric",
        "adapter": ChimeraBoostAdapter,
        "accepts": Accepts(missing=True, categorical=True, weighted_bins=False),
        "params": {"n_estimators": 100, "early_stopping": False},
        "defaults": {"n_estimators": 2000, "early_stopping": True},
        "capacity": {
            "trees": Argument("n_estimators"),
            "rate": Argument("learning_rate"),
            "depth": Argument("depth", "approximate", "every node of a level has the same split"),
            "leaves": Argument("", "impossible", "a symmetric tree of depth d has 2^d leaves"),
            "bins": Argument("max_bins"),
            "min_hessian": Argument("min_child_weight"),
            "l2": Argument("l2_leaf_reg"),
        },
        "space": search_spaces.SYMMETRIC_BOOSTING,
        "estimators": ("chimeraboost.ChimeraBoostClassifier", "chimeraboost.ChimeraBoostRegressor"),
        "paper": "https://github.com/bbstats/chimeraboost",
        "summary": "ChimeraBoost, symmetric trees with linear leaves and crossed columns",
    },
    "perpetual": {
        "name": "perpetual.boosting",
        "adapter": PerpetualAdapter,
        "accepts": Accepts(missing=True, categorical=True),
        "capacity": {
            "trees": Argument("", "impossible", "derived from the budget"),
            "rate": Argument("", "impossible", "derived from the budget"),
            "depth": Argument("", "impossible", "derived from the budget"),
            "leaves": Argument("", "impossible", "derived from the budget"),
            "bins": Argument("max_bin"),
        },
        "space": {"budget": {"low": 0.1, "high": 2.0, "log": True}},
        "estimators": ("perpetual.PerpetualClassifier", "perpetual.PerpetualRegressor"),
        "paper": "https://perpetual-ml.com/blog/how-perpetual-works",
        "summary": "Perpetual, boosting with a budget instead of hyperparameters",
    },
    "ydf": {
        "name": "ydf.gbt",
        "adapter": YDFAdapter,
        "accepts": Accepts(missing=True, categorical=True),
        "params": {"num_trees": 100, "validation_ratio": 0.0},
        "defaults": {"num_trees": 300, "validation_ratio": 0.1},
        "capacity": {
            "trees": Argument("num_trees"),
            "rate": Argument("shrinkage"),
            "depth": Argument("max_depth", convert=lambda depth: depth or -1),
            "leaves": Argument("", "impossible", "trees grow to max_depth, node by node"),
            "bins": Argument("", "impossible", "every distinct value is a candidate split"),
            "min_samples": Argument("min_examples"),
            "l2": Argument("l2_regularization"),
        },
        "space": search_spaces.YDF,
        "paper": "https://doi.org/10.1145/3580305.3599933",
        "summary": "YDF's gradient-boosted trees",
    },
}


@hookimpl
def register_algorithms(register):
    """Register the boosters whose packages are installed."""
    for library, declared in DECLARED.items():
        if find_spec(library) is not None:
            register(
                Algorithm(tasks=ALL_TASKS, origin="reference", libraries=(library,), **declared)
            )
