"""Stacking: a model that combines the predictions of other models.

Wolpert: Stacked generalization. Neural Networks 5, 1992.

    z_i  = (f_1⁻(x_i), …, f_M⁻(x_i))          predictions of members trained without row i's fold
    G    = model trained on (z_i, y_i)         or on ((z_i, x_i), y_i) with ``passthrough``
    F(x) = G(f_1(x), …, f_M(x))                members trained on all rows

Voting (`algorithms.voting`) weighs a member the same for every row. G can weigh a member by the
predictions of the others and, with ``passthrough``, by x. G is trained on f⁻ because a member that
overfits would seem to be without error on its own training rows.

Not supported: several outputs.
"""

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from algorithms._blend_members import DEFAULT_MEMBERS, make_members
from algorithms.blending.base_blend import encode_labels
from algorithms.blending.base_stacking import IN_TURN, BaseStacking, final_estimator_has
from algorithms.estimator.fit_context import fit_context
from harness import ALL_TASKS, Accepts, Algorithm, estimator_adapter, hookimpl


class StackingClassifier(ClassifierMixin, BaseStacking):
    """Stacking classifier with the parameters of scikit-learn's class of the same name.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Names and members; "drop" in place of a member leaves it out.
    final_estimator : classifier, optional
        The model G that combines the members; by default a logistic regression.
    cv : int, cross-validation object, iterable or "prefit", optional
        The folds of f⁻; by default 5. "prefit": the members are already fitted, on other rows.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}
        Method called on the members; "auto" is the first of these that a member has.
    n_jobs : int, optional
        Number of members trained in parallel; None means one.
    passthrough : bool
        Whether G is trained on x as well.
    verbose : int
        Whether to print the training time of each member.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    estimators_ : list of the fitted members, trained on class codes
    named_estimators_ : the fitted members by name
    final_estimator_ : the fitted G, trained on class codes
    stack_method_ : list of str, the method called on each member
    n_features_in_ : int, as in the members
    feature_names_in_ : as in the members
    """

    _parameter_constraints: ClassVar = {
        **BaseStacking._parameter_constraints,  # noqa: SLF001 - scikit-learn's convention
        "stack_method": [StrOptions({"auto", *IN_TURN})],
    }

    def __init__(
        self,
        estimators,
        final_estimator=None,
        *,
        cv=None,
        stack_method="auto",
        n_jobs=None,
        passthrough=False,
        verbose=0,
    ):
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default(self):
        return LogisticRegression()

    def _check_kinds(self, members):
        """Accept members of any type: G turns their predictions into classes."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **fit_params):
        """Train the members on all rows, and G on the members' out-of-fold predictions.

        Parameters
        ----------
        X : any input that the members accept, (n_rows, n_features)
        y : array-like (n_rows,), labels
        fit_params
            ``sample_weight``, passed to every member and to G; with metadata routing, the
            parameters that the members request.
        """
        return self._train(X, encode_labels(self, y), fit_params)

    @available_if(final_estimator_has("predict"))
    def predict(self, X, **predict_params):
        """Return labels (n_rows,); parameters are passed to G's ``predict``."""
        check_is_fitted(self)
        return self.classes_.take(
            self.final_estimator_.predict(self.transform(X), **predict_params)
        )

    @available_if(final_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Return G's probabilities, float64 (n_rows, n_classes)."""
        check_is_fitted(self)
        return self.final_estimator_.predict_proba(self.transform(X))

    @available_if(final_estimator_has("decision_function"))
    def decision_function(self, X):
        """Return G's decision function, (n_rows,) or (n_rows, n_classes)."""
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))


class StackingRegressor(RegressorMixin, BaseStacking):
    """Stacking regressor with the parameters of scikit-learn's class of the same name.

    Parameters and attributes are as in `StackingClassifier`, without those of classes. G is by
    default a ridge regression whose penalty is chosen by leave-one-out.
    """

    def __init__(
        self,
        estimators,
        final_estimator=None,
        *,
        cv=None,
        n_jobs=None,
        passthrough=False,
        verbose=0,
    ):
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default(self):
        return RidgeCV()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **fit_params):
        """Train the members on all rows, and G on the members' out-of-fold predictions.

        Parameters
        ----------
        X : any input that the members accept, (n_rows, n_features)
        y : array-like (n_rows,), numbers
        fit_params
            ``sample_weight``, passed to every member and to G; with metadata routing, the
            parameters that the members request.
        """
        return self._train(X, column_or_1d(y, warn=True), fit_params)

    @available_if(final_estimator_has("predict"))
    def predict(self, X, **predict_params):
        """Return values (n_rows,); parameters are passed to G's ``predict``."""
        check_is_fitted(self)
        return self.final_estimator_.predict(self.transform(X), **predict_params)


def build(spec):
    """Return the stacking estimator of a harness spec, with our own algorithms as members."""
    params = dict(spec.params)
    members = make_members(params.pop("members"), spec)
    stack = StackingClassifier if spec.task.is_classification else StackingRegressor
    return stack(members).set_params(**params)


@hookimpl
def register_algorithms(register):
    """Register stacking with the harness."""
    register(
        Algorithm(
            "stacking",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(),
            params={"members": DEFAULT_MEMBERS, "cv": 3},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1016/S0893-6080(05)80023-1",
            summary="our random forest and gradient boosting under a linear model",
        )
    )
