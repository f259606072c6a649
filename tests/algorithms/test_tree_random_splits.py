"""Tests of random splits: scikit-learn's trees, in either mode."""

import numpy as np
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st
from sklearn import tree
from sktrees import difference

from algorithms import AdaBoostClassifier, DecisionTreeClassifier, DecisionTreeRegressor

LIMITS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6)},
    optional={
        "max_depth": st.integers(1, 6),
        "max_features": st.sampled_from([1, "sqrt", 0.5]),
        "max_leaf_nodes": st.integers(2, 30),
        "min_samples_leaf": st.sampled_from([2, 5]),
        "min_weight_fraction_leaf": st.sampled_from([0.05, 0.2]),
        "ccp_alpha": st.sampled_from([0.001, 0.02]),
    },
)


@given(
    seed=seeds,
    limits=LIMITS,
    n=st.integers(2, 150),
    k=st.sampled_from([2, 3]),
    criterion=st.sampled_from(["gini", "entropy"]),
    missing=st.sampled_from([0.0, 0.3]),
    weighted=st.booleans(),
    parity=st.sampled_from([None, "scikit-learn"]),
)
def test_classifier_splits_are_drawn(seed, limits, n, k, criterion, missing, weighted, parity):
    rng = np.random.default_rng(seed)
    X, y = table(rng, n, int(rng.integers(1, 8)), missing), rng.integers(0, k, n)
    weight = rng.uniform(0.1, 3.0, n) if weighted else None
    if k == 2 and rng.random() < 0.3:
        limits = {**limits, "monotonic_cst": rng.integers(-1, 2, X.shape[1])}
    params = {**limits, "criterion": criterion, "splitter": "random"}
    ours = DecisionTreeClassifier(**params, parity=parity).fit(X, y, sample_weight=weight)
    theirs = tree.DecisionTreeClassifier(**params).fit(X, y, sample_weight=weight)
    assert difference(ours, theirs) == ""
    new = table(rng, 20, X.shape[1], missing)
    assert np.array_equal(ours.predict_proba(new), theirs.predict_proba(new))


@given(
    seed=seeds,
    limits=LIMITS,
    n=st.integers(2, 100),
    criterion=st.sampled_from(["squared_error", "absolute_error", "poisson"]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_regressor_splits_are_drawn(seed, limits, n, criterion, missing):
    rng = np.random.default_rng(seed)
    X, y = table(rng, n, int(rng.integers(1, 8)), missing), rng.gamma(2.0, size=n)
    weight = rng.uniform(0.1, 3.0, n)
    params = {**limits, "criterion": criterion, "splitter": "random"}
    ours = DecisionTreeRegressor(**params).fit(X, y, sample_weight=weight)
    theirs = tree.DecisionTreeRegressor(**params).fit(X, y, sample_weight=weight)
    assert difference(ours, theirs) == ""
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("criterion", ["gain_ratio", "misclassification"])
def test_own_criteria_refuse_random_splits(criterion):
    with pytest.raises(ValueError, match="splitter='best'"):
        DecisionTreeClassifier(criterion=criterion, splitter="random").fit([[0], [1]], [0, 1])


def test_boosted_stumps_are_drawn_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    drawn = DecisionTreeClassifier(max_depth=1, splitter="random")
    model = AdaBoostClassifier(drawn, n_estimators=5, random_state=0).fit(X, y)
    first = clone_of(model.estimators_[0]).fit(X, y, sample_weight=np.full(200, 1 / 200))
    assert np.array_equal(model.estimators_[0].tree_.threshold, first.tree_.threshold)


def clone_of(grown):
    """Return scikit-learn's tree with the parameters of one of ours."""
    return tree.DecisionTreeClassifier(
        max_depth=grown.max_depth, splitter=grown.splitter, random_state=grown.random_state
    )
