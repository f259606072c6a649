"""CatBoost adapter: plain boosting on a Pool that is quantized in ``prepare``.

Params have CatBoost's own names and aliases (``n_estimators``, ``depth``, ``l2_leaf_reg``, …). A
missing category is a category of its own, as CatBoost's documentation recommends.
"""

from __future__ import annotations

import numpy as np

from algorithms.declarations import capacities, search_spaces
from algorithms.estimator.validation_rows import Parts, split_rows, stops_early
from harness import ALL_TASKS, Accepts, Algorithm, Task, hookimpl, spread

QUANTIZING = ("border_count", "feature_border_type", "nan_mode")


class CatBoostAdapter:
    """Adapter of CatBoost's estimators, trained on a native Pool."""

    def __init__(self, spec):
        self.spec = spec
        self.params = {
            "random_seed": spec.seed,
            "thread_count": spec.threads,
            "boosting_type": "Plain",
            "logging_level": "Silent",
            "allow_writing_files": False,
            **spec.params,
        }
        self.share = self.params.pop("validation_fraction", 0.0)

    def prepare(self, X, y, weight, group=None):
        """Build and quantize the Pool; with early stopping also a validation Pool."""
        if self.share:
            labeled = self.spec.task.is_classification
            parts = split_rows(X, y, weight, self.share, self.spec.seed, is_classification=labeled)
            return Parts(*(self._pool(*part) for part in parts))
        ids = None
        if self.spec.task is Task.RANKING:
            group = np.array([len(y)] if group is None else group)
            ids = np.repeat(np.arange(len(group)), group)
        pool = self._pool(X, y, weight, ids)
        chosen = {name: self.params[name] for name in QUANTIZING if name in self.params}
        pool.quantize(random_seed=self.spec.seed, **chosen)
        return pool

    def _pool(self, X, y, weight, group_id=None):
        import catboost

        return catboost.Pool(
            coded(X),
            label=y,
            weight=weight,
            group_id=group_id,
            cat_features=list(self.spec.categorical),
            thread_count=self.spec.threads,
        )

    def fit(self, native):
        """Train a new model."""
        import catboost

        kind = catboost.CatBoostRegressor
        if self.spec.task is Task.RANKING:
            kind = catboost.CatBoostRanker  # its default loss is YetiRank
        elif self.spec.task.is_classification:
            kind = catboost.CatBoostClassifier
        self.model = kind(**self.params)
        if isinstance(native, Parts):
            self.model.fit(native.train, eval_set=native.valid)
        else:
            self.model.fit(native)

    def predict(self, X):
        """Return values or probabilities."""
        if not self.spec.task.is_classification:
            return self.model.predict(coded(X), thread_count=self.spec.threads)
        return self._spread(self.model.predict_proba(coded(X), thread_count=self.spec.threads))

    def predict_one(self, x):
        """Predict one row through the same call."""
        return self.predict(x)

    def staged(self, X):
        """Yield predictions after each round."""
        threads = {"thread_count": self.spec.threads}
        if self.spec.task.is_classification:
            yield from map(self._spread, self.model.staged_predict_proba(coded(X), **threads))
        else:
            yield from self.model.staged_predict(coded(X), **threads)

    def _spread(self, predicted):
        return spread(predicted, self.model.classes_, self.spec.n_classes)

    def export_trees(self):
        """Return the fitted trees in the common form."""
        from algorithms.reference._export_catboost import export

        return export(self.model)


def coded(X):
    """Return a frame with categories replaced by codes, -1 for a missing one."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame):
        return X
    kept = {c: X[c].cat.codes.astype(np.int32) for c in X if X[c].dtype == "category"}
    return X.assign(**kept)


@hookimpl
def register_algorithms(register):
    """Register CatBoost without ordered boosting, and its ranker."""
    register(
        Algorithm(
            "catboost.plain",
            CatBoostAdapter,
            tasks=ALL_TASKS,
            origin="reference",
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            defaults={"n_estimators": 1000},
            early_stopping=stops_early,
            capacity=capacities.SYMMETRIC_BOOSTING,
            estimators=("catboost.CatBoostClassifier", "catboost.CatBoostRegressor"),
            space=search_spaces.SYMMETRIC_BOOSTING,
            libraries=("catboost",),
            paper="https://arxiv.org/abs/1706.09516",
            summary="CatBoost, plain boosting of symmetric trees",
        )
    )
    register(
        Algorithm(
            "catboost.ranking",
            CatBoostAdapter,
            tasks=frozenset({Task.RANKING}),
            origin="reference",
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            defaults={"n_estimators": 1000},
            estimators=("", "catboost.CatBoostRanker"),
            capacity=capacities.SYMMETRIC_BOOSTING,
            space=search_spaces.SYMMETRIC_BOOSTING,
            libraries=("catboost",),
            paper="https://proceedings.mlr.press/v14/gulin11a.html",
            summary="CatBoost's YetiRank",
        )
    )
