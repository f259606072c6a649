"""Decision trees: CART.

Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

A tree parts the rows again and again, each time by the question x_f ≤ t that lessens the
impurity H of the two sides the most. With n the weight of a node's rows, N that of all, n_k the
weight of class k, and s, q the weighted sums of y and y²:

    gini               H = 1 − Σ (n_k / n)²
    entropy, log_loss  H = −Σ (n_k / n) log₂ (n_k / n)
    misclassification  H = 1 − max n_k / n
    squared_error      H = q / n − (s / n)²

    improvement = n / N · (H − n_L / n · H_L − n_R / n · H_R)

A leaf predicts the shares n_k / n of the classes, or the mean s / n. Every threshold between two
distinct values of every feature drawn is tried; t is the middle of the two. A missing value goes
to the side where it improves most; where training has none, to the side with more rows.

Columns are sorted once a fit, not in every node (docs/decisions/0001-exact-tree-grower.md).
Classifiers whose weights are integers grow scikit-learn's own trees from the same seed: sums are
exact, and draws, order of features and ties are the same. With other weights, and with values,
rounding decides ties, so trees may differ where two splits are equally good. With
``parity="scikit-learn"`` rows are sorted in every node and summed in that library's order: the
tree is then its own to the last bit, whatever the weights.

Criterion "gain_ratio" is Quinlan's (C4.5: Programs for Machine Learning, 1993; its release 8 of
1996). With H the entropy, each feature brings its threshold of the largest gain; of the features
whose gain is at least the mean gain of all that have a threshold, the one is taken with the
largest

    gain ratio  (H − n_L / n · H_L − n_R / n · H_R) / (−Σ n_S / n · log₂ (n_S / n)),   S = L, R

Splits are in two; what release 8 takes off the gain for the choice among thresholds is not.
"misclassification" (H = 1 − max n_k / n) is what a stump of the boosting literature minimises.

Criterion "absolute_error", H = min_m Σ w |y − m| / n with the weighted median m, is exact: running
medians by a Fenwick tree cost O(n log n) a feature and node. It and "poisson" sort rows in every
node, as scikit-learn does, and grow its own tree in either mode, at about its own speed.

A column of categories is split by subsets: the best of all is found, by all criteria that columns
are sorted for (`trees/kernels/category_order.py`), except where there are more than two classes and
a node has more than ten categories: there they are ordered along a principal component. Missing
values go to their own side; a category that the node did not see goes where more rows went. C4.5's
splits with a branch for each category are out of scope.

Not here: several outputs.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import check_classification_targets

from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes, codes_among
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.trees.base_tree import BaseDecisionTree
from algorithms.trees.cart import TREE_CONSTRAINTS, name_criterion
from algorithms.trees.grower import Target
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    """A decision tree for classes; parameters are those of scikit-learn's class of this name.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "gain_ratio", "misclassification"}
        Impurity H; "entropy" and "log_loss" are the same. The last two are not scikit-learn's, and
        cannot be had in parity mode.
    splitter : {"best", "random"}
        Whether a feature is asked its best threshold, or one that is drawn at random: then the
        tree is scikit-learn's own in either mode, and the last two criteria cannot be had.
    max_depth : int, optional
        Most questions on the way to a leaf.
    min_samples_split, min_samples_leaf : int or float
        Fewest rows of a node that is split, and of a leaf; a float is a share of all rows.
    min_weight_fraction_leaf : float
        Least share of the total weight in a leaf.
    max_features : int, float, {"sqrt", "log2"}, optional
        How many features a node draws; by default all.
    random_state : int, RandomState, optional
        Decides the order of the features, and so which of equal splits is taken.
    max_leaf_nodes : int, optional
        Most leaves; the tree is then grown best first.
    min_impurity_decrease : float
        Least improvement of a split.
    class_weight : dict, {"balanced"}, optional
        Weight of each class, on top of sample weights.
    ccp_alpha : float
        Price of a leaf, by which the grown tree is pruned.
    monotonic_cst : array-like of -1, 0, 1 (n_features,), optional
        Features whose larger values may only lower, or only raise, the share of the second class.
    categorical_features : {"from_dtype"} or array-like, optional
        Columns of categories, by number, by name or as a mask; "from_dtype": those of a frame
        whose dtype is categorical. Not in parity mode.
    n_jobs : int, optional
        Threads; None is one. The tree is the same for any number.
    parity : {"scikit-learn"}, optional
        Grow scikit-learn's own tree, to the order of its sums, in one thread; None is faster.

    Attributes
    ----------
    classes_ : (n_classes,) labels, sorted
    n_classes_, n_features_in_, n_outputs_, max_features_ : int
    feature_names_in_ : (n_features,) str, where X had names
    feature_importances_ : float64 (n_features,)
    categories_ : dict, number of each column of categories → index of its categories
    tree_ : the tree, with scikit-learn's names of arrays
    ensemble_ : harness.TreeEnsemble
    """

    __metadata_request__predict_proba: ClassVar = {"check_input": UNUSED}
    _parameter_constraints: ClassVar = {
        **TREE_CONSTRAINTS,
        "criterion": [
            StrOptions({"gini", "entropy", "log_loss", "gain_ratio", "misclassification"})
        ],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
        parity=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.parity = parity

    def _read_y(self, y):
        """Return class codes, in as few bytes as they need; keep the labels."""
        check_classification_targets(y)
        self.classes_, codes = code_classes(y)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.min_scalar_type(self.n_classes_ - 1))

    def _read_more_y(self, y):
        """Return the codes of labels seen in training; raise ValueError where one was not."""
        return codes_among(self.classes_, y, "y has labels that the tree was not grown on")

    def _target(self, codes, weight):
        """Return the codes with the weights of rows and of classes multiplied."""
        if self.class_weight is not None:
            given, labels, exact = self.class_weight, self.classes_[codes], self._sorts_in_nodes
            counted = weight if self.parity is None else None
            flags = {"may_be_negative": True, "may_vanish": exact}
            by_class = weights_by_class(given, labels, counted, **flags)
            weight = by_class if weight is None else weight * by_class
        if self._sorts_in_nodes and self.criterion in {"gain_ratio", "misclassification"}:
            told = "is not scikit-learn's: use parity=None and splitter='best'"
            raise ValueError(f"criterion='{self.criterion}' {told}")
        return Target(self.n_classes_, codes=codes, weight=weight)

    def predict_proba(self, X, check_input=True):
        """Return the shares of the classes in each row's leaf, float64 (n_rows, n_classes)."""
        return self._predict(X, check_input)

    def predict(self, X, check_input=True):
        """Return the label with the largest share, the first if equal, for each row."""
        proba = self.predict_proba(X, check_input)
        return self.classes_.take(proba.argmax(axis=1))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`; -inf where a class is absent."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):
    """A decision tree for values; parameters are those of scikit-learn's class of this name.

    Parameters and attributes are as in `DecisionTreeClassifier`, without those of classes;
    ``criterion`` is "squared_error" ("friedman_mse"), "absolute_error" or "poisson".
    """

    _parameter_constraints: ClassVar = {
        **TREE_CONSTRAINTS,
        "criterion": [StrOptions({"squared_error", "absolute_error", "poisson"})],
    }

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
        parity=None,
    ):
        self.criterion = name_criterion(criterion)
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.parity = parity

    def _read_y(self, y):
        """Return the values as float64."""
        return np.ascontiguousarray(y, np.float64)

    _read_more_y = _read_y

    def _target(self, y, weight):
        """Return the values with their weights; ValueError where Poisson's are not counts."""
        if self.criterion == "poisson" and np.any(y < 0):
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression."
            )
        if self.criterion == "poisson" and np.sum(y) <= 0:
            raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")
        return Target(0, y=y, weight=weight)

    def predict(self, X, check_input=True):
        """Return the mean of each row's leaf, float64 (n_rows,)."""
        return self._predict(X, check_input)[:, 0]


def build(spec):
    """Return the tree of a harness spec; those that sort in nodes read categories as numbers."""
    kind = DecisionTreeClassifier if spec.task.is_classification else DecisionTreeRegressor
    tree = kind(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)
    if spec.categorical and not tree._sorts_in_nodes:  # noqa: SLF001 - the package's own
        tree.categorical_features = list(spec.categorical)
    return tree


@hookimpl
def register_algorithms(register):
    """Offer the tree to the harness."""
    register(
        Algorithm(
            "decision_tree",
            estimator_adapter(build),
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True),
            estimators=(
                "algorithms.DecisionTreeClassifier",
                "algorithms.DecisionTreeRegressor",
            ),
            capacity={
                "depth": Argument("max_depth"),
                "leaves": Argument("max_leaf_nodes"),
                "min_samples": Argument("min_samples_leaf"),
            },
            space=search_spaces.TREE,
            variants=variants.TREE,
            reference="sklearn.decision_tree",
            rungs={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1201/9781315139470",
            summary="CART on columns that are sorted once",
        )
    )
