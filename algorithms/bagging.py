"""Bagging: the mean of models, each trained on rows drawn with replacement.

Breiman: Bagging predictors. Machine Learning 24, 1996.

    D_m = n rows drawn from the n rows of D with replacement        m = 1 … M
    F_m = model trained on D_m
    F(x) = 1/M Σ F_m(x)          values, or probabilities (votes if a model has none)

A row is out of bag for a model that did not draw it; the probability of this is (1 − 1/n)ⁿ ≈ 1/e.
The mean of these models predicts the row like an unseen one.

With M models of variance σ² and correlation ρ, the variance of F is ρσ² + (1 − ρ)σ²/M: bagging
removes the variance that the models do not share. Sampling features as well lowers ρ (random
patches, Louppe and Geurts 2012).

The draws of rows and features, and the seeds of the models, are those of scikit-learn. If the
model is one of our trees, the columns of X are sorted once for all trees, a row drawn k times has
weight k, and threads grow whole trees in parallel. The result is the same for any number of
threads.
"""

from warnings import warn

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from algorithms.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes
from algorithms.estimator.outputs import count_outputs, drop_single_column
from algorithms.forest.base_bagging import BaseBagging, call_method
from algorithms.runtime.threads import count_threads
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl


def _has_decision_function(self):
    """Return whether the models have a decision function."""
    model = self.estimators_[0] if hasattr(self, "estimators_") else self.estimator
    return hasattr(model, "decision_function")


class BaggingClassifier(ClassifierMixin, BaseBagging):
    """Bagged classifiers with the parameters of scikit-learn's class of the same name.

    Parameters
    ----------
    estimator : estimator, optional
        The model; by default our `DecisionTreeClassifier`, fully grown.
    n_estimators : int
        Number of models, M.
    max_samples : int or float, optional
        Number of rows drawn for each model; a float is a share of all rows; by default all rows.
    max_features : int or float
        Number of features drawn for each model; a float is a share of all features.
    bootstrap : bool
        Whether rows are drawn with replacement.
    bootstrap_features : bool
        Whether features are drawn with replacement.
    oob_score : bool
        Whether to predict each row with the models that did not draw it.
    warm_start : bool
        Whether a further fit adds models to the existing ones.
    n_jobs : int, optional
        Number of threads for our own trees, of joblib workers for other models; None means one.
    random_state : int, RandomState, optional
        Seed of the draws and of the models' random states.
    verbose : int
        Passed to joblib; only used for models that are not our own trees.
    parity : {"scikit-learn"}, optional
        Build exactly scikit-learn's trees, with its order of summation. None is faster.

    Attributes
    ----------
    estimator_ : the unfitted model
    estimators_ : list of the fitted models
    estimators_samples_ : list of int arrays, the rows drawn for each model
    estimators_features_ : list of int arrays, the features drawn for each model
    classes_ : (n_classes,) labels
    n_classes_ : int
    n_features_in_ : int
    oob_score_ : float, accuracy
    oob_decision_function_ : float64 (n_rows, n_classes)
        Out-of-bag probabilities; NaN for a row that every model drew.
    ensemble_ : harness.TreeEnsemble
        Only if the models are our own trees.
    """

    _own_tree = DecisionTreeClassifier

    def _read_y(self, y):
        """Return class codes; store the labels."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = code_classes(y)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _set_class_codes(self, models):
        """Set class codes as the labels of our own trees."""
        for model in models:
            model.classes_ = np.arange(self.n_classes_)
            model.n_classes_ = self.n_classes_

    def predict_proba(self, X, **params):
        """Return the mean of the models' probabilities, float64 (n_rows, n_classes).

        ``params`` are passed to the models' method; they need `enable_metadata_routing`.
        """
        options = self._route("predict_proba", params)
        X = self._read_rows(X)
        walker = self._walker
        if walker is not None and not options:
            return walker.sum(X, count_threads(self.n_jobs, X.shape[0])) / len(self.estimators_)
        total = np.zeros((X.shape[0], self.n_classes_))
        for model, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            total += self._vote(model, X, columns, options)
        return total / len(self.estimators_)

    def _vote(self, model, X, columns, options):
        """Return a model's probabilities, or its votes, with one column per class."""
        votes = np.zeros((X.shape[0], self.n_classes_))
        if hasattr(model, "predict_proba"):
            votes[:, model.classes_] = call_method(model, "predict_proba", X, columns, options)
        else:
            votes[np.arange(X.shape[0]), call_method(model, "predict", X, columns, options)] = 1.0
        return votes

    def predict(self, X, **params):
        """Return the label with the largest mean probability, (n_rows,); the first label in a tie.

        ``params`` are passed to the models' method; they need `enable_metadata_routing`.
        """
        _raise_for_params(params, self, "predict")
        proba = self.predict_proba(X, **params)
        return self.classes_.take(proba.argmax(axis=1))

    def predict_log_proba(self, X, **params):
        """Return the logarithm of `predict_proba`, float64 (n_rows, n_classes); −inf where it is 0.

        ``params`` are passed to the models' method; they need `enable_metadata_routing`.
        """
        _raise_for_params(params, self, "predict_log_proba")
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, **params))

    @available_if(_has_decision_function)
    def decision_function(self, X, **params):
        """Return the mean decision function, float64 (n_rows,) or (n_rows, n_classes).

        ``params`` are passed to the models' method; they need `enable_metadata_routing`.
        """
        options = self._route("decision_function", params)
        return self._mean(self._read_rows(X), "decision_function", options)

    def _score_out_of_bag(self, X, codes):
        """Store the mean over the models that did not draw a row, and its accuracy."""
        from sklearn.metrics import accuracy_score

        total = np.zeros((len(codes), self.n_classes_))
        for rows, votes in self._out_of_bag(X):
            total[rows] += votes
        seen = total.sum(axis=1, keepdims=True)
        warn_if_always_drawn((seen == 0).any())
        with np.errstate(invalid="ignore"):
            self.oob_decision_function_ = total / seen
        self.oob_score_ = accuracy_score(codes, total.argmax(axis=1))


class BaggingRegressor(RegressorMixin, BaseBagging):
    """Bagged regressors with the parameters of scikit-learn's class of the same name.

    Parameters and attributes are as in `BaggingClassifier`, without those of classes.
    y may have several outputs if the model supports them, as our trees do.
    ``oob_prediction_`` is the mean over the models that did not draw a row, ``oob_score_`` its R².
    """

    _own_tree = DecisionTreeRegressor

    def _read_y(self, y):
        """Return the values unchanged; as float64 for our own trees."""
        y = drop_single_column(y, warn=True)
        ours = self.estimator is None or type(self.estimator) is self._own_tree
        return y.astype(np.float64, copy=False) if ours or y.dtype.kind in "biuf" else y

    def _set_class_codes(self, models):
        """Do nothing: regression has no classes."""

    def predict(self, X, **params):
        """Return the mean of the models' predictions, float64 (n_rows,) or (n_rows, n_outputs).

        ``params`` are passed to the models' method; they need `enable_metadata_routing`.
        """
        options = self._route("predict", params)
        X = self._read_rows(X)
        walker = self._walker
        if walker is None or options:
            return self._mean(X, "predict", options)
        total = walker.sum(X, count_threads(self.n_jobs, X.shape[0]))
        return (total[:, 0] if total.shape[1] == 1 else total) / len(self.estimators_)

    def _vote(self, model, X, columns, options):
        """Return a model's predictions, (n_rows, n_outputs)."""
        return call_method(model, "predict", X, columns, options).reshape(X.shape[0], -1)

    def _score_out_of_bag(self, X, y):
        """Store the mean over the models that did not draw a row, and its R²."""
        from sklearn.metrics import r2_score

        total = np.zeros((len(y), count_outputs(y)))
        count = np.zeros((len(y), 1))
        for rows, values in self._out_of_bag(X):
            total[rows] += values
            count[rows] += 1
        warn_if_always_drawn((count == 0).any())
        mean = total / np.maximum(count, 1)
        self.oob_prediction_ = mean if y.ndim > 1 else mean[:, 0]
        self.oob_score_ = r2_score(y, self.oob_prediction_)


def warn_if_always_drawn(some):
    """Warn if some row was drawn by every model."""
    if some:
        warn(
            "Some inputs do not have OOB scores. This probably means too few estimators were used "
            "to compute any reliable oob estimates.",
            stacklevel=4,
        )


def build(spec):
    """Return the bagged trees of a harness spec."""
    bag = BaggingClassifier if spec.task.is_classification else BaggingRegressor
    tree = bag._own_tree()  # noqa: SLF001 - the default model, passed explicitly so that its params can be set
    model = bag(estimator=tree, random_state=spec.seed, n_jobs=spec.threads)
    return model.set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register bagged trees with the harness."""
    register(
        Algorithm(
            "bagging",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(missing=True),
            params={"n_estimators": 100},
            defaults={"n_estimators": 10},
            estimators=(
                "algorithms.BaggingClassifier",
                "algorithms.BaggingRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("estimator__max_depth"),
                "leaves": Argument("estimator__max_leaf_nodes"),
                "min_samples": Argument("estimator__min_samples_leaf"),
            },
            space=search_spaces.BAGGING,
            variants=variants.ENSEMBLE,
            reference="sklearn.bagging",
            parity_levels={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1007/BF00058655",
            summary="bagged CART, trees grown in parallel on columns that are sorted once",
        )
    )
