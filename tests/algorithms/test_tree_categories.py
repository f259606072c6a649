"""Tests of decision trees with categorical splits."""

import pickle

import numpy as np
import oracles
import oracles_categories as categorical_oracles
import pandas as pd
import polars as pl
import pytest
from columns import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

CLASSES = ["gini", "entropy", "misclassification"]


def category(rng, n, k, missing=0.0):
    """Return a column of up to k codes in random order."""
    codes = rng.permutation(k)[rng.integers(0, k, n)].astype(float)
    codes[rng.random(n) < missing] = np.nan
    return codes


def weights_of(rng, n, kind):
    """Return weights that are integers, fractions or 1."""
    drawn = {
        "unit": lambda: np.ones(n),
        "whole": lambda: rng.integers(1, 5, n).astype(float),
        "real": lambda: rng.uniform(0.1, 3.0, n),
    }
    return drawn[kind]()


def tree_of(criterion, **params):
    """Return an unfitted classifier or regressor with the criterion."""
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    return kind(criterion=criterion, random_state=0, **params)


def codes_left(grown, codes, node=0):
    """Return the codes that go left at a node."""
    chosen, to_left = grown.sets[node]
    missing = np.isnan(codes)
    return np.where(missing, grown.missing_go_to_left[node], np.isin(codes, chosen) == to_left)


@given(
    seed=seeds,
    n=st.integers(2, 60),
    k=st.integers(1, 7),
    n_classes=st.integers(2, 4),
    criterion=st.sampled_from([*CLASSES, "gain_ratio", "squared_error"]),
    kind=st.sampled_from(["unit", "whole", "real"]),
    missing=st.sampled_from([0.0, 0.0, 0.3]),
)
def test_no_category_subset_is_better(seed, n, k, n_classes, criterion, kind, missing):
    rng = np.random.default_rng(seed)
    x, w = category(rng, n, k, missing), weights_of(rng, n, kind)
    y = rng.normal(size=n) if criterion == "squared_error" else rng.integers(0, n_classes, n)
    tree = tree_of(criterion, max_depth=1, categorical_features=[0])
    grown = tree.fit(x[:, None], y, sample_weight=w).tree_
    criterion = "entropy" if criterion == "gain_ratio" else criterion  # of one column, the gain
    best = categorical_oracles.best_decrease(criterion, x, y, w)
    if oracles.impurity(criterion, y, w) <= 1e-12:
        best = None
    if best is not None and best <= 1e-9 * w.sum():
        return  # zero gain: rounding decides whether it is a split
    assert (grown.node_count == 3) == (best is not None)
    if best is not None:
        codes = np.searchsorted(tree.categories_[0], x).astype(float)
        codes[np.isnan(x)] = np.nan
        left = codes_left(grown, codes)
        assert 0 < left.sum() < n
        result = oracles.decrease(criterion, y, w, left)
        assert result == pytest.approx(best, rel=1e-9, abs=1e-9 * w.sum())


@given(seed=seeds, k=st.integers(2, 7), missing=st.booleans())
@settings(max_examples=40)
def test_few_categories_of_many_classes_respect_the_limits(seed, k, missing):
    rng = np.random.default_rng(seed)
    n = 60
    x, w, y = category(rng, n, k, 0.2 * missing), rng.uniform(0.5, 2.0, n), rng.integers(0, 3, n)
    limits = {"min_samples_leaf": 12, "min_weight_fraction_leaf": 0.25}
    tree = DecisionTreeClassifier(max_depth=1, categorical_features=[0], **limits)
    grown = tree.fit(x[:, None], y, sample_weight=w).tree_
    best = categorical_oracles.best_decrease("gini", x, y, w, 12, 0.25 * w.sum())
    assert (grown.node_count == 3) == (best is not None)
    if best is not None:
        spread = grown.impurity * grown.weighted_n_node_samples
        gained = spread[0] - spread[1] - spread[2]
        assert gained == pytest.approx(best, rel=1e-9)


def test_many_categories_of_many_classes_use_the_principal_component():
    rng = np.random.default_rng(3)
    n, k = 4000, 30
    x = rng.integers(0, k, n)
    shares = rng.dirichlet([0.6, 0.6, 0.6], k)
    y = np.array([rng.choice(3, p=shares[code]) for code in x])
    tree = DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(x[:, None], y)
    counts = np.array([np.bincount(y[x == code], minlength=3) for code in range(k)])
    seen = counts / counts.sum(axis=1, keepdims=True)
    order = np.argsort(
        seen @ categorical_oracles.principal_axis(seen, counts.sum(axis=1).astype(float))
    )
    tried = [
        oracles.decrease("gini", y, np.ones(n), np.isin(x, order[:cut])) for cut in range(1, k)
    ]
    spread = tree.tree_.impurity * tree.tree_.weighted_n_node_samples
    assert spread[0] - spread[1] - spread[2] == pytest.approx(max(tried), rel=1e-12)


def mixed(rng, n, missing=0.0):
    """Return X with two categorical columns among numeric ones."""
    X = rng.normal(size=(n, 4))
    X[:, 1], X[:, 3] = category(rng, n, 6, missing), category(rng, n, 40, missing)
    X[rng.random(n) < missing, 0] = np.nan
    return X


@given(
    seed=seeds,
    criterion=st.sampled_from([*CLASSES, "gain_ratio", "squared_error"]),
    limits=st.fixed_dictionaries(
        {},
        optional={
            "max_leaf_nodes": st.integers(2, 30),
            "max_depth": st.integers(1, 6),
            "max_features": st.sampled_from([1, 2]),
            "min_samples_leaf": st.sampled_from([3, 10]),
            "ccp_alpha": st.sampled_from([0.001, 0.02]),
        },
    ),
    missing=st.sampled_from([0.0, 0.2]),
)
def test_rows_reach_the_nodes_that_counted_them(seed, criterion, limits, missing):
    rng = np.random.default_rng(seed)
    X = mixed(rng, 150, missing)
    signal = np.nan_to_num(X[:, 1]) % 2 + (np.nan_to_num(X[:, 0]) > 0)
    values = criterion == "squared_error"
    y = signal + rng.normal(size=150) if values else (signal + rng.integers(0, 2, 150)).astype(int)
    model = tree_of(criterion, categorical_features=[1, 3], **limits).fit(X, y)
    grown, coded = model.tree_, X.copy()
    for j, known in model.categories_.items():
        coded[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.searchsorted(known, X[:, j]))
    leaves = model.apply(X)
    assert leaves.tolist() == [categorical_oracles.find_leaf(grown, x) for x in coded]
    assert np.array_equal(model.decision_path(X).sum(axis=0), grown.n_node_samples)
    message = model.predict(X) if values else model.predict_proba(X)
    assert np.array_equal(model.ensemble_.predict(coded), message)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).apply(X), leaves)
    in_use = {int(grown.feature[node]) for node in grown.sets}
    results = set(grown.feature[grown.children_left >= 0].tolist())
    assert in_use == results & {1, 3}


@pytest.mark.parametrize("threads", [2, 4])
def test_tree_does_not_depend_on_threads(threads, monkeypatch):
    monkeypatch.setattr("algorithms.trees.grower.BIG", 64)
    rng = np.random.default_rng(1)
    X, y = mixed(rng, 600, 0.1), rng.integers(0, 3, 600)
    one, more = (
        DecisionTreeClassifier(categorical_features=[1, 3], random_state=0, n_jobs=n).fit(X, y)
        for n in (1, threads)
    )
    assert np.array_equal(one.tree_.nodes, more.tree_.nodes)
    assert one.tree_.sets.keys() == more.tree_.sets.keys()
    assert np.array_equal(one.apply(X), more.apply(X))


def test_numeric_columns_grow_the_same_tree_without_categories():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    X = np.column_stack([X, np.zeros(300)])
    plain = DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    beside = DecisionTreeClassifier(random_state=0, categorical_features=[3]).fit(X, y).tree_
    assert np.array_equal(plain.nodes, beside.nodes)


# ------------------------------------------------------------------ forms of X


FRUIT = ["fig", "apple", None, "kiwi", "fig", "apple", "kiwi", "fig"]
LABELS = [0, 1, 0, 1, 0, 1, 1, 0]


def test_categories_are_chosen_by_dtype_name_and_index():
    X = pd.DataFrame({"size": np.arange(8.0), "fruit": pd.Categorical(FRUIT)})
    messages = [
        DecisionTreeClassifier(categorical_features=expected, random_state=0).fit(X, LABELS)
        for expected in ("from_dtype", ["fruit"], [1], [False, True])
    ]
    for model in messages:
        assert model.categories_.keys() == {1}
        assert model.categories_[1].tolist() == ["apple", "fig", "kiwi"]
        assert model.predict(X).tolist() == LABELS
    text = X.astype({"fruit": object})
    model = DecisionTreeClassifier(categorical_features=["fruit"]).fit(text, LABELS)
    assert model.predict(text).tolist() == model.predict(X).tolist() == LABELS
    arrays = DecisionTreeClassifier(categorical_features=[1]).fit(text.to_numpy(), LABELS)
    assert arrays.predict(text.to_numpy()).tolist() == LABELS


def test_polars_frames_are_read():
    X = pl.DataFrame({"size": np.arange(8.0), "fruit": pl.Series(FRUIT, dtype=pl.Categorical)})
    model = DecisionTreeClassifier(categorical_features="from_dtype").fit(X, LABELS)
    assert model.categories_[1].tolist() == ["apple", "fig", "kiwi"]
    assert model.predict(X).tolist() == LABELS


def test_frame_without_categories_grows_the_plain_tree():
    X = pd.DataFrame({"a": np.arange(8.0)})
    model = DecisionTreeClassifier(categorical_features="from_dtype").fit(X, LABELS)
    assert model.categories_ == {}
    assert model.predict(X).tolist() == LABELS


def test_unseen_categories_go_where_more_rows_went():
    x = np.array(["a"] * 5 + ["b"] * 2 + ["c"] * 3, dtype=object)[:, None]
    y = [0] * 5 + [1] * 2 + [0] * 3
    model = DecisionTreeClassifier(categorical_features=[0]).fit(x, y)
    new = np.array([["new"], [None], ["b"]], dtype=object)
    assert model.predict(new).tolist() == [0, 0, 1]


def test_missing_values_have_their_own_direction():
    x = np.array(["a", "b", "c", None] * 5, dtype=object)[:, None]
    y = [0, 1, 0, 1] * 5
    model = DecisionTreeClassifier(categorical_features=[0], max_depth=1).fit(x, y)
    assert model.score(x, y) == 1.0


def test_categories_are_named_in_text_and_plot():
    x = np.array([["fig"], ["apple"], ["kiwi"], ["plum"], ["plum"]], dtype=object)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(x, [0, 1, 1, 0, 0])
    assert model.export_text(["fruit"]) == (
        "|--- fruit not in {apple, kiwi}\n|   |--- class: 0\n"
        "|--- fruit in {apple, kiwi}\n|   |--- class: 1\n"
    )
    assert "{apple, kiwi}" in model.draw(["fruit"])
    long = np.array([[f"category {i}"] for i in range(9)], dtype=object)
    drawn = DecisionTreeRegressor(categorical_features=[0], max_depth=1).fit(long, range(9)).draw()
    assert "…}" in drawn


def test_reduced_error_pruning_keeps_category_sets():
    rng = np.random.default_rng(2)
    X, y = mixed(rng, 300), rng.integers(0, 2, 300)
    y[X[:, 1] > 2] = 1
    model = DecisionTreeClassifier(categorical_features=[1, 3], random_state=0).fit(
        X[:200], y[:200]
    )
    full = model.tree_.node_count
    model.prune_by_error(X[200:], y[200:])
    assert 1 < model.tree_.node_count < full
    assert model.tree_.sets
    path = model.decision_path(X).toarray()
    assert np.array_equal(path.sum(axis=1), model.tree_.compute_node_depths()[model.apply(X)])


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"categorical_features": [2]}, "neither a name nor a number"),
        ({"categorical_features": ["a"]}, "neither a name nor a number"),
        ({"categorical_features": [True]}, "boolean mask"),
        ({"categorical_features": [0], "parity": "scikit-learn"}, "use parity=None"),
        ({"categorical_features": [0], "splitter": "random"}, "needs splitter='best'"),
        ({"categorical_features": [0], "monotonic_cst": [1, 0]}, "monotonic"),
    ],
)
def test_unsupported_categorical_options_are_an_error(params, message):
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(**params).fit([[0, 1], [1, 0]], [0, 1])


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_node_sorting_criteria_refuse_categories(criterion):
    with pytest.raises(ValueError, match="criterion"):
        DecisionTreeRegressor(criterion=criterion, categorical_features=[0]).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("ensemble", [AdaBoostClassifier, BaggingClassifier])
def test_ensembles_train_categorical_trees(ensemble):
    rng = np.random.default_rng(0)
    X = mixed(rng, 200)
    y = (X[:, 1] % 2 == 0).astype(int)
    tree = DecisionTreeClassifier(categorical_features=[1], max_depth=1)
    model = ensemble(tree, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("ensemble", [AdaBoostClassifier, BaggingClassifier])
@pytest.mark.parametrize("given", ["from_dtype", ["place"], [False, True, False]], ids=str)
def test_ensembles_read_categories_of_frames(ensemble, given):
    rng = np.random.default_rng(1)
    places = pd.Series(rng.choice(["north", "south", "east", "west", None], 200))
    X = pd.DataFrame({"size": rng.normal(size=200), "place": places, "age": rng.normal(size=200)})
    y = places.isin(["north", "west"]).to_numpy()
    if given == "from_dtype":
        X["place"] = X["place"].astype("category")
    tree = DecisionTreeClassifier(categorical_features=given, max_depth=2)
    model = ensemble(tree, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.array_equal(model.predict(X.iloc[:7]), y[:7])
    unknown = X.assign(place="elsewhere")
    assert len(set(model.predict(unknown))) == 1  # to the side with more rows


def test_bags_of_drawn_columns_find_their_categorical_ones():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    X["place"] = rng.choice(list("nesw"), 200)
    y = X["place"].isin(["n", "w"]).to_numpy()
    tree = DecisionTreeClassifier(categorical_features=["place"])
    params = {"n_estimators": 12, "random_state": 0, "max_features": 2}
    model = BaggingClassifier(tree, bootstrap_features=True, **params).fit(X, y)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert list(member.categories_) == np.flatnonzero(columns == 3).tolist()
    assert model.score(X, y) > 0.95
