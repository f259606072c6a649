"""XGBoost adapter, native interface: exact, approx, and hist on a QuantileDMatrix.

Params have the names of XGBoost's scikit-learn interface (``n_estimators``, ``reg_lambda``, …),
which its trainer accepts as aliases; ``n_estimators`` is the number of rounds.
"""

from __future__ import annotations

import warnings

import numpy as np

from algorithms.declarations.search_spaces import NEWTON_BOOSTING
from algorithms.estimator.validation_rows import Parts, split_rows, stops_early
from harness import ALL_TASKS, Accepts, Algorithm, Argument, HarnessError, Task, hookimpl

OBJECTIVES = {
    Task.BINARY: "binary:logistic",
    Task.MULTICLASS: "multi:softprob",
    Task.REGRESSION: "reg:squarederror",
    Task.RANKING: "rank:ndcg",
}


class XGBoostAdapter:
    """Adapter of one tree method of XGBoost."""

    def __init__(self, spec, method):
        self.spec = spec
        params = dict(spec.params)
        self.rounds = params.pop("n_estimators")
        self.patience = params.pop("early_stopping_rounds", 0)
        self.share = params.pop("validation_fraction", 0.1)
        self.params = {
            "objective": OBJECTIVES[spec.task],
            "tree_method": method,
            "nthread": spec.threads,
            "seed": spec.seed,
            **({"num_class": spec.n_classes} if spec.task is Task.MULTICLASS else {}),
            **params,
        }

    def prepare(self, X, y, weight, group=None):
        """Build the QuantileDMatrix for hist, or a plain DMatrix for the other methods."""
        if self.spec.task is Task.RANKING:
            return self._matrix(X, y, weight, group=[len(y)] if group is None else group)
        if self.patience:
            labeled = self.spec.task.is_classification
            parts = split_rows(X, y, weight, self.share, self.spec.seed, is_classification=labeled)
            train = self._matrix(*parts.train)
            return Parts(train, self._matrix(*parts.valid, train))
        return self._matrix(X, y, weight)

    def _matrix(self, X, y, weight, train=None, group=None):
        import xgboost

        given = {"label": y, "weight": weight, "group": group, "nthread": self.spec.threads}
        given["enable_categorical"] = True
        if self.params["tree_method"] != "hist":
            return xgboost.DMatrix(X, **given)
        max_bin = self.params.get("max_bin")
        return xgboost.QuantileDMatrix(X, max_bin=max_bin, ref=train, **given)

    def fit(self, native):
        """Train a new booster; an unknown param is an error."""
        import xgboost

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            watched = {}
            train = native
            if isinstance(native, Parts):
                train = native.train
                watched = {"evals": [(native.valid, "validation")], "verbose_eval": False}
                watched["early_stopping_rounds"] = self.patience
            self.booster = xgboost.train(self.params, train, num_boost_round=self.rounds, **watched)
        if self.patience:
            self.booster = self.booster[: self.booster.best_iteration + 1]
        for warning in said:
            if "are not used" in str(warning.message):
                names = str(warning.message).split("{")[1].split("}")[0].strip()
                raise HarnessError(
                    f"XGBoost does not know the params {names}: correct or remove them"
                )
            warnings.warn(warning.message, stacklevel=2)

    def predict(self, X):
        """Return values or probabilities with inplace_predict: no DMatrix is built."""
        return self._rounds(X, 0)

    def predict_one(self, x):
        """Predict one row through the same call."""
        return self._rounds(x, 0)

    def staged(self, X):
        """Yield predictions after each round."""
        for rounds in range(1, self.booster.num_boosted_rounds() + 1):
            yield self._rounds(X, rounds)

    def _rounds(self, X, rounds):
        predicted = self.booster.inplace_predict(X, iteration_range=(0, rounds)).astype(np.float64)
        return (
            np.column_stack([1 - predicted, predicted])
            if self.spec.task is Task.BINARY
            else predicted
        )

    def export_trees(self):
        """Return the fitted trees in the common form."""
        from algorithms.reference._export_xgboost import export

        return export(self.booster, self.spec.n_classes)


CAPACITY = {
    "trees": Argument("n_estimators"),
    "rate": Argument("learning_rate"),
    "depth": Argument("max_depth", convert=lambda depth: depth or 0),
    "min_samples": Argument("", "impossible", "it counts hessians, not rows: see min_hessian"),
    "min_hessian": Argument("min_child_weight"),
    "l2": Argument("reg_lambda"),
}
BINNED = {
    "leaves": Argument("max_leaves", "approximate", "exact with grow_policy=lossguide"),
    "bins": Argument("max_bin"),
}
UNBINNED = {
    "leaves": Argument("", "impossible", "the exact method grows by depth only"),
    "bins": Argument("", "impossible", "every distinct value is a candidate split"),
}


@hookimpl
def register_algorithms(register):
    """Register XGBoost's three tree methods, and ranking."""
    for method, capacity, summary in (
        ("exact", UNBINNED, "XGBoost on every distinct value"),
        ("approx", BINNED, "XGBoost on quantiles sketched again for each tree"),
        ("hist", BINNED, "XGBoost on histograms of quantiles sketched once"),
    ):
        register(
            Algorithm(
                f"xgboost.{method}",
                lambda spec, method=method: XGBoostAdapter(spec, method),
                tasks=ALL_TASKS,
                origin="reference",
                accepts=Accepts(missing=True, categorical=method != "exact", sparse=True),
                params={"n_estimators": 100},
                early_stopping=stops_early,
                estimators=("xgboost.XGBClassifier", "xgboost.XGBRegressor"),
                capacity=CAPACITY | capacity,
                space=NEWTON_BOOSTING,
                libraries=("xgboost",),
                paper="https://doi.org/10.1145/2939672.2939785",
                summary=summary,
            )
        )
    register(
        Algorithm(
            "xgboost.ranking",
            lambda spec: XGBoostAdapter(spec, "hist"),
            tasks=frozenset({Task.RANKING}),
            origin="reference",
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            estimators=("", "xgboost.XGBRanker"),
            capacity=CAPACITY | BINNED,
            space=NEWTON_BOOSTING,
            libraries=("xgboost",),
            paper="https://www.microsoft.com/en-us/research/publication/"
            "from-ranknet-to-lambdarank-to-lambdamart-an-overview/",
            summary="XGBoost's rank:ndcg on histograms",
        )
    )
