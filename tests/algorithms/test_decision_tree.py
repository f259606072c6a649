import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets, tree
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sktrees import FIELDS, difference

from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.trees import grower

BOTH = [DecisionTreeClassifier, DecisionTreeRegressor]
REFERENCE = {
    DecisionTreeClassifier: tree.DecisionTreeClassifier,
    DecisionTreeRegressor: tree.DecisionTreeRegressor,
}
LOADERS = [
    datasets.load_iris,
    datasets.load_wine,
    datasets.load_breast_cancer,
    datasets.load_digits,
]


@parametrize_with_checks([E() for E in BOTH])
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ the same trees


LIMITS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6)},
    optional={
        "criterion": st.sampled_from(["entropy", "log_loss"]),
        "max_depth": st.integers(1, 6),
        "max_features": st.sampled_from([1, "sqrt", "log2", 0.5]),
        "max_leaf_nodes": st.integers(2, 30),
        "min_samples_leaf": st.sampled_from([2, 5, 0.1]),
        "min_samples_split": st.sampled_from([5, 0.2]),
        "min_weight_fraction_leaf": st.sampled_from([0.05, 0.2]),
        "min_impurity_decrease": st.sampled_from([0.001, 0.02]),
        "ccp_alpha": st.sampled_from([0.001, 0.02, 0.1]),
    },
)


def classes_of(rng, X, k):
    """Return class codes: noise, or a coarse function of the first column."""
    if rng.random() < 0.5:
        return rng.integers(0, k, len(X))
    return np.nan_to_num(X[:, 0] * 3).astype(np.int64) % k


@given(
    seed=seeds,
    limits=LIMITS,
    n=st.integers(2, 200),
    k=st.sampled_from([1, 2, 2, 3, 10]),
    missing=st.sampled_from([0.0, 0.0, 0.3]),
    weighted=st.booleans(),
)
def test_classifier_trees_equal_scikit_learn(seed, limits, n, k, missing, weighted):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 8)), missing)
    y = classes_of(rng, X, k)
    weight = np.append(rng.integers(0, 4, n - 1), 1.0) if weighted else None
    if k == 2 and rng.random() < 0.3:
        limits = {**limits, "monotonic_cst": rng.integers(-1, 2, X.shape[1])}
    ours = DecisionTreeClassifier(**limits).fit(X, y, sample_weight=weight)
    theirs = tree.DecisionTreeClassifier(**limits).fit(X, y, sample_weight=weight)
    assert difference(ours, theirs) == ""
    new = table(rng, 20, X.shape[1], missing)
    assert np.array_equal(ours.predict_proba(new), theirs.predict_proba(new))
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    assert np.array_equal(ours.apply(new), theirs.apply(new))
    assert (ours.decision_path(new) != theirs.decision_path(new)).nnz == 0
    assert np.array_equal(ours.feature_importances_, theirs.feature_importances_)
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())


@given(seed=seeds, limits=LIMITS, n=st.integers(2, 100), monotonic=st.booleans())
def test_regressor_trees_equal_scikit_learn_when_sums_are_exact(seed, limits, n, monotonic):
    """Integer values and weights: no sum is rounded, so rounding decides no tie."""
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 8)), missing=0.2)
    y = rng.integers(-50, 50, n).astype(float)
    weight = np.append(rng.integers(0, 4, n - 1), 1.0)
    limits = {k: v for k, v in limits.items() if k not in {"criterion", "ccp_alpha"}}
    if monotonic:
        limits["monotonic_cst"] = rng.integers(-1, 2, X.shape[1])
    ours = DecisionTreeRegressor(**limits).fit(X, y, sample_weight=weight)
    theirs = tree.DecisionTreeRegressor(**limits).fit(X, y, sample_weight=weight)
    assert difference(ours, theirs) == ""
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_equal_scikit_learn_on_real_data(load, criterion):
    X, y = load(return_X_y=True)
    for limits in ({}, {"max_features": "sqrt"}, {"max_leaf_nodes": 10}):
        given_both = {"criterion": criterion, "random_state": 7, **limits}
        ours = DecisionTreeClassifier(**given_both).fit(X, y)
        assert difference(ours, tree.DecisionTreeClassifier(**given_both).fit(X, y)) == ""


def first_difference(ours, theirs):
    """Return the first node, depth first, where the splits of two trees differ, or None."""
    a, b = ours.tree_, theirs.tree_
    waiting = [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        leaf = a.children_left[i] < 0, b.children_left[j] < 0
        if leaf[0] != leaf[1] or (a.feature[i], a.threshold[i]) != (b.feature[j], b.threshold[j]):
            return i, j
        if not leaf[0]:
            waiting += [(a.children_left[i], b.children_left[j])]
            waiting += [(a.children_right[i], b.children_right[j])]
    return None


def gain(fitted, node):
    t = fitted.tree_
    if t.children_left[node] < 0:
        return 0.0
    spread = t.weighted_n_node_samples * t.impurity
    return spread[node] - spread[t.children_left[node]] - spread[t.children_right[node]]


@given(seed=seeds, classes=st.booleans())
def test_trees_differ_from_scikit_learn_only_at_ties(seed, classes):
    rng = np.random.default_rng(seed)
    X = table(rng, 150, 6)
    y = rng.integers(0, 3, 150) if classes else rng.normal(size=150)
    weight = rng.uniform(0.1, 2.0, 150)
    ours = BOTH[not classes](random_state=0).fit(X, y, sample_weight=weight)
    theirs = REFERENCE[type(ours)](random_state=0).fit(X, y, sample_weight=weight)
    parting = first_difference(ours, theirs)
    if parting:
        scale = ours.tree_.weighted_n_node_samples[0] * ours.tree_.impurity[0]
        assert gain(ours, parting[0]) == pytest.approx(gain(theirs, parting[1]), abs=1e-9 * scale)


def test_class_weights_and_sample_weights_multiply():
    X, y = datasets.load_wine(return_X_y=True)
    weight = 1.0 + np.arange(len(y)) % 3
    for class_weight in ({0: 2, 1: 1, 2: 3}, "balanced"):
        limits = {"class_weight": class_weight, "random_state": 0, "max_depth": 2}
        ours = DecisionTreeClassifier(**limits).fit(X, y, sample_weight=weight)
        theirs = tree.DecisionTreeClassifier(**limits).fit(X, y, sample_weight=weight)
        assert ours.tree_.feature.tolist() == theirs.tree_.feature.tolist()
        assert ours.tree_.value == pytest.approx(theirs.tree_.value)


def test_pruning_path_equals_scikit_learn():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    ours = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
    theirs = tree.DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
    assert np.array_equal(ours.ccp_alphas, theirs.ccp_alphas)
    assert np.array_equal(ours.impurities, theirs.impurities)


# ------------------------------------------------------------------ properties


@given(seed=seeds, classes=st.booleans(), threads=st.integers(2, 3), best_first=st.booleans())
@settings(max_examples=25)
def test_any_number_of_threads_gives_the_same_bits(seed, classes, threads, best_first):
    rng = np.random.default_rng(seed)
    X = table(rng, 300, 5, missing=0.3)
    y = rng.integers(0, 3, 300) if classes else rng.normal(size=300)
    limits = {"random_state": 1, "max_leaf_nodes": 40 if best_first else None}
    alone = BOTH[not classes](**limits).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grower, "BIG", 100)  # so that nodes of 21 rows are shared among threads
        shared = BOTH[not classes](n_jobs=threads, **limits).fit(X, y)
    assert difference(alone, shared) == ""


@given(seed=seeds)
@settings(max_examples=25)
def test_row_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = table(rng, 100, 4)
    y = rng.integers(0, 3, 100)
    order = rng.permutation(100)
    ours = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert difference(ours, DecisionTreeClassifier(random_state=0).fit(X[order], y[order])) == ""


@given(seed=seeds, criterion=st.sampled_from(["gini", "entropy"]))
@settings(max_examples=25)
def test_weight_of_three_equals_three_rows(seed, criterion):
    rng = np.random.default_rng(seed)
    X = table(rng, 60, 4)
    y = rng.integers(0, 3, 60)
    weight = rng.integers(0, 4, 60)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight).tree_
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).tree_
    for name in FIELDS:
        if name != "n_node_samples":
            assert np.array_equal(getattr(weighted, name), getattr(repeated, name)), name


@given(seed=seeds)
@settings(max_examples=25)
def test_only_the_order_of_values_matters(seed):
    """A strictly increasing map of a feature keeps the partition of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 20, (100, 3)).astype(float)
    y = rng.integers(0, 2, 100)
    mapped = X.copy()
    mapped[:, 0] = X[:, 0] ** 3 / 100 + X[:, 0]
    plain = DecisionTreeClassifier(random_state=0).fit(X, y)
    other = DecisionTreeClassifier(random_state=0).fit(mapped, y)
    assert plain.tree_.feature.tolist() == other.tree_.feature.tolist()
    assert plain.apply(X).tolist() == other.apply(mapped).tolist()


# ------------------------------------------------------------------ inputs and outputs


@pytest.mark.parametrize("estimator", BOTH)
def test_frames_give_column_names_and_the_same_tree(estimator):
    X, y = datasets.load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    plain = estimator(random_state=0).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        ours = estimator(random_state=0).fit(frame, y)
        assert difference(ours, plain) == ""
        assert ours.feature_names_in_.tolist() == names
        assert np.array_equal(ours.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, bool, np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_dtype_and_memory_order(dtype, order):
    X, y = datasets.load_digits(return_X_y=True)
    X = np.asarray(X[:200], dtype, order=order)
    ours = DecisionTreeClassifier(random_state=0).fit(X, y[:200])
    theirs = tree.DecisionTreeClassifier(random_state=0).fit(X, y[:200])
    assert difference(ours, theirs) == ""


@pytest.mark.parametrize("labels", [["no", "yes"], [-1.0, 1.0], [False, True], [7, 3]])
def test_labels_of_any_type(labels):
    y = np.array(labels)[[0, 1, 1, 0]]
    model = DecisionTreeClassifier().fit([[0], [1], [2], [3]], y)
    assert model.predict([[0], [1]]).tolist() == y[:2].tolist()
    assert model.classes_.tolist() == sorted(labels)


BAD = [
    ({"max_depth": 0}, None),
    ({"min_samples_leaf": 1.5}, None),
    ({"max_features": "all"}, None),
    ({"criterion": "unheard"}, None),
    ({"splitter": "worst"}, None),
    ({"ccp_alpha": -1.0}, None),
    ({"max_leaf_nodes": 1}, None),
    ({"monotonic_cst": [0]}, "monotonic_cst has shape 1"),
    ({"monotonic_cst": [2, 0, 0, 0]}, "array-like of -1, 0 or 1"),
]


@pytest.mark.parametrize(("params", "text"), BAD)
@pytest.mark.parametrize("estimator", BOTH)
def test_invalid_parameters_raise_scikit_learn_errors(params, text, estimator):
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=text or "parameter") as ours:
        estimator(**params).fit(X, y % 2)
    with pytest.raises(ValueError, match=text or "parameter") as theirs:
        REFERENCE[estimator](**params).fit(X, y % 2)
    assert type(ours.value) is type(theirs.value)


def test_monotonic_constraints_need_two_classes():
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)


@pytest.mark.parametrize("estimator", BOTH)
def test_invalid_data_raises_scikit_learn_errors(estimator):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    model = estimator()
    for bad, text in (
        (np.full((4, 2), np.inf), "infinity"),
        (np.full((4, 2), 1e300), r"too large for dtype\('float32'\)"),
        (np.full((4, 2), "x"), "could not convert string to float|dtype='numeric'"),
        (X[:3], "inconsistent numbers of samples"),
        (X[0], "Expected 2D array"),
        (X[:0], "minimum of 1 is required|inconsistent"),
    ):
        with pytest.raises(ValueError, match=text):
            model.fit(bad, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(X, [0, 1, np.nan, 1])
    with pytest.raises(ValueError, match=r"sample_weight\.shape"):
        model.fit(X, y, sample_weight=[1.0])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((4, 2), -np.inf))


def test_classifier_refuses_continuous_targets():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        DecisionTreeClassifier().fit([[0], [1], [2]], [0.1, 0.2, 0.3])


def test_one_row_and_one_class():
    assert DecisionTreeClassifier().fit([[3.0]], ["a"]).predict_proba([[1.0]]).tolist() == [[1.0]]
    assert DecisionTreeRegressor().fit([[3.0]], [5]).predict([[1.0]]).tolist() == [5.0]


@pytest.mark.parametrize("estimator", BOTH)
def test_pickle_and_check_input_false_give_the_same_result(estimator):
    X, y = datasets.load_iris(return_X_y=True)
    model = estimator(random_state=0, max_depth=3).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    bare = estimator(random_state=0, max_depth=3).fit(X, y, check_input=False)
    assert difference(bare, model) == ""
    X32 = X.astype(np.float32)
    assert np.array_equal(bare.predict(X32, check_input=False), model.predict(X))


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("missing", [False, True])
def test_exported_trees_predict_the_same(estimator, missing):
    X, y = datasets.load_wine(return_X_y=True)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = estimator(random_state=0).fit(X, y)
    common = model.ensemble_
    expected = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    assert np.array_equal(common.predict(X), expected)
    assert np.array_equal(common.leaves(X)[:, 0], model.apply(X))
    assert common.classes == ((0, 1, 2) if hasattr(model, "classes_") else ())
    assert common.gain.sum() > 0


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("weight", [None, np.ones(178), np.arange(178) % 4, np.full(178, 0.3)])
def test_inputs_are_not_modified(estimator, weight):
    X, y = datasets.load_wine(return_X_y=True)
    arrays = [X, y, y.astype(float), *([] if weight is None else [weight])]
    before = [a.copy() for a in arrays]
    for target in arrays[1:3]:
        estimator(random_state=0).fit(X, target, sample_weight=weight)
    for array, kept in zip(arrays, before, strict=True):
        assert np.array_equal(array, kept)
        array.flags.writeable = False
    estimator(random_state=0).fit(X, y, sample_weight=weight)


def test_works_in_pipelines_and_searches():
    X, y = datasets.load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"decisiontreeclassifier__max_depth": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"decisiontreeclassifier__max_depth": 3}
    assert search.score(X, y) > 0.9


def test_names_and_defaults_equal_scikit_learn():
    more = dict.fromkeys(["categorical_features", "n_jobs", "parity"])
    for ours, theirs in REFERENCE.items():
        assert ours().get_params() == {**theirs().get_params(), **more}


def test_estimator_loads_only_its_own_file():
    code = (
        "import sys; from algorithms import DecisionTreeClassifier;"
        "print('algorithms.decision_tree' in sys.modules, 'algorithms.bagging' in sys.modules,"
        "'harness.trees.ensemble' in sys.modules, 'sklearn.ensemble' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False", "False"]


def test_unknown_name_is_reported():
    import algorithms

    with pytest.raises(AttributeError, match="no attribute 'DecisionForest'"):
        algorithms.DecisionForest  # noqa: B018 - asking for it is the test
    assert "DecisionTreeRegressor" in dir(algorithms)


def test_threads_of_a_node_choose_the_same_perfect_split():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 70_000)
    X = np.column_stack([y + 0.2 * rng.random(len(y)), 3 * y + rng.random(len(y))])
    for seed in range(5):
        weight = np.random.default_rng(seed).random(len(y))
        one, two = (
            DecisionTreeClassifier(random_state=0, n_jobs=n).fit(X, y, weight) for n in (1, 2)
        )
        assert difference(one, two) == ""


def test_one_class_with_a_monotonic_constraint_is_a_leaf():
    model = DecisionTreeClassifier(monotonic_cst=[1]).fit([[1.0], [2.0]], ["a", "a"])
    assert model.predict([[0.0]]).tolist() == ["a"]


def test_class_weights_of_zero_only_are_refused():
    with pytest.raises(ValueError, match="at least one non-zero"):
        DecisionTreeClassifier(class_weight={0: 0.0, 1: 0.0}).fit([[0.0], [1.0]], [0, 1])
