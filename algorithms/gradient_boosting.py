"""Gradient boosting: each tree takes one step along the negative gradient of a loss.

Friedman: Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 2001.
Friedman: Stochastic gradient boosting. Computational Statistics & Data Analysis 38, 2002.

    F_0 = argmin_c Σ w L(y, c)
    g_i = −∂L(y_i, F(x_i)) / ∂F                  the negative gradient, at F = F_{m−1}
    h_m = a regression tree fitted to g by least squares
    ρ_j = argmin_ρ Σ_{x_i in leaf j} w_i L(y_i, F(x_i) + ρ)            step="leaf"
    ρ   = argmin_ρ Σ w_i L(y_i, F(x_i) + ρ h_m(x_i))                    step="global"
    F_m = F_{m−1} + ν ρ_j[x in leaf j],  or  F_{m−1} + ν ρ h_m          ν: learning_rate

If ρ_j has no closed form, it is one Newton step Σ w g / Σ w h, as in Friedman (log_loss,
exponential, poisson). The formulas of the losses are in `boosting/kernels/losses.py`. With the
exponential loss, hypotheses of ±1 and global steps, this algorithm is AdaBoost.

The penalty γ J + λ/2 Σ v_j² on the values v_j of the J leaves regularizes a tree: the score of
leaf j becomes s² / (w + λ), and a split must reduce ½ Σ w (g − v)² by more than γ.

Trees are grown level by level on columns sorted once (docs/decisions/gradient-boosting.md). Every
distinct threshold is tried. The draws of rows and features are those of scikit-learn.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods, Interval, Real, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from algorithms.boosting import classification_losses, losses
from algorithms.boosting.base_gradient_boosting import BaseGradientBoosting
from algorithms.boosting.cross_validated_rounds import choose_rounds
from algorithms.decision_tree import DecisionTreeRegressor
from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor", "choose_rounds"]

TWO = 2
CUSTOM_LOSS = HasMethods(["start", "negative_gradient", "__call__"])
REGRESSION_LOSSES = {
    "squared_error": lambda _: losses.SquaredError(),
    "absolute_error": lambda _: losses.AbsoluteError(),
    "huber": losses.Huber,
    "quantile": losses.Quantile,
    "poisson": lambda _: losses.Poisson(),
}


class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
    """Gradient boosting classifier with the parameters of scikit-learn's class, and a few more.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object
        An object is a custom loss; `algorithms.boosting.losses` describes its methods.
    learning_rate : float
        Shrinkage ν of each step. As in scikit-learn, a warm start applies the new value to the
        existing rounds as well. A change after the last fit does not change predictions.
    n_estimators : int
        Number of rounds; `choose_rounds` finds it by cross-validation.
    subsample : float
        Share of the rows drawn in each round, without replacement.
    criterion : "deprecated"
        Has no effect.
    min_samples_split : int or float
        Minimum number of rows in a node that is split; a float is a share of all rows.
    min_samples_leaf : int or float
        Minimum number of rows in a leaf; a float is a share of all rows.
    min_weight_fraction_leaf : float
        Minimum share of the total weight in a leaf.
    max_depth : int, optional
        Maximum depth of each tree.
    min_impurity_decrease : float
        Minimum improvement of a split.
    init : estimator, "zero", optional
        Initial model; by default the best constant.
    random_state : int, RandomState, optional
        Seed of the draws of rows and features.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of features sampled in each node; by default all.
    verbose : int
        1 prints some of the rounds, 2 every round.
    max_leaf_nodes : int, optional
        Maximum number of leaves of each tree; if set, trees grow best first.
    warm_start : bool
        Whether a further fit adds rounds to the existing ones.
    validation_fraction : float
        Share of the rows held out for early stopping.
    n_iter_no_change : int, optional
        Training stops if the validation loss has not fallen by ``tol`` in this many rounds. None
        turns early stopping off.
    tol : float
        Minimum decrease of the validation loss that counts as an improvement.
    ccp_alpha : float
        Penalty per leaf for cost-complexity pruning of each tree.
    estimator : regressor, optional
        Base learner used instead of trees; its step is always the global one.
    step : {"leaf", "global"}
        One step size per leaf, or one per tree.
    leaf_penalty : float
        γ, penalty per leaf.
    l2_regularization : float
        λ, penalty of squared leaf values; not supported for losses without curvature.
    categorical_features : {"from_dtype"} or array-like, optional
        Categorical columns, as in `DecisionTreeClassifier`; their splits are subsets of categories.
        Not supported with `leaf_penalty`, `l2_regularization` or `parity`. A model given as
        ``init`` gets the codes of the categories.
    parity : {"scikit-learn"}, optional
        Build exactly scikit-learn's trees, with its arithmetic; slower.
    n_jobs : int, optional
        Number of threads; None means one. The result is the same for any number.

    Attributes
    ----------
    classes_ : (n_classes,) labels, sorted
    n_classes_ : int
    n_features_in_ : int
    n_estimators_ : int, number of rounds
    n_trees_per_iteration_ : int
    max_features_ : int
    estimators_ : object array (n_rounds, n_outputs) of the fitted regressors
    steps_ : float64 (n_rounds, n_outputs)
        ρ of base learners; 1 for trees, whose leaf values contain the steps.
    init_ : the fitted initial estimator, "zero", or "constant"
    train_score_ : float64 (n_rounds,), the loss on the drawn rows after each round
    oob_improvement_ : float64 (n_rounds,), decrease of the out-of-bag loss in each round
    oob_scores_ : float64 (n_rounds,), out-of-bag loss after each round
    oob_score_ : float, out-of-bag loss after the last round
    feature_importances_ : float64 (n_features,)
    ensemble_ : harness.TreeEnsemble
        Only if the base learners are trees.
    """

    _tree_class = DecisionTreeRegressor  # the classifier uses regression trees, too

    _parameter_constraints: ClassVar = {
        **BaseGradientBoosting._parameter_constraints,  # noqa: SLF001 - scikit-learn's convention
        "loss": [StrOptions({"log_loss", "exponential"}), CUSTOM_LOSS],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict_proba"])],
    }

    def _read_y(self, y, weight):
        """Return class codes as float64; store the labels."""
        check_classification_targets(y)
        self.classes_, codes = code_classes(y)
        self.n_classes_ = len(self.classes_)
        rows = np.bincount(codes.ravel(), weight)
        if (present := np.count_nonzero(rows)) < TWO:
            raise ValueError(
                f"y contains {present} class after sample_weight trimmed classes with zero "
                "weights, while a minimum of 2 classes are required."
            )
        return codes.astype(np.float64)

    def _make_loss(self):
        """Return the loss object."""
        if not isinstance(self.loss, str):
            return self.loss
        if self.loss == "log_loss":
            two = self.n_classes_ == TWO
            return (
                classification_losses.Binomial()
                if two
                else classification_losses.Multinomial(self.n_classes_)
            )
        if self.n_classes_ > TWO:
            raise ValueError(
                f"loss='{self.loss}' is only suitable for a binary classification problem, you "
                f"have n_classes={self.n_classes_}. Please use loss='log_loss' instead."
            )
        return classification_losses.Exponential()

    def decision_function(self, X):
        """Return raw scores: float64 (n_rows,) for two classes, else (n_rows, n_classes)."""
        return squeeze_single_output(self._raw(self._read_rows(X)))

    def staged_decision_function(self, X):
        """Yield the raw scores after each round, float64 (n_rows, n_outputs)."""
        yield from self._staged_raw(X)

    def _label(self, raw):
        """Return the label with the largest score."""
        codes = (raw[:, 0] >= 0.0).astype(int) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return self.classes_.take(codes)

    def predict(self, X):
        """Return the label with the largest score for each row."""
        return self._label(self._raw(self._read_rows(X)))

    def staged_predict(self, X):
        """Yield the labels after each round."""
        for raw in self._staged_raw(X):
            yield self._label(raw)

    def predict_proba(self, X):
        """Return the probabilities of the classes, float64 (n_rows, n_classes)."""
        raw = self._raw(self._read_rows(X))
        return self._loss.predict_proba(raw)

    def staged_predict_proba(self, X):
        """Yield the probabilities after each round."""
        for raw in self._staged_raw(X):
            yield self._loss.predict_proba(raw)

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))


class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):
    """Gradient boosting regressor with the parameters of scikit-learn's class, and a few more.

    Parameters and attributes are as in `GradientBoostingClassifier`, without those of classes.
    ``loss`` is "squared_error", "absolute_error", "huber", "quantile", "poisson" (its prediction is
    e^F), or a custom loss. ``alpha`` is the quantile of the loss "quantile", and the quantile of
    the absolute residuals above which "huber" is linear.
    """

    _tree_class = DecisionTreeRegressor  # the classifier uses regression trees, too

    _parameter_constraints: ClassVar = {
        **BaseGradientBoosting._parameter_constraints,  # noqa: SLF001 - scikit-learn's convention
        "loss": [StrOptions(set(REGRESSION_LOSSES)), CUSTOM_LOSS],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict"])],
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss="squared_error",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion="deprecated",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_depth=3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        alpha=0.9,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
        estimator=None,
        step="leaf",
        leaf_penalty=0.0,
        l2_regularization=0.0,
        categorical_features=None,
        parity=None,
        n_jobs=None,
    ):
        super().__init__(
            loss=loss, learning_rate=learning_rate, n_estimators=n_estimators,
            subsample=subsample, criterion=criterion, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_depth=max_depth, min_impurity_decrease=min_impurity_decrease, init=init,
            random_state=random_state, max_features=max_features, verbose=verbose,
            max_leaf_nodes=max_leaf_nodes, warm_start=warm_start,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            ccp_alpha=ccp_alpha, estimator=estimator, step=step, leaf_penalty=leaf_penalty,
            l2_regularization=l2_regularization, categorical_features=categorical_features,
            parity=parity, n_jobs=n_jobs,
        )  # fmt: skip
        self.alpha = alpha

    def _read_y(self, y, weight):  # noqa: ARG002 - the classifier's signature
        """Return the values as float64."""
        return np.ascontiguousarray(y, np.float64)

    def _make_loss(self):
        """Return the loss object."""
        if isinstance(self.loss, str):
            return REGRESSION_LOSSES[self.loss](self.alpha)
        return self.loss

    def apply(self, X):
        """Return the leaf of each row in each tree: float64 (n_rows, n_estimators)."""
        return super().apply(X)[:, :, 0]

    def _to_predictions(self, raw):
        """Convert raw scores to predictions."""
        return (
            self._loss.predict(raw)
            if hasattr(self._loss, "predict")
            else squeeze_single_output(raw)
        )

    def predict(self, X):
        """Return the prediction of each row, float64 (n_rows,)."""
        return self._to_predictions(self._raw(self._read_rows(X)))

    def staged_predict(self, X):
        """Yield the predictions after each round."""
        for raw in self._staged_raw(X):
            yield self._to_predictions(raw)


def squeeze_single_output(raw):
    """Return scores with one output as a vector."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def build(spec):
    """Return the booster of a harness spec."""
    boosting = (
        GradientBoostingClassifier if spec.task.is_classification else GradientBoostingRegressor
    )
    return boosting(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register gradient boosting with the harness."""
    register(
        Algorithm(
            "gradient_boosting",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(missing=True),
            params={"n_estimators": 100},
            early_stopping=lambda rounds, share: {
                "n_estimators": 1000,
                "n_iter_no_change": rounds,
                "validation_fraction": share,
            },
            estimators=(
                "algorithms.GradientBoostingClassifier",
                "algorithms.GradientBoostingRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("max_depth", convert=lambda depth: depth or None),
                "leaves": Argument("max_leaf_nodes"),
                "min_samples": Argument("min_samples_leaf"),
                "rate": Argument("learning_rate"),
            },
            space=search_spaces.GRADIENT_BOOSTING,
            variants=variants.GRADIENT_BOOSTING,
            reference="sklearn.gradient_boosting",
            parity_levels={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1214/aos/1013203451",
            summary="exact gradient boosting, level by level, on columns sorted once",
        )
    )
