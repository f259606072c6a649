"""LightGBM adapter: the native interface, with a Dataset that is binned once in ``prepare``.

Params have the names of LightGBM's scikit-learn interface (``n_estimators``, ``min_child_samples``,
…), which its trainer accepts as aliases; ``n_estimators`` is the number of rounds.
"""

from __future__ import annotations

import numpy as np

from algorithms.declarations.search_spaces import HISTOGRAM_BOOSTING
from algorithms.estimator.validation_rows import Parts, split_rows, stops_early
from harness import ALL_TASKS, Accepts, Algorithm, Argument, HarnessError, Task, hookimpl

OBJECTIVES = {
    Task.BINARY: "binary",
    Task.MULTICLASS: "multiclass",
    Task.REGRESSION: "regression",
    Task.RANKING: "lambdarank",
}


class UnknownParamLogger:
    """LightGBM logger that keeps only warnings about unknown params."""

    def __init__(self):
        self.params = {}

    def info(self, message):
        """Receive one line of the log."""
        if "Unknown parameter" in message:
            self.params[message.rsplit(":", 1)[1].strip()] = None

    warning = info


class LightGBMAdapter:
    """Adapter of one LightGBM variant; an unknown param is an error."""

    def __init__(self, spec):
        self.spec = spec
        params = dict(spec.params)
        self.rounds = params.pop("n_estimators")
        self.patience = params.pop("early_stopping_rounds", 0)
        self.share = params.pop("validation_fraction", 0.1)
        self.params = {
            "objective": OBJECTIVES[spec.task],
            "num_threads": spec.threads,
            "seed": spec.seed,
            "verbosity": 0,
            **({"num_class": spec.n_classes} if spec.task is Task.MULTICLASS else {}),
            **params,
        }

    def prepare(self, X, y, weight, group=None):
        """Build and bin the Dataset; it keeps the raw data so that it can be reused."""
        if self.spec.task is Task.RANKING:
            return self._binned(X, y, weight, group=[len(y)] if group is None else group)
        if self.patience:
            labeled = self.spec.task.is_classification
            parts = split_rows(X, y, weight, self.share, self.spec.seed, is_classification=labeled)
            train = self._binned(*parts.train)
            return Parts(train, self._binned(*parts.valid, train))
        return self._binned(X, y, weight)

    def _binned(self, X, y, weight, train=None, group=None):
        import lightgbm

        unknown = UnknownParamLogger()
        lightgbm.register_logger(unknown)
        native = lightgbm.Dataset(
            X,
            label=y,
            weight=weight,
            group=group,
            reference=train,
            categorical_feature=list(self.spec.categorical) or "auto",
            params=self.params,
            free_raw_data=False,
        ).construct()
        if unknown.params:
            names = ", ".join(unknown.params)
            raise HarnessError(f"LightGBM does not know the params {names}: correct or remove them")
        return native

    def fit(self, native):
        """Train a new booster."""
        import lightgbm

        if not isinstance(native, Parts):
            self.booster = lightgbm.train(self.params, native, num_boost_round=self.rounds)
            return
        self.booster = lightgbm.train(
            self.params,
            native.train,
            num_boost_round=self.rounds,
            valid_sets=[native.valid],
            callbacks=[lightgbm.early_stopping(self.patience, verbose=False)],
        )

    def predict(self, X):
        """Return values or probabilities."""
        return self._rounds(X, None)

    def predict_one(self, x):
        """Predict one row through the same call."""
        return self._rounds(x, None)

    def staged(self, X):
        """Yield predictions after each round."""
        for rounds in range(1, self.booster.current_iteration() + 1):
            yield self._rounds(X, rounds)

    def _rounds(self, X, rounds):
        predicted = self.booster.predict(X, num_iteration=rounds, num_threads=self.spec.threads)
        return (
            np.column_stack([1 - predicted, predicted])
            if self.spec.task is Task.BINARY
            else predicted
        )

    def export_trees(self):
        """Return the fitted trees in the common form."""
        from algorithms.reference._export_lightgbm import export

        return export(self.booster, self.spec.n_classes)


CAPACITY = {
    "trees": Argument("n_estimators"),
    "rate": Argument("learning_rate"),
    "depth": Argument("max_depth", convert=lambda depth: depth or -1),
    "leaves": Argument("num_leaves"),
    "bins": Argument("max_bin"),
    "min_samples": Argument("min_child_samples", "approximate", "compared with estimated counts"),
    "min_hessian": Argument("min_child_weight"),
    "l2": Argument("reg_lambda"),
}


@hookimpl
def register_algorithms(register):
    """Register plain LightGBM, one-side sampling, quantized gradients, and lambdarank."""
    boosting = "https://proceedings.neurips.cc/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html"
    quantized = "https://arxiv.org/abs/2207.09682"
    for name, params, paper, summary in (
        ("gbdt", {}, boosting, "LightGBM, leaf by leaf on histograms"),
        ("goss", {"data_sample_strategy": "goss"}, boosting, "LightGBM with one-side sampling"),
        ("quantised", {"use_quantized_grad": True}, quantized, "LightGBM on quantized gradients"),
    ):
        register(
            Algorithm(
                f"lightgbm.{name}",
                LightGBMAdapter,
                tasks=ALL_TASKS,
                origin="reference",
                accepts=Accepts(missing=True, categorical=True, sparse=True),
                params={"n_estimators": 100, **params},
                early_stopping=stops_early,
                estimators=("lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor"),
                capacity=CAPACITY,
                space=HISTOGRAM_BOOSTING,
                libraries=("lightgbm",),
                paper=paper,
                summary=summary,
            )
        )
    register(
        Algorithm(
            "lightgbm.lambdarank",
            LightGBMAdapter,
            tasks=frozenset({Task.RANKING}),
            origin="reference",
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            estimators=("", "lightgbm.LGBMRanker"),
            capacity=CAPACITY,
            space=HISTOGRAM_BOOSTING,
            libraries=("lightgbm",),
            paper="https://www.microsoft.com/en-us/research/publication/"
            "from-ranknet-to-lambdarank-to-lambdamart-an-overview/",
            summary="LightGBM's lambdarank",
        )
    )
