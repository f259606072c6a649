"""AdaBoost: a sequence of models, each trained with more weight on rows predicted wrongly so far.

Freund and Schapire: A decision-theoretic generalization of on-line learning and an application to
boosting. Journal of Computer and System Sciences 55, 1997. For K classes SAMME: Zhu, Zou, Rosset
and Hastie: Multi-class AdaBoost. Statistics and Its Interface 2, 2009.

    w_i = 1/n                                                       before the first round
    h_t = model trained on weights w, or on rows drawn ∝ w          t = 1 … T
    ε_t = Σ w_i [h_t(x_i) ≠ y_i] / Σ w_i
    α_t = ν (log((1 − ε_t) / ε_t) + log(K − 1))                     ν: learning rate
    w_i ← w_i exp(α_t [h_t(x_i) ≠ y_i]),  then divided by their sum
    F_k(x) = Σ α_t (1 if h_t(x) = k else −1/(K − 1)) / Σ α_t        predict the k of the largest F_k

For two classes the share of wrongly predicted training rows is at most ∏ Z_t, with

    Z_t = (1 − ε_t) exp(−α_t/2) + ε_t exp(α_t/2),    2 √(ε_t (1 − ε_t)) if ν = 1.

Edge cases: a model without error has the vote 1 instead of an infinite one, and ends the training.
A model no better than chance (ε ≥ 1 − 1/K) would have a vote of 0 or less; it is dropped and ends
the training.

AdaBoost.R2 (Drucker: Improving regressors using boosting techniques, ICML 1997):

    L_i = loss of |h_t(x_i) − y_i| / max_j |h_t(x_j) − y_j|
    ε_t = Σ w_i L_i,  β_t = ε_t / (1 − ε_t),  w_i ← w_i β_t^(ν (1 − L_i))
    F(x) = weighted median of h_t(x), weights ν log(1 / β_t)
"""

import math
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

from algorithms.boosting.adaboost_rounds import (
    ModelRounds,
    TreeRounds,
    check_any_model,
    clip,
    relative_losses,
    warn_of_infinite_weights,
)
from algorithms.boosting.base_adaboost import BOOSTING_CONSTRAINTS, BaseAdaBoost
from algorithms.boosting.boosted_votes import MedianOfValues, VotedClasses
from algorithms.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.declarations import search_spaces, variants
from algorithms.estimator.fit_context import fit_context
from algorithms.levelwise.class_grower import fits
from algorithms.runtime.threads import Workers, count_threads
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl

TWO = 2


class AdaBoostClassifier(VotedClasses, ClassifierMixin, BaseAdaBoost):
    """AdaBoost classifier with scikit-learn's parameters and three more: sampling, n_jobs, parity.

    Parameters
    ----------
    estimator : estimator, optional
        The model; by default our `DecisionTreeClassifier` of depth 1, a stump.
    n_estimators : int
        Maximum number of rounds, T.
    learning_rate : float
        ν, a factor of each vote.
    random_state : int, RandomState, optional
        Seed of the models' random states and of the row draws.
    sampling : {"reweight", "resample"}
        "reweight" passes the weights to the model as sample weights. "resample" draws as many rows
        as there are, with replacement and probabilities proportional to the weights; it works with
        models that take no sample weights.
    n_jobs : int, optional
        Number of threads for our own trees; None means one. The result is the same for any number.
    parity : {"scikit-learn"}, optional
        Build exactly scikit-learn's trees and compute its votes. None is faster.

    Attributes
    ----------
    estimator_ : the unfitted model
    estimators_ : list of the fitted models
    classes_ : (n_classes,) labels
    n_classes_ : int
    n_features_in_ : int
    estimator_weights_ : float64 (n_estimators,)
        Votes α_t; 0 for rounds that were not run.
    estimator_errors_ : float64 (n_estimators,)
        Errors ε_t; 1 for rounds that were not run.
    training_error_bounds_ : float64 (rounds,)
        Two classes only: ∏ Z_t after each round, an upper bound of the weighted share of training
        rows that the ensemble predicts wrongly.
    feature_importances_ : float64 (n_features,)
    ensemble_ : harness.TreeEnsemble
        Only if the models are our own trees.
    """

    _own_tree = DecisionTreeClassifier
    _parameter_constraints: ClassVar = {
        **BOOSTING_CONSTRAINTS,
        "sampling": [StrOptions({"reweight", "resample"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        random_state=None,
        sampling="reweight",
        n_jobs=None,
        parity=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.sampling = sampling
        self.n_jobs = n_jobs
        self.parity = parity

    def _default_tree(self):
        return DecisionTreeClassifier(max_depth=1)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train the models.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features)
            Any input that the model accepts; for our trees numbers, NaN where missing, and
            categories in the columns that ``estimator.categorical_features`` names.
        y : array-like (n_rows,), labels
        sample_weight : array-like (n_rows,), optional
            The initial weights; by default all are equal.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError
            If the first model is no better than chance, or does not accept sample weights.
        """
        X, y, weight = self._read(X, y, sample_weight, numeric=False)
        check_classification_targets(y)
        if self.sampling == "reweight" and not has_fit_parameter(self.estimator_, "sample_weight"):
            raise ValueError(f"{type(self.estimator_).__name__} doesn't support sample_weight.")
        self.classes_ = np.unique(y)
        self.n_classes_ = len(self.classes_)
        self._begin()
        with Workers(count_threads(self.n_jobs)) as workers:
            self._boost(self._rounds(X, y, weight, workers))
        self._record_bounds()
        self._finish()
        return self

    def _rounds(self, X, y, weight, workers):
        """Return the object that trains models and updates weights; it uses kernels if possible."""
        resample = self.sampling == "resample"
        by_levels = self._takes_our_trees(X) and not resample
        by_levels = by_levels and fits(self.estimator_, self.n_classes_)
        if by_levels and not np.isnan(X).any():
            return TreeRounds(X, y, self.classes_, weight, workers, type(self).__name__)
        learner = self._learner(X, y, self.classes_, workers)
        return ModelRounds(learner, y, weight, resample=resample, parity=self.parity)

    def _boost(self, rounds):
        """Train the models in sequence."""
        random = check_random_state(self.random_state)
        for t in range(self.n_estimators):
            model = self._next_model(random)
            error = rounds.train(model, random)  # ε_t
            if error <= 0.0:
                self._append_model(model, 1.0, 0.0)
                return
            if error >= 1.0 - 1.0 / self.n_classes_:
                check_any_model(self.estimators_)
                return
            vote = self._vote(error)
            self._append_model(model, vote, error)
            if t + 1 < self.n_estimators and not rounds.reweigh(vote):
                warn_of_infinite_weights(t)
                return

    def _vote(self, error):
        """Return α_t."""
        log = math.log if self.parity is None else np.log  # np.log may round differently
        return self.learning_rate * (log((1.0 - error) / error) + log(self.n_classes_ - 1.0))

    def _record_bounds(self):
        """Store ∏ Z_t after each round; two classes only."""
        if self.n_classes_ != TWO:
            return
        error = self.estimator_errors_[: len(self.estimators_)]
        half = self.estimator_weights_[: len(self.estimators_)] / 2.0
        self.training_error_bounds_ = np.cumprod(
            (1.0 - error) * np.exp(-half) + error * np.exp(half)  # Z_t
        )


class AdaBoostRegressor(MedianOfValues, RegressorMixin, BaseAdaBoost):
    """AdaBoost.R2 regressor with scikit-learn's parameters, ``n_jobs`` and ``parity``.

    Parameters and attributes are as in `AdaBoostClassifier`, without those of classes. The model is
    by default our `DecisionTreeRegressor` of depth 3. Rows are always drawn with replacement, with
    probabilities proportional to their weights. One parameter differs:

    loss : {"linear", "square", "exponential"}
        Loss L of a row, where e is its error divided by the largest error: e, e², 1 − exp(−e).
    """

    _own_tree = DecisionTreeRegressor
    _parameter_constraints: ClassVar = {
        **BOOSTING_CONSTRAINTS,
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        loss="linear",
        random_state=None,
        n_jobs=None,
        parity=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.parity = parity

    def _default_tree(self):
        return DecisionTreeRegressor(max_depth=3)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train the models; parameters are as in `AdaBoostClassifier.fit`, with numeric y."""
        X, y, weight = self._read(X, y, sample_weight, numeric=True)
        self._begin()
        with Workers(count_threads(self.n_jobs)) as workers:
            self._boost(self._learner(X, y, None, workers), y, weight)
        return self

    def _boost(self, learner, y, weight):
        """Train the models in sequence on rows drawn with weights of sum 1."""
        random = check_random_state(self.random_state)
        used = weight > 0.0
        for t in range(self.n_estimators):
            clip(weight)
            model = self._next_model(random)
            rows = random.choice(len(y), len(y), p=weight)
            off = np.abs(learner.train(model, weight, rows) - y)[used]
            off = relative_losses(off, self.loss)  # L_i
            error = (weight[used] * off).sum()  # ε_t
            if error <= 0.0:
                self._append_model(model, 1.0, 0.0)
                return
            if error >= 0.5:
                if not self.estimators_:
                    # The only model, so its vote does not matter.
                    self._append_model(model, 0.0, 1.0)
                return
            beta = error / (1.0 - error)  # β_t
            log = math.log if self.parity is None else np.log  # np.log may round differently
            self._append_model(model, self.learning_rate * log(1.0 / beta), error)
            if t + 1 < self.n_estimators:
                weight[used] *= np.power(beta, (1.0 - off) * self.learning_rate)
                weight /= weight.sum()


def build(spec):
    """Return the boosted trees of a harness spec."""
    kind = AdaBoostClassifier if spec.task.is_classification else AdaBoostRegressor
    model = kind(random_state=spec.seed, n_jobs=spec.threads)
    model.estimator = model._default_tree()  # noqa: SLF001 - passed explicitly so that its params can be set
    return model.set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register AdaBoost with the harness."""
    register(
        Algorithm(
            "adaboost",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(missing=True),
            params={"n_estimators": 100},
            defaults={"n_estimators": 50},
            estimators=(
                "algorithms.AdaBoostClassifier",
                "algorithms.AdaBoostRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("estimator__max_depth"),
                "leaves": Argument("estimator__max_leaf_nodes"),
                "min_samples": Argument("estimator__min_samples_leaf"),
                "rate": Argument("learning_rate"),
            },
            space=search_spaces.ADABOOST,
            variants=variants.ENSEMBLE,
            reference="sklearn.adaboost",
            parity_levels={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1006/jcss.1997.1504",
            summary="SAMME and R2 on our trees, columns sorted once for all rounds",
        )
    )
