"""Random forest: the mean of trees, each grown on sampled rows and, in each node, sampled features.

Breiman: Random forests. Machine Learning 45, 2001.

    D_m = n rows drawn from the n rows of D with replacement           m = 1 … M
    T_m = tree grown on D_m; every node searches mtry newly drawn features
    F(x) = 1/M Σ T_m(x)          values, or the class shares in x's leaf

With T_m of variance σ² and correlation ρ, the variance of F is ρσ² + (1 − ρ)σ²/M. Bagging removes
only the second term. Fewer features per node make the trees less alike (smaller ρ) and each tree a
little worse. A row is out of bag for about a share 1/e of the trees; the mean of these trees
predicts it like an unseen row.

Seeds, row draws and feature draws are those of scikit-learn. Classifiers with integer weights, such
as bootstrap counts, also build the same trees as scikit-learn. In regression, and with
``class_weight="balanced_subsample"``, rounding decides ties; ``parity="scikit-learn"`` reproduces
the rounding, too. Threads grow whole trees in parallel; the forest is the same for any number of
threads.

With several outputs each tree predicts all of them, see `decision_tree`.

Not supported: categorical columns.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from algorithms.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes
from algorithms.estimator.outputs import (
    code_outputs,
    labels_of,
    log_shares,
    most_likely,
    split_shares,
)
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.forest.base_forest import FOREST_CONSTRAINTS, BaseForest
from algorithms.trees.cart import name_criterion
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl

BALANCED = ("balanced", "balanced_subsample")


class RandomForestClassifier(ClassifierMixin, BaseForest):
    """A random forest classifier with the parameters of scikit-learn's class of the same name.

    Parameters
    ----------
    n_estimators : int
        Number of trees, M.
    criterion : {"gini", "entropy", "log_loss", "gain_ratio", "misclassification"}
        Impurity, see `DecisionTreeClassifier`.
    max_depth : int, optional
        Maximum depth of each tree.
    min_samples_split : int or float
        Minimum number of rows in a node that is split; a float is a share of all rows.
    min_samples_leaf : int or float
        Minimum number of rows in a leaf; a float is a share of all rows.
    min_weight_fraction_leaf : float
        Minimum share of the total weight in a leaf.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of features sampled in each node, mtry; by default the square root of the number of
        features.
    max_leaf_nodes : int, optional
        Maximum number of leaves of each tree; if set, trees grow best first.
    min_impurity_decrease : float
        Minimum improvement of a split.
    bootstrap : bool
        Whether each tree draws its rows with replacement; if False, each tree uses all rows.
    oob_score : bool or callable
        Whether to predict each row with the trees that did not draw it, and to compute a score:
        accuracy, or ``oob_score(codes, predicted codes)``.
    n_jobs : int, optional
        Number of threads; None means one. The forest is the same for any number.
    random_state : int, RandomState, optional
        Seed of the draws of rows and features.
    verbose : int
        Above 1, one line is printed per tree.
    warm_start : bool
        Whether a further fit adds trees to the existing ones.
    class_weight : dict, {"balanced", "balanced_subsample"}, optional
        Weight of each class, multiplied with the sample weights. "balanced_subsample" balances the
        rows that each tree drew.
    ccp_alpha : float
        Penalty per leaf for cost-complexity pruning of each tree.
    max_samples : int or float, optional
        Number of rows drawn for each tree; a float is a share of all rows; by default all rows.
    monotonic_cst : array-like of -1, 0, 1 (n_features,), optional
        Monotonicity of each feature, see `DecisionTreeClassifier`.
    parity : {"scikit-learn"}, optional
        Build exactly scikit-learn's trees, with its order of summation. None is faster.

    Attributes
    ----------
    estimator_ : the unfitted tree
    estimators_ : list of the fitted trees
    estimators_samples_ : list of int32 arrays, the rows drawn for each tree
    classes_ : (n_classes,) labels; a list of such arrays with several outputs
    n_classes_ : int; a list with several outputs
    n_features_in_ : int
    n_outputs_ : int
    feature_importances_ : float64 (n_features,)
    oob_score_ : float
    oob_decision_function_ : float64 (n_rows, n_classes)
        Out-of-bag class shares; 0 for a row that every tree drew. With several outputs, which must
        be binary: (n_rows, n_classes, n_outputs).
    ensemble_ : harness.TreeEnsemble
    """

    _own_tree = DecisionTreeClassifier
    _parameter_constraints: ClassVar = {
        **FOREST_CONSTRAINTS,
        "criterion": DecisionTreeClassifier._parameter_constraints["criterion"],  # noqa: SLF001 - scikit-learn's convention
        "class_weight": [dict, list, StrOptions(set(BALANCED)), None],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        parity=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.parity = parity

    def _read_y(self, y):
        """Return class codes; store the labels."""
        check_classification_targets(y)
        if y.ndim > 1:
            self.classes_, codes = code_outputs(y)
            self.n_classes_ = [len(labels) for labels in self.classes_]
            return codes
        self.classes_, codes = code_classes(y)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _weigh(self, codes, weight):
        """Return row weights times class weights, float64 (n_rows,), or None."""
        given = self.class_weight
        if given is None or (given == "balanced_subsample" and self.bootstrap):
            return weight
        if given in BALANCED:
            of_rows = np.ones(len(codes))
            for column in codes.reshape(len(codes), -1).T:
                counts = np.bincount(column, weights=weight)
                of_class = np.zeros(len(counts))  # a class without weight has no balanced weight
                np.divide(counts.sum(), len(counts) * counts, of_class, where=counts != 0.0)
                of_rows *= of_class[column]
        else:
            labels = labels_of(self.classes_, codes)
            of_rows = weights_by_class(given, labels, may_be_negative=True)
        return of_rows if weight is None else weight * of_rows

    def _weigh_classes(self, codes, rows):
        """Return each row's class weight, balanced over the rows that a tree drew, or 1."""
        if self.class_weight != "balanced_subsample":
            return 1.0
        return compute_sample_weight("balanced", codes, indices=rows)

    def _set_class_codes(self, trees):
        """Set class codes as the labels of each tree."""
        for tree in trees:
            if self.n_outputs_ == 1:
                tree.classes_ = np.arange(self.n_classes_, dtype=np.float64)
                tree.n_classes_ = self.n_classes_
            else:
                tree.classes_ = [np.arange(count, dtype=np.float64) for count in self.n_classes_]
                tree.n_classes_ = np.array(self.n_classes_)

    def predict_proba(self, X):
        """Return the mean of the trees' class shares, float64 (n_rows, n_classes).

        With several outputs the result is a list with an array for each output.
        """
        values = self._predict(X)
        return values if self.n_outputs_ == 1 else split_shares(values, self.n_classes_)

    def predict(self, X):
        """Return the label with the largest mean share; the first one if shares are equal.

        The result is (n_rows,), or (n_rows, n_outputs) with several outputs.
        """
        proba = self.predict_proba(X)
        if self.n_outputs_ > 1:
            return most_likely(proba, self.classes_)
        return self.classes_.take(proba.argmax(axis=1))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`; -inf where it is 0."""
        return log_shares(self.predict_proba(X))

    def _score_out_of_bag(self, X, codes):
        """Store the out-of-bag class shares and their score."""
        from sklearn.metrics import accuracy_score

        check_oob_target(codes)
        shares = self._predict_out_of_bag(X)
        if self.n_outputs_ > 1:  # as in scikit-learn: (n_rows, n_classes, n_outputs)
            shares = shares.reshape(len(codes), self.n_outputs_, -1).transpose(0, 2, 1)
        self.oob_decision_function_ = shares
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = score(codes, self.oob_decision_function_.argmax(axis=1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class RandomForestRegressor(RegressorMixin, BaseForest):
    """A random forest regressor with the parameters of scikit-learn's class of the same name.

    Parameters and attributes are as in `RandomForestClassifier`, without those of classes.
    ``criterion`` is one of those of `DecisionTreeRegressor`; ``max_features`` is by default all
    features. ``oob_prediction_``, float64 (n_rows,) or (n_rows, n_outputs), is the mean over the
    trees that did not draw a row. ``oob_score_`` is its R², or the value of a given callable.
    """

    _own_tree = DecisionTreeRegressor
    _parameter_constraints: ClassVar = {
        **FOREST_CONSTRAINTS,
        "criterion": DecisionTreeRegressor._parameter_constraints["criterion"],  # noqa: SLF001 - scikit-learn's convention
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        parity=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = name_criterion(criterion)
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.parity = parity

    def _read_y(self, y):
        """Return the values as float64."""
        return np.ascontiguousarray(y, np.float64)

    def _weigh(self, _, weight):
        """Return the row weights unchanged."""
        return weight

    def _weigh_classes(self, *_):
        """Return 1: regression has no classes."""
        return 1.0

    def _set_class_codes(self, trees):
        """Do nothing: regression has no classes."""

    def predict(self, X):
        """Return the mean of the trees' values, float64 (n_rows,) or (n_rows, n_outputs)."""
        values = self._predict(X)
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _score_out_of_bag(self, X, y):
        """Store the out-of-bag predictions and their score."""
        from sklearn.metrics import r2_score

        predicted = self._predict_out_of_bag(X)
        self.oob_prediction_ = predicted[:, 0] if self.n_outputs_ == 1 else predicted
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(y, self.oob_prediction_)


def check_oob_target(codes):
    """Raise scikit-learn's error if several outputs, not all binary, are to be scored.

    Parameters
    ----------
    codes : class codes (n_rows,) or (n_rows, n_outputs)
    """
    if codes.ndim > 1 and type_of_target(codes) == "multiclass-multioutput":
        raise ValueError(
            "The type of target cannot be used to compute OOB estimates. Got "
            "multiclass-multioutput while only the following are supported: continuous, "
            "continuous-multioutput, binary, multiclass, multilabel-indicator."
        )


def build(spec):
    """Return the forest of a harness spec."""
    forest = RandomForestClassifier if spec.task.is_classification else RandomForestRegressor
    return forest(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register the forest with the harness."""
    register(
        Algorithm(
            "random_forest",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(missing=True),
            params={"n_estimators": 100},
            estimators=(
                "algorithms.RandomForestClassifier",
                "algorithms.RandomForestRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("max_depth"),
                "leaves": Argument("max_leaf_nodes"),
                "min_samples": Argument("min_samples_leaf"),
            },
            space=search_spaces.FOREST,
            variants=variants.ENSEMBLE,
            reference="sklearn.random_forest",
            parity_levels={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1023/A:1010933404324",
            summary="random forest, trees grown in parallel",
        )
    )
