"""Random forest: the mean of trees, each grown on rows and, in each node, features drawn.

Breiman: Random forests. Machine Learning 45, 2001.

    D_m = n rows drawn from the n rows of D with replacement           m = 1 … M
    T_m = tree grown on D_m, every node searching mtry features drawn anew
    F(x) = 1/M Σ T_m(x)          values, or the shares of the classes in x's leaf

With T_m of variance σ² and correlation ρ, the variance of F is ρσ² + (1 − ρ)σ²/M. Bagging leaves
the first term; fewer features a node make trees less alike (smaller ρ) and each a little worse.
A row is out of bag for about a share 1/e of the trees; their mean predicts it as if it were new.

Seeds, draws of rows and draws of features are scikit-learn's. So are the trees of classifiers
whose weights are integers, as those of a bootstrap are; with values, and with
``class_weight="balanced_subsample"``, rounding decides ties: ``parity="scikit-learn"`` follows
that too. Trees grow side by side in threads, and are the same for any number of threads.

Not here: several outputs, columns of categories.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from algorithms.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.forest.base_forest import FOREST_CONSTRAINTS, BaseForest
from algorithms.trees.cart import name_criterion
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl

BALANCED = ("balanced", "balanced_subsample")


class RandomForestClassifier(ClassifierMixin, BaseForest):
    """A random forest for classes; parameters are those of scikit-learn's class of this name.

    Parameters
    ----------
    n_estimators : int
        How many trees, M.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        Of each tree, see `DecisionTreeClassifier`.
    max_features, max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst, parity
        Of each tree, see `DecisionTreeClassifier`; ``max_features`` is mtry, by default the
        square root of the number of features.
    bootstrap : bool
        Whether each tree draws its rows; otherwise it gets all.
    oob_score : bool or callable
        Whether to predict each row by the trees that did not draw it, and to score that: by
        accuracy, or by ``oob_score(codes, predicted codes)``.
    n_jobs : int, optional
        Threads; None is one. The forest is the same for any number.
    random_state : int, RandomState, optional
        Decides the draws.
    verbose : int
        Above 1, a line a tree.
    warm_start : bool
        Whether a further fit adds trees to those there are.
    class_weight : dict, {"balanced", "balanced_subsample"}, optional
        Weight of each class, on top of sample weights; "balanced_subsample" balances the rows
        that each tree drew.
    max_samples : int or float, optional
        Rows drawn for each tree; a float is a share of all; by default as many as there are.

    Attributes
    ----------
    estimator_ : the tree, unfitted; estimators_ : the grown ones
    estimators_samples_ : list of int32 arrays, the rows drawn
    classes_ : (n_classes,) labels; n_classes_, n_features_in_, n_outputs_ : int
    feature_importances_ : float64 (n_features,)
    oob_score_ : float; oob_decision_function_ : float64 (n_rows, n_classes)
        Of rows out of bag; 0 where every tree drew the row.
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
        """Return class codes; keep the labels."""
        check_classification_targets(y)
        self.classes_, codes = code_classes(y)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _weigh(self, codes, weight):
        """Return the weights of rows times those of their classes, float64 (n_rows,), or None."""
        given = self.class_weight
        if given is None or (given == "balanced_subsample" and self.bootstrap):
            return weight
        if given in BALANCED:
            counts = np.bincount(codes, weights=weight)
            by_class = counts.sum() / (self.n_classes_ * counts)
            of_rows = by_class[codes]
        else:
            of_rows = weights_by_class(given, self.classes_[codes], may_be_negative=True)
        return of_rows if weight is None else weight * of_rows

    def _weigh_classes(self, codes, rows):
        """Return the weight of each row by its class among the rows that a tree drew."""
        if self.class_weight != "balanced_subsample":
            return 1.0
        return compute_sample_weight("balanced", codes, indices=rows)

    def _tell_classes(self, trees):
        """Tell the trees that their labels are codes."""
        for tree in trees:
            tree.classes_ = np.arange(self.n_classes_, dtype=np.float64)
            tree.n_classes_ = self.n_classes_

    def predict_proba(self, X):
        """Return the mean of the trees' shares of the classes, float64 (n_rows, n_classes)."""
        return self._predict(X)

    def predict(self, X):
        """Return the label with the largest mean share, the first if equal."""
        proba = self.predict_proba(X)
        return self.classes_.take(proba.argmax(axis=1))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`; -inf where it is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _score_out_of_bag(self, X, codes):
        """Write the shares out of bag, and their score."""
        self.oob_decision_function_ = self._predict_out_of_bag(X)
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = score(codes, self.oob_decision_function_.argmax(axis=1))


class RandomForestRegressor(RegressorMixin, BaseForest):
    """A random forest for values; parameters are those of scikit-learn's class of this name.

    Parameters and attributes are as in `RandomForestClassifier`, without those of classes;
    ``max_features`` is by default all. ``oob_prediction_``, float64 (n_rows,), is the mean over
    the trees that did not draw a row, ``oob_score_`` its R² unless a callable is given.
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
        """Return the weights of rows as they are."""
        return weight

    def _weigh_classes(self, *_):
        """Return 1: values have no classes."""
        return 1.0

    def _tell_classes(self, trees):
        """Leave the trees as they are: values have no classes."""

    def predict(self, X):
        """Return the mean of the trees' values, float64 (n_rows,)."""
        return self._predict(X)[:, 0]

    def _score_out_of_bag(self, X, y):
        """Write the values out of bag, and their score."""
        self.oob_prediction_ = self._predict_out_of_bag(X)[:, 0]
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(y, self.oob_prediction_)


def build(spec):
    """Return the forest of a harness spec."""
    forest = RandomForestClassifier if spec.task.is_classification else RandomForestRegressor
    return forest(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Offer the forest to the harness."""
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
            rungs={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1023/A:1010933404324",
            summary="random forest, grown side by side",
        )
    )
