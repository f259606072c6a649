"""Our histogram booster under the names of scikit-learn's HistGradientBoosting.

Used only to run scikit-learn's own tests of it (``replace_hgb_classes.py``). Parameter names and
values are translated; a value that ours does not support raises `UnmappedError` and is listed in
``sklearn_failures.py``. ``verbose`` is ignored. ``random_state=None`` becomes 0: the library draws
nothing when it uses all rows, while ours rounds gradients at random. For K > 2 classes, h is
K / (K − 1) times larger here, as in LightGBM; the learning rate corrects for it, as in
scikit-learn's own ``get_equivalent_estimator``.

``REPLACE_CLASSES_PARITY=1`` sets ``parity="scikit-learn"``.
"""

import os
from collections import Counter
from itertools import combinations

import numpy as np
from sklearn._loss.loss import BaseLoss
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

PARITY = "scikit-learn" if os.environ.get("REPLACE_CLASSES_PARITY") else None
LOSSES = {
    "squared_error": "regression",
    "absolute_error": "regression_l1",
    "quantile": "quantile",
    "poisson": "poisson",
    "gamma": "gamma",
    "log_loss": None,
}
MOST_LEAVES = 131072  # of `num_leaves`, which has no "unlimited"
FIXED = {  # our parameters without a counterpart in the library
    "min_data_in_bin": 1,
    "min_child_weight": 1e-3,
    "poisson_max_delta_step": 0.0,
    "cat_smooth": 10.0,
    "cat_l2": 0.0,
    "max_cat_threshold": 255,
    "max_cat_to_onehot": 1,
    "min_data_per_group": 1,
}
MADE = Counter()  # number of estimators created, by class


class UnmappedError(NotImplementedError):
    """Error for a parameter or value without a counterpart."""


class Grown:
    """A tree under the names of scikit-learn's TreePredictor."""

    def __init__(self, tree):
        fields = {
            "value": tree.value[:, 0],
            "feature_idx": tree.feature,
            "num_threshold": tree.threshold,
            "left": tree.left,
            "right": tree.right,
        }
        self.nodes = np.rec.fromarrays([*fields.values()], names=[*fields])
        self.raw_left_cat_bitsets = [bits_of(codes) for codes, _ in tree.sets.values()]

    def get_n_leaf_nodes(self):
        return int((self.nodes["left"] < 0).sum())

    def get_max_depth(self):
        depth = np.zeros(len(self.nodes), int)
        for node, (left, right) in enumerate(zip(self.nodes.left, self.nodes.right, strict=True)):
            if left >= 0:
                depth[[left, right]] = depth[node] + 1
        return int(depth.max())


def bits_of(codes):
    """Return a set of categories below 256 as bits, uint32 (8,)."""
    held = np.isin(np.arange(256), codes)
    return np.packbits(held, bitorder="little").view(np.uint32)


class Renamed(BaseEstimator):
    """Base of the two classes."""

    def __init__(
        self,
        loss=None,
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        class_weight=None,
    ):
        given = {name: value for name, value in locals().items() if name != "self"}
        for name, value in given.items():
            setattr(self, name, value)
        MADE[type(self).__name__] += 1

    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        earlier = getattr(self, "model_", None) if self.warm_start else None
        if earlier is None:
            self._seed = check_random_state(self.random_state).randint(2**32 - 1, dtype="u8")
        rest, params = {}, self._params(np.shape(X)[1], getattr(X, "columns", None))
        params["learning_rate"] *= self._step(y)
        if X_val is not None or y_val is not None:
            rest = watched(X_val, y_val, sample_weight_val)
        elif self.early_stopping is True or (self.early_stopping == "auto" and len(X) > 10_000):
            X, y, sample_weight, rest = self._hold_out(X, y, sample_weight)
        if rest:
            if self.early_stopping is not False:
                params |= self._patience()
            rest["eval_metric"] = self._metric(rest["eval_sample_weight"][0])
            if rest["eval_metric"] is not None:
                params["metric"] = "None"  # but for the one that is asked for
        self._rounds_before = 0 if earlier is None else earlier.n_iter_
        if earlier is not None:
            rest["init_model"] = earlier
            params["n_estimators"] -= earlier.n_iter_
        model = self._kind(**params)
        self.model_ = model.fit(X, y, sample_weight=sample_weight, **rest)
        return self

    def _params(self, n_features, names):
        """Return our parameters."""
        if self.max_features != 1.0:
            raise UnmappedError("a share of features is drawn for a tree, not for a node")
        results = {
            "objective": self._objective(),
            "learning_rate": self.learning_rate,
            "n_estimators": self.max_iter,
            "num_leaves": self.max_leaf_nodes or MOST_LEAVES,
            "max_depth": self.max_depth,
            "min_child_samples": self.min_samples_leaf,
            "reg_lambda": self.l2_regularization,
            "max_bin": self.max_bins,
            "categorical_feature": self._categorical(),
            "monotone_constraints": self._monotone(names),
            "interaction_constraints": self._groups(n_features),
            "class_weight": self.class_weight,
            "random_state": self._random_state(),
            "parity": PARITY,
        }
        if self.quantile is not None:
            results["alpha"] = self.quantile
        return results if PARITY else results | FIXED

    def _patience(self):
        """Return our early-stopping parameters."""
        return {
            "early_stopping_round": self.n_iter_no_change,
            "early_stopping_min_delta": self.tol,
        }

    def _step(self, y):
        """Return the factor of the learning rate."""
        k = len(np.unique(y)) if isinstance(self, ClassifierMixin) else 0
        return k / (k - 1) if k > 2 and not PARITY else 1.0

    def _random_state(self):
        """Return our random state."""
        if self.random_state is None:
            return 0
        return self.random_state if PARITY else int(self._seed)

    def _objective(self):
        """Return our name of the loss, or a function of the library's own."""
        if not isinstance(self.loss, BaseLoss):
            return None if self.loss is None else LOSSES[self.loss]
        loss = self.loss
        return lambda y, raw: loss.gradient_hessian(y_true=y, raw_prediction=raw)

    def _categorical(self):
        """Return the categorical columns."""
        expected = self.categorical_features
        if expected is None:
            return []
        return "auto" if isinstance(expected, str) else expected

    def _monotone(self, names):
        """Return the constraint of every column."""
        expected = self.monotonic_cst
        if not isinstance(expected, dict):
            return expected
        if names is None or not expected.keys() <= set(names):
            raise UnmappedError("constraints go by columns, not by names")
        return [expected.get(name, 0) for name in names]

    def _groups(self, n_features):
        """Return the groups of columns that may interact."""
        expected = self.interaction_cst
        if expected is None:
            return None
        if expected == "pairwise":
            return [*combinations(range(n_features), 2)]
        if expected == "no_interactions":
            return [[f] for f in range(n_features)]
        lists = [group for group in expected if isinstance(group, set | list | tuple)]
        others = set(range(n_features)).difference(*lists)
        return [*expected, others] if others else [*expected]

    def _hold_out(self, X, y, weight):
        """Return training rows, and the fit options of the evaluation set."""
        if self.validation_fraction is None:
            return X, y, weight, watched(X, y, weight)
        tables = [X, y] if weight is None else [X, y, weight]
        parts = train_test_split(
            *tables,
            test_size=self.validation_fraction,
            stratify=y if isinstance(self, ClassifierMixin) else None,
            random_state=self._seed,
        )
        own, held = parts[::2], parts[1::2]
        return (*(*own, None)[:3], watched(*held))

    def _metric(self, weight):
        """Return our ``eval_metric``."""
        if self.scoring == "loss":
            return None
        if callable(self.scoring):
            raise UnmappedError("a metric is a function of y and predictions, not of an estimator")
        scorer = get_scorer(self.scoring or self._default_scoring)

        def metric(y, found):
            if isinstance(self, ClassifierMixin):  # probabilities, of two classes the second's
                found = found.argmax(axis=1) if found.ndim == 2 else (found > 0.5).astype(int)
            value = scorer._score_func(y, found, sample_weight=weight)
            return self.scoring or "default", scorer._sign * value, True

        return metric

    def _asked(self, name, *given):
        """Return the result of one of our methods."""
        check_is_fitted(self, "model_")
        return getattr(self.model_, name)(*given)

    def predict(self, X):
        return self._asked("predict", X)

    def staged_predict(self, X):
        return self._asked("staged_predict", X)

    def _raw_predict(self, X):
        return self._asked("_raw", X)

    @property
    def n_iter_(self):
        watched = len(
            self.validation_score_
        )  # rounds after the best one are used, as in the library
        return self._rounds_before + watched if watched else self.model_.n_iter_

    @property
    def n_features_in_(self):
        return self.model_.n_features_in_

    @property
    def is_categorical_(self):
        result = self.model_._is_categorical
        return result if result.any() else None

    @property
    def train_score_(self):
        if self.model_.evals_result_:
            raise UnmappedError("the rows of training are watched where they are asked for alone")
        return np.array([])

    @property
    def validation_score_(self):
        values = [v for of in self.model_.evals_result_.values() for v in of.values()]
        return np.array(values[0] if values else [])

    @property
    def _predictors(self):
        trees, k = self.model_.ensemble_, self.model_.ensemble_.n_outputs
        grown = [Grown(trees.tree(t)) for t in range(trees.n_trees)]
        return [grown[first : first + k] for first in range(0, len(grown), k)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def watched(X, y, weight=None):
    """Return the options of our ``fit`` for an evaluation set."""
    if X is None or y is None:
        raise UnmappedError("a table to watch is a pair")
    return {"eval_set": [(X, y)], "eval_sample_weight": [weight]}


class HistGradientBoostingClassifier(ClassifierMixin, Renamed):
    """Our classifier under scikit-learn's name."""

    _kind = HistogramBoostingClassifier
    _default_scoring = "accuracy"

    @property
    def classes_(self):
        return self.model_.classes_

    def predict_proba(self, X):
        return self._asked("predict_proba", X)

    def decision_function(self, X):
        return self._asked("decision_function", X)

    def staged_predict_proba(self, X):
        return self._asked("staged_predict_proba", X)

    def staged_decision_function(self, X):
        return self._asked("staged_decision_function", X)


class HistGradientBoostingRegressor(RegressorMixin, Renamed):
    """Our regressor under scikit-learn's name."""

    _kind = HistogramBoostingRegressor
    _default_scoring = "r2"
