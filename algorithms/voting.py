"""Voting: a uniform or linear combination of several models.

Wolpert: Stacked generalization. Neural Networks 5, 1992.
Breiman: Stacked regressions. Machine Learning 24, 1996.

With members f_1 … f_M (a value, class probabilities, or a 1 for the predicted class):

    uniform      F(x) = 1/M Σ f_m(x)
    weighted     F(x) = Σ α_m f_m(x) / Σ α_m            α given
    linear       F(x) = Σ α_m f_m(x)                    α = argmin Σ_i w_i ‖y_i − Σ α_m f_m⁻(x_i)‖²
    nonnegative  the same with α ≥ 0

f_m⁻ is the member trained without the fold of row i: on its own training rows, a member that
overfits would take all the weight. For classes, y_i is 1 at the row's class and 0 elsewhere, so the
minimized loss is the Brier score. A uniform combination reduces variance: the mean error of the
members is that of F plus their mean squared distance from F.

Not supported: several outputs.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from algorithms._blend_members import DEFAULT_MEMBERS, make_members
from algorithms.blending.base_blend import (
    BaseBlend,
    encode_labels,
    is_dropped,
    out_of_fold,
    read_weight,
)
from algorithms.blending.linear_weights import as_shares, learn_nonnegative_weights, learn_weights
from algorithms.estimator.fit_context import fit_context
from harness import ALL_TASKS, Accepts, Algorithm, estimator_adapter, hookimpl

LEARNED = ("linear", "nonnegative")
CONSTRAINTS = {
    **BaseBlend._parameter_constraints,  # noqa: SLF001 - scikit-learn's convention
    "weights": ["array-like", StrOptions(set(LEARNED)), None],
    "cv": ["cv_object"],
    "verbose": ["verbose"],
}


class BaseVoting(BaseBlend):
    """Base class of the two voting estimators: finds the weights α.

    ``_weighting`` is the kind of weights of the last fit: None, "given", or one of `LEARNED`.
    """

    _progress_name = "Voting"

    def _vote_methods(self, members):
        return ["predict"] * len(members)

    def _train(self, X, y, params):
        """Train the members and find their weights."""
        members = self._members(params)
        given = None if isinstance(self.weights, str) else self.weights
        if given is not None and len(given) != len(self.estimators):
            raise ValueError(
                "Number of `estimators` and weights must be equal; got "
                f"{len(given)} weights, {len(self.estimators)} estimators"
            )
        routed = self._route(members, params)
        self._fit_members(members, X, y, routed)
        self._weighting = self.weights if given is None else "given"
        if isinstance(self.weights, str):
            self.weights_ = self._learn(members, X, y, params, routed)
        else:
            alpha = np.ones(len(self.estimators)) if given is None else np.asarray(given, float)
            kept = [not is_dropped(member) for _, member in self.estimators]
            self.weights_ = alpha[kept]
        return self

    def _member_predictions(self, X):
        """Return the predictions of each fitted member."""
        check_is_fitted(self, "estimators_")
        return self._predict_members(X, self._vote_methods(self.estimators_))

    def _learn(self, members, X, y, params, routed):
        """Return the weights that combine the members' out-of-fold votes best."""
        predictions = out_of_fold(self, members, X, y, routed, self._vote_methods(members))
        votes = np.stack([self._as_votes(answer) for answer in predictions])
        solve = learn_weights if self.weights == "linear" else learn_nonnegative_weights
        return solve(votes, self._as_votes(y), read_weight(params, y))

    def _blend(self, answers):
        """Return Σ α_m f_m, divided by Σ α_m unless the α were learned."""
        answers = np.asarray(answers)
        if self._weighting in LEARNED:
            return np.tensordot(self.weights_, answers, axes=1)
        weights = None if self._weighting is None else self.weights_
        return np.average(answers, axis=0, weights=weights)


class VotingClassifier(ClassifierMixin, BaseVoting):
    """Voting classifier with scikit-learn's parameters, learned weights and ``cv``.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Names and members; "drop" in place of a member leaves it out.
    voting : {"hard", "soft"}
        Combine predicted classes ("hard") or probabilities ("soft").
    weights : array-like (n_members,), {"linear", "nonnegative"}, optional
        Weights α, or the method that learns them from out-of-fold votes; by default all are equal.
    n_jobs : int, optional
        Number of members trained in parallel; None means one.
    flatten_transform : bool
        Whether `transform` concatenates the members' probabilities along the columns.
    verbose : bool
        Whether to print the training time of each member.
    cv : int, cross-validation object or iterable, optional
        The folds used to learn weights; by default 5.

    Attributes
    ----------
    estimators_ : list of the fitted members, trained on class codes
    named_estimators_ : the fitted members by name
    weights_ : float64 (n_members,), α
    classes_ : (n_classes,) labels
    n_features_in_ : int, as in the members
    feature_names_in_ : as in the members
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "voting": [StrOptions({"hard", "soft"})],
        "flatten_transform": ["boolean"],
    }

    def __init__(
        self,
        estimators,
        *,
        voting="hard",
        weights=None,
        n_jobs=None,
        flatten_transform=True,
        verbose=False,
        cv=None,
    ):
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.cv = cv

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **fit_params):
        """Train the members on class codes; learn their weights if ``weights`` names a method.

        Parameters
        ----------
        X : any input that the members accept, (n_rows, n_features)
        y : array-like (n_rows,), labels
        fit_params
            ``sample_weight``, passed to every member; with metadata routing, the parameters that
            the members request.
        """
        self._voting = self.voting
        return self._train(X, encode_labels(self, y), fit_params)

    def _vote_methods(self, members):
        return ["predict_proba" if self._voting == "soft" else "predict"] * len(members)

    def _as_votes(self, answer):
        """Return probabilities unchanged, class codes one-hot encoded."""
        are_shares = self._voting == "soft" and np.ndim(answer) > 1
        return answer if are_shares else np.eye(len(self.classes_))[np.ravel(answer)]

    def _votes(self, X):
        return [self._as_votes(answer) for answer in self._member_predictions(X)]

    def predict(self, X):
        """Return the label with the most votes, or the largest probability; the first if equal."""
        check_is_fitted(self, "estimators_")
        if self._voting == "soft":
            return self.classes_.take(self.predict_proba(X).argmax(axis=1))
        total = sum(a * votes for a, votes in zip(self.weights_, self._votes(X), strict=True))
        return self.classes_.take(total.argmax(axis=1))

    def _is_soft(self):
        voting = getattr(self, "_voting", self.voting)  # value of the last fit, if there is one
        if voting == "hard":
            raise AttributeError(f"predict_proba is not available when voting={voting!r}")
        return True

    @available_if(_is_soft)
    def predict_proba(self, X):
        """Return the combined probabilities, float64 (n_rows, n_classes).

        Learned weights can give negative values, and sums other than 1: negative values are set to
        0, and rows are rescaled to sum 1.
        """
        blended = self._blend(self._votes(X))
        return as_shares(blended) if self._weighting in LEARNED else blended

    def transform(self, X):
        """Return the members' predictions.

        Returns
        -------
        hard: int (n_rows, n_members), class codes; soft: float64 (n_rows, n_members · n_classes),
        or, without ``flatten_transform``, (n_members, n_rows, n_classes)
        """
        answers = self._member_predictions(X)
        if self._voting == "hard":
            return np.stack(answers, axis=1)
        return np.hstack(answers) if self.flatten_transform else np.asarray(answers)

    def get_feature_names_out(self, input_features=None):  # noqa: ARG002 - scikit-learn's signature
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "estimators_")
        if self._voting == "soft" and not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        names = names_of(self)
        if self._voting == "soft":
            names = [f"{name}{k}" for name in names for k in range(len(self.classes_))]
        return np.asarray(names, dtype=object)


class VotingRegressor(RegressorMixin, BaseVoting):
    """Voting regressor with scikit-learn's parameters, learned weights and ``cv``.

    Parameters and attributes are as in `VotingClassifier`, without those of classes.
    """

    _parameter_constraints: ClassVar = CONSTRAINTS

    def __init__(self, estimators, *, weights=None, n_jobs=None, verbose=False, cv=None):
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.cv = cv

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **fit_params):
        """Train the members; learn their weights if ``weights`` names a method.

        Parameters
        ----------
        X : any input that the members accept, (n_rows, n_features)
        y : array-like (n_rows,), numbers
        fit_params
            ``sample_weight``, passed to every member; with metadata routing, the parameters that
            the members request.
        """
        return self._train(X, column_or_1d(y, warn=True), fit_params)

    def _as_votes(self, answer):
        return np.asarray(answer, np.float64)

    def predict(self, X):
        """Return the combined values, float64 (n_rows,)."""
        return self._blend(self._member_predictions(X))

    def transform(self, X):
        """Return the members' predictions, float64 (n_rows, n_members)."""
        return np.stack(self._member_predictions(X), axis=1)

    def get_feature_names_out(self, input_features=None):  # noqa: ARG002 - scikit-learn's signature
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "estimators_")
        return np.asarray(names_of(self), dtype=object)


def names_of(blend):
    """Return the names of the members that are not dropped, prefixed by the class name."""
    prefix = type(blend).__name__.lower()
    return [f"{prefix}_{name}" for name, member in blend.estimators if not is_dropped(member)]


def build(spec):
    """Return the voting estimator of a harness spec, with our own algorithms as members."""
    params = dict(spec.params)
    members = make_members(params.pop("members"), spec)
    if spec.task.is_classification:
        return VotingClassifier(members, voting="soft").set_params(**params)
    return VotingRegressor(members).set_params(**params)


@hookimpl
def register_algorithms(register):
    """Register voting with the harness."""
    register(
        Algorithm(
            "voting",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(),
            params={
                "members": DEFAULT_MEMBERS,
                "weights": "nonnegative",
                "cv": 3,
            },
            libraries=("numpy", "scipy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1007/BF00117832",
            summary="our random forest and gradient boosting, weights learned on held-out folds",
        )
    )
