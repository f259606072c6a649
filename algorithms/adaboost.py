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

Where the model is one of our trees, columns are sorted once for all rounds.
"""

import math
from typing import ClassVar
from warnings import warn

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from algorithms._common.base_adaboost import BOOSTING_CONSTRAINTS, BaseAdaBoost
from algorithms._common.boosted_votes import median_of_trees, voting_walker, weighted_median
from algorithms._common.boosting_rounds import ModelRounds, TreeRounds, clip
from algorithms._common.class_growing import fits
from algorithms._common.spaces import ADABOOST
from algorithms._common.threads import Workers, count_threads
from algorithms.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl

TWO = 2


class AdaBoostClassifier(ClassifierMixin, BaseAdaBoost):
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

    @_fit_context(prefer_skip_nested_validation=False)
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
        if self._is_trees:
            trees, votes = self._trees_and_votes()
            self._walker = voting_walker(trees, votes, self.n_features_in_)
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

    def _votes(self, X):
        """Yield, for each model, the vote of each row's class and of the others, (n_rows, K)."""
        X = self._read_rows(X)
        others = max(1, self.n_classes_ - 1)
        for vote, model in zip(self.estimator_weights_, self.estimators_, strict=False):
            chosen = predict(model, X)[:, None] == self.classes_
            yield vote, np.where(chosen, vote, -1.0 / others * vote)

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round."""
        total, votes = 0.0, 0.0
        for vote, given in self._votes(X):
            total, votes = total + given, votes + vote
            yield self._shape(total / votes)  # F_k

    def _shape(self, score):
        """Return F_k as scikit-learn shapes it: of two classes one column, F_1 − F_0."""
        if self.n_classes_ == 1:
            return np.zeros((len(score), 1))
        return score[:, 1] - score[:, 0] if self.n_classes_ == TWO else score

    def decision_function(self, X):
        """Return F_k of each class, float64 (n_rows, n_classes); of two, F_1 − F_0 (n_rows,)."""
        check_is_fitted(self)
        if self._walker is None:
            total = sum(given for _, given in self._votes(X))
        else:
            X = self._read_rows(X)
            total = self._walker.sum(X, count_threads(self.n_jobs))
            if self.n_classes_ == TWO:
                total = np.column_stack([-total, total])
        return self._shape(total / self.estimator_weights_.sum())

    def predict(self, X):
        """Return the label with the largest F_k, the first if equal."""
        return self._label(self.decision_function(X))

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self.staged_decision_function(X):
            yield self._label(score)

    def _label(self, score):
        """Return the labels that decisions mean."""
        if self.n_classes_ == TWO:
            return self.classes_.take(score > 0)
        return self.classes_.take(score.argmax(axis=1))

    def predict_proba(self, X):
        """Return the softmax of F_k / (K − 1), float64 (n_rows, n_classes)."""
        return self._proba(self.decision_function(X))

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for score in self.staged_decision_function(X):
            yield self._proba(score)

    def _proba(self, score):
        """Return the probabilities that decisions mean."""
        if self.n_classes_ == 1:
            return np.ones((len(score), 1))
        if self.n_classes_ == TWO:
            return softmax(np.column_stack([-score, score]) / 2.0)
        # laid out by columns, as scikit-learn's are: rows are then added up in the same order
        return softmax(np.asfortranarray(score / (self.n_classes_ - 1)))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def staged_score(self, X, y, sample_weight=None):
        """Yield the accuracy after each round."""
        for found in self.staged_predict(X):
            yield accuracy_score(y, found, sample_weight=sample_weight)

    def margins(self, X, y):
        """Return how surely the ensemble is right on each row, float64 (n_rows,) in −1 … 1.

        The share of the votes that the true class got, less the largest share of another class
        (Schapire, Freund, Bartlett and Lee: Boosting the margin, 1998); below 0 where the
        prediction is wrong. Of one class alone it is 1.
        """
        check_is_fitted(self)
        if self.n_classes_ == 1:
            return np.ones(len(y))
        score = self.decision_function(X)
        if self.n_classes_ == TWO:
            score = np.column_stack([-score, score]) / 2.0
        share = (score * (self.n_classes_ - 1) + 1.0) / self.n_classes_
        rows, codes = np.arange(len(y)), np.searchsorted(self.classes_, y)
        right = share[rows, codes]
        share[rows, codes] = -np.inf
        return right - share.max(axis=1)

    @property
    def ensemble_(self):
        """The trees as a `harness.TreeEnsemble` that votes."""
        check_is_fitted(self)
        others = max(1, self.n_classes_ - 1)
        integer = np.issubdtype(self.classes_.dtype, np.integer)
        codes = self.classes_.tolist() if integer else range(self.n_classes_)
        return self._export(
            tuple(codes),
            combination="vote",
            against=-1.0 / others,
            link="softmax",
            temperature=others,
        )


class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):
    """Boosted regressors by AdaBoost.R2; parameters are those of scikit-learn's class, and n_jobs.

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

    @_fit_context(prefer_skip_nested_validation=False)
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
            off = self._losses(np.abs(learner.train(model, weight, rows) - y)[used])
            error = (weight[used] * off).sum()  # ε_t
            if error <= 0.0:
                self._keep(model, 1.0, 0.0)
                return
            if error >= 0.5:
                self._keep_if_first(model)
                return
            beta = error / (1.0 - error)  # β_t
            log = math.log if self.parity is None else np.log  # which may round otherwise
            self._keep(model, self.learning_rate * log(1.0 / beta), error)
            if t + 1 < self.n_estimators:
                weight[used] *= np.power(beta, (1.0 - off) * self.learning_rate)
                weight /= weight.sum()

    def _losses(self, off):
        """Return L of each row from its absolute error."""
        worst = off.max()
        if worst != 0.0:
            off /= worst
        match self.loss:
            case "square":
                return off**2
            case "exponential":
                return 1.0 - np.exp(-off)
            case _:
                return off

    def _keep_if_first(self, model):
        """Keep a model that is no better than chance where it is the only one, without a vote."""
        if not self.estimators_:
            self._keep(model, 0.0, 1.0)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        X = self._read_rows(X)
        found = np.column_stack([predict(model, X) for model in self.estimators_])
        for t in range(1, len(self.estimators_) + 1):
            yield weighted_median(found[:, :t], self.estimator_weights_[:t])

    def predict(self, X):
        """Return the weighted median of the models' predictions, float64 (n_rows,)."""
        X = self._read_rows(X)
        trees, votes = self._trees_and_votes()
        if self._is_trees:
            return median_of_trees(trees, votes, X, count_threads(self.n_jobs))
        found = np.column_stack([predict(model, X) for model in self.estimators_])
        return weighted_median(found, votes)

    def staged_score(self, X, y, sample_weight=None):
        """Yield R² after each round."""
        for found in self.staged_predict(X):
            yield r2_score(y, found, sample_weight=sample_weight)

    @property
    def ensemble_(self):
        """The trees as a `harness.TreeEnsemble` whose weighted median predicts."""
        return self._export((), combination="median")


def warn_of_infinite_weights(t):
    """Warn that the weights after a round cannot be told."""
    warn(
        f"Sample weights have reached infinite values, at iteration {t}, causing overflow. "
        "Iterations stopped. Try lowering the learning rate.",
        stacklevel=4,
    )


def check_any_model(models):
    """Raise scikit-learn's error where the first model is no better than chance."""
    if not models:
        raise ValueError(
            "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can not "
            "be fit."
        )


def predict(model, X):
    """Return a model's predictions; our own trees get X as they read it, and need no check."""
    if isinstance(model, (DecisionTreeClassifier, DecisionTreeRegressor)):
        return model.predict(X, check_input=False)
    return model.predict(X)


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
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("estimator__max_depth"),
                "leaves": Argument("estimator__max_leaf_nodes"),
                "min_samples": Argument("estimator__min_samples_leaf"),
                "rate": Argument("learning_rate"),
            },
            space=ADABOOST,
            reference="sklearn.adaboost",
            rungs={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1006/jcss.1997.1504",
            summary="SAMME and R2 on our trees, columns sorted once for all rounds",
        )
    )
