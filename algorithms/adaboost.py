"""AdaBoost: models trained one after the other, each on what those before it got wrong.

Freund and Schapire: A decision-theoretic generalization of on-line learning and an application to
boosting. Journal of Computer and System Sciences 55, 1997. For K classes SAMME: Zhu, Zou, Rosset
and Hastie: Multi-class AdaBoost. Statistics and Its Interface 2, 2009.

    w_i = 1/n                                                       before the first round
    h_t = model trained on weights w, or on rows drawn ∝ w          t = 1 … T
    ε_t = Σ w_i [h_t(x_i) ≠ y_i] / Σ w_i
    α_t = ν (log((1 − ε_t) / ε_t) + log(K − 1))                     ν: learning rate
    w_i ← w_i exp(α_t [h_t(x_i) ≠ y_i]),  then divided by their sum
    F_k(x) = Σ α_t (1 if h_t(x) = k else −1/(K − 1)) / Σ α_t        the largest wins

For two classes the share of training rows that are wrong is at most ∏ Z_t, with

    Z_t = (1 − ε_t) exp(−α_t/2) + ε_t exp(α_t/2),    2 √(ε_t (1 − ε_t)) where ν = 1.

Guards: a model without error gets the vote 1, not an infinite one, and is the last; one that is
no better than chance (ε ≥ 1 − 1/K) would get no vote, or a negative one, and ends the training.

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
    """Boosted classifiers; parameters are those of scikit-learn's class of this name, and three.

    Parameters
    ----------
    estimator : estimator, optional
        The model; by default our `DecisionTreeClassifier` of depth 1, a stump.
    n_estimators : int
        Most rounds, T.
    learning_rate : float
        ν, a factor of each vote.
    random_state : int, RandomState, optional
        Decides the random states of the models, and the rows drawn.
    sampling : {"reweight", "resample"}
        How a model learns of the weights: as sample weights; or by as many rows as there are,
        drawn in proportion to them with replacement, so that any model serves.
    n_jobs : int, optional
        Threads for our own trees; None is one. The result is the same for any number.
    parity : {"scikit-learn"}, optional
        Grow scikit-learn's own trees and weigh them by its own votes; None is faster.

    Attributes
    ----------
    estimator_ : the model, unfitted; estimators_ : the fitted ones
    classes_ : (n_classes,) labels; n_classes_, n_features_in_ : int
    estimator_weights_ : float64 (n_estimators,), votes α_t, 0 of rounds that were not needed
    estimator_errors_ : float64 (n_estimators,), ε_t, 1 of rounds that were not needed
    training_error_bounds_ : float64 (rounds,), of two classes: ∏ Z_t after each round
        No less than the weighted share of training rows that the ensemble got wrong then.
    feature_importances_ : float64 (n_features,)
    ensemble_ : harness.TreeEnsemble, where the models are our own trees
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
            What the model takes; for our trees numbers.
        y : array-like (n_rows,), labels
        sample_weight : array-like (n_rows,), optional
            The first weights; by default all are equal.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError
            Where the first model is no better than chance, or takes no sample weights.
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
        """Return what trains models and weighs rows: by kernels, where the model allows it."""
        resample = self.sampling == "resample"
        if self._takes_our_trees(X) and not resample and fits(self.estimator_, self.n_classes_):
            return TreeRounds(X, y, self.classes_, weight, workers, type(self).__name__)
        learner = self._learner(X, y, self.classes_, workers)
        return ModelRounds(learner, y, weight, resample=resample, parity=self.parity)

    def _boost(self, rounds):
        """Train one model after the other."""
        random = check_random_state(self.random_state)
        for t in range(self.n_estimators):
            model = self._next_model(random)
            error = rounds.train(model, random)  # ε_t
            if error <= 0.0:
                self._keep(model, 1.0, 0.0)
                return
            if error >= 1.0 - 1.0 / self.n_classes_:
                check_any_model(self.estimators_)
                return
            vote = self._vote(error)
            self._keep(model, vote, error)
            if t + 1 < self.n_estimators and not rounds.reweigh(vote):
                warn_of_infinite_weights(t)
                return

    def _vote(self, error):
        """Return α_t."""
        log = math.log if self.parity is None else np.log  # which may round otherwise
        return self.learning_rate * (log((1.0 - error) / error) + log(self.n_classes_ - 1.0))

    def _record_bounds(self):
        """Write ∏ Z_t after each round, of two classes."""
        if self.n_classes_ != TWO:
            return
        error = self.estimator_errors_[: len(self.estimators_)]
        half = self.estimator_weights_[: len(self.estimators_)] / 2.0
        self.training_error_bounds_ = np.cumprod(
            (1.0 - error) * np.exp(-half) + error * np.exp(half)  # Z_t
        )


class AdaBoostRegressor(MedianOfValues, RegressorMixin, BaseAdaBoost):
    """Boosted regressors by AdaBoost.R2; scikit-learn's parameters, n_jobs and parity.

    Parameters and attributes are as in `AdaBoostClassifier`, without those of classes; the model
    is by default our `DecisionTreeRegressor` of depth 3, rows are always drawn, and

    loss : {"linear", "square", "exponential"}
        L of a row whose share of the largest error is e: e, e², 1 − exp(−e).
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
        """Train the models; parameters are as in `AdaBoostClassifier.fit`, y being numbers."""
        X, y, weight = self._read(X, y, sample_weight, numeric=True)
        self._begin()
        with Workers(count_threads(self.n_jobs)) as workers:
            self._boost(self._learner(X, y, None, workers), y, weight)
        return self

    def _boost(self, learner, y, weight):
        """Train one model after the other on rows drawn by weights of sum 1."""
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
                self._keep(model, 1.0, 0.0)
                return
            if error >= 0.5:
                if not self.estimators_:
                    self._keep(model, 0.0, 1.0)  # alone it tells what there is to tell
                return
            beta = error / (1.0 - error)  # β_t
            log = math.log if self.parity is None else np.log  # which may round otherwise
            self._keep(model, self.learning_rate * log(1.0 / beta), error)
            if t + 1 < self.n_estimators:
                weight[used] *= np.power(beta, (1.0 - off) * self.learning_rate)
                weight /= weight.sum()


def build(spec):
    """Return the boosted trees of a harness spec."""
    kind = AdaBoostClassifier if spec.task.is_classification else AdaBoostRegressor
    model = kind(random_state=spec.seed, n_jobs=spec.threads)
    model.estimator = model._default_tree()  # noqa: SLF001 - named, so that its params can be set
    return model.set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Offer AdaBoost to the harness."""
    register(
        Algorithm(
            "adaboost",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(),
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
            rungs={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1006/jcss.1997.1504",
            summary="SAMME and R2 on our trees, columns sorted once for all rounds",
        )
    )
