"""Decision trees: CART.

Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.

A tree splits the rows recursively. Each node takes the split x_f ≤ t that reduces the impurity H
the most. With n the weight of a node's rows, N the weight of all rows, n_k the weight of class k,
and s, q the weighted sums of y and y²:

    gini               H = 1 − Σ (n_k / n)²
    entropy, log_loss  H = −Σ (n_k / n) log₂ (n_k / n)
    misclassification  H = 1 − max n_k / n
    squared_error      H = q / n − (s / n)²

    improvement = n / N · (H − n_L / n · H_L − n_R / n · H_R)

A leaf predicts the class shares n_k / n, or the mean s / n. Every threshold between two distinct
values of every sampled feature is tried; t is the midpoint of the two values. Missing values go to
the side that improves the split most. If training has none, they go to the side with more rows.

Columns are sorted once per fit, not in every node (docs/decisions/0001-exact-tree-grower.md).
A classifier with integer weights builds the same tree as scikit-learn from the same seed: the sums
are exact, and the random draws, the feature order and the ties are the same. With other weights,
and in regression, rounding decides ties, so trees may differ where two splits are equally good.
``parity="scikit-learn"`` sorts rows in every node and sums in scikit-learn's order: the tree then
equals scikit-learn's bit for bit, with any weights.

Criterion "gain_ratio" is Quinlan's (C4.5: Programs for Machine Learning, 1993; its release 8 of
1996). H is the entropy. Each feature proposes its threshold with the largest gain. Of the features
whose gain is at least the mean gain of all features with a threshold, the split is the one with
the largest

    gain ratio  (H − n_L / n · H_L − n_R / n · H_R) / (−Σ n_S / n · log₂ (n_S / n)),   S = L, R

All splits are binary. The correction of the gain for the number of thresholds in release 8 is not
implemented. "misclassification" (H = 1 − max n_k / n) is the criterion of stumps in the boosting
literature.

Criterion "absolute_error", H = min_m Σ w |y − m| / n with the weighted median m, is exact: running
medians from a Fenwick tree cost O(n log n) per feature and node. This criterion and "poisson" sort
rows in every node, as scikit-learn does, and build scikit-learn's tree in either mode, at about
scikit-learn's speed.

A categorical column is split by subsets. The best subset is found for all criteria that use
presorted columns (`trees/kernels/category_order.py`), with one exception: with more than two
classes and more than ten categories in a node, categories are ordered along a principal component.
Missing values go to their own side. A category that the node did not contain in training goes to
the side with more rows. C4.5's splits with one branch per category are not supported.

With several outputs, y of shape (n, k), one tree predicts all of them: H is the mean of the
impurities of the outputs, and a leaf has class shares or a mean for each output. Such a tree sorts
rows in every node and equals scikit-learn's bit for bit in either mode, except that weights and
regression targets of unusual units are rescaled without ``parity``. Criteria that scikit-learn does
not have, monotonicity constraints and categorical columns need one output.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import check_classification_targets

from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import code_classes, codes_among
from algorithms.estimator.outputs import (
    code_outputs,
    labels_of,
    log_shares,
    most_likely,
    split_shares,
)
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.trees.base_tree import BaseDecisionTree
from algorithms.trees.cart import TREE_CONSTRAINTS, name_criterion
from algorithms.trees.grower import Target
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    """A decision tree classifier with the parameters of scikit-learn's class of the same name.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "gain_ratio", "misclassification"}
        Impurity H. "entropy" and "log_loss" are the same. "gain_ratio" and "misclassification" do
        not exist in scikit-learn and cannot be used in parity mode.
    splitter : {"best", "random"}
        "best" searches every threshold of a feature. "random" draws one threshold per feature: the
        tree then equals scikit-learn's in either mode, and "gain_ratio" and "misclassification"
        cannot be used.
    max_depth : int, optional
        Maximum depth of the tree.
    min_samples_split : int or float
        Minimum number of rows in a node that is split; a float is a share of all rows.
    min_samples_leaf : int or float
        Minimum number of rows in a leaf; a float is a share of all rows.
    min_weight_fraction_leaf : float
        Minimum share of the total weight in a leaf.
    max_features : int, float, {"sqrt", "log2"}, optional
        Number of features sampled in each node; by default all.
    random_state : int, RandomState, optional
        Seed of the feature order, which decides between equally good splits.
    max_leaf_nodes : int, optional
        Maximum number of leaves; if set, the tree grows best first.
    min_impurity_decrease : float
        Minimum improvement of a split.
    class_weight : dict, {"balanced"}, optional
        Weight of each class, multiplied with the sample weights.
    ccp_alpha : float
        Penalty per leaf for cost-complexity pruning of the grown tree.
    monotonic_cst : array-like of -1, 0, 1 (n_features,), optional
        Monotonicity of each feature: with larger values the share of the second class may only
        fall (-1) or only rise (1).
    categorical_features : {"from_dtype"} or array-like, optional
        Categorical columns, given by index, by name or as a mask. "from_dtype" takes the columns of
        a frame with a categorical dtype. Not supported in parity mode.
    n_jobs : int, optional
        Number of threads; None means one. The tree is the same for any number.
    parity : {"scikit-learn"}, optional
        Build exactly scikit-learn's tree, with its order of summation, in one thread. None is
        faster.

    Attributes
    ----------
    classes_ : (n_classes,) labels, sorted; a list of such arrays with several outputs
    n_classes_ : int, or int64 (n_outputs,) with several outputs
    n_features_in_ : int
    n_outputs_ : int
    max_features_ : int
    feature_names_in_ : (n_features,) str
        Only if X had column names.
    feature_importances_ : float64 (n_features,)
    categories_ : dict, index of each categorical column → pandas index of its categories
    tree_ : the tree, with scikit-learn's array names
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
        """Return class codes in the smallest unsigned dtype that holds them; store the labels."""
        check_classification_targets(y)
        if y.ndim > 1:
            self.classes_, codes = code_outputs(y)
            self.n_classes_ = np.array([len(labels) for labels in self.classes_])
        else:
            self.classes_, codes = code_classes(y)
            self.n_classes_ = len(self.classes_)
        return codes.astype(np.min_scalar_type(np.max(self.n_classes_) - 1))

    def _read_more_y(self, y):
        """Return the codes of labels seen in training; raise ValueError for an unknown label."""
        return codes_among(self.classes_, y, "y has labels that the tree was not trained on")

    def _target(self, codes, weight):
        """Return the codes, with sample weights multiplied by class weights."""
        sorts_in_nodes = self._sorts_in_nodes or codes.ndim > 1
        if self.class_weight is not None:
            given, labels = self.class_weight, labels_of(self.classes_, codes)
            exact = sorts_in_nodes
            counted = weight if self.parity is None else None
            flags = {"may_be_negative": True, "may_vanish": exact}
            by_class = weights_by_class(given, labels, counted, **flags)
            weight = by_class if weight is None else weight * by_class
        if sorts_in_nodes and self.criterion in {"gain_ratio", "misclassification"}:
            advice = "is not scikit-learn's: use parity=None, splitter='best' and one output"
            raise ValueError(f"criterion='{self.criterion}' {advice}")
        return Target(int(np.max(self.n_classes_)), codes=codes, weight=weight)

    def predict_proba(self, X, check_input=True):
        """Return the shares of the classes in each row's leaf, float64 (n_rows, n_classes).

        With several outputs the result is a list with an array for each output.
        """
        values = self._predict(X, check_input)
        return values if self.n_outputs_ == 1 else split_shares(values, self.n_classes_)

    def predict(self, X, check_input=True):
        """Return the label with the largest share of each row; the first one if equal.

        The result is (n_rows,), or (n_rows, n_outputs) with several outputs.
        """
        leaves, values = self.apply(X, check_input), self.tree_.values
        if self.n_outputs_ > 1:
            shares = split_shares(values.take(leaves, axis=0), self.n_classes_)
            return most_likely(shares, self.classes_)
        if len(leaves) > len(values):  # NumPy's argmax over a few classes is slow
            return self.classes_.take(values.argmax(axis=1).take(leaves))
        return self.classes_.take(values.take(leaves, axis=0).argmax(axis=1))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`; -inf where a class has share 0."""
        return log_shares(self.predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):
    """A decision tree regressor with the parameters of scikit-learn's class of the same name.

    Parameters and attributes are as in `DecisionTreeClassifier`, without those of classes.
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
        """Return the values with their weights; raise ValueError if y is invalid for "poisson"."""
        if self.criterion == "poisson" and np.any(y < 0):
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression."
            )
        if self.criterion == "poisson" and np.sum(y) <= 0:
            raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")
        return Target(0, y=y, weight=weight)

    def predict(self, X, check_input=True):
        """Return the leaf mean of each row, float64 (n_rows,) or (n_rows, n_outputs)."""
        values = self._predict(X, check_input)
        return values[:, 0] if self.n_outputs_ == 1 else values


def build(spec):
    """Return the tree of a harness spec; trees that sort in nodes read categories as numbers."""
    kind = DecisionTreeClassifier if spec.task.is_classification else DecisionTreeRegressor
    tree = kind(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)
    if spec.categorical and not tree._sorts_in_nodes:  # noqa: SLF001 - the package's own
        tree.categorical_features = list(spec.categorical)
    return tree


@hookimpl
def register_algorithms(register):
    """Register the tree with the harness."""
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
            parity_levels={"default": "L0", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1201/9781315139470",
            summary="CART on columns that are sorted once",
        )
    )
