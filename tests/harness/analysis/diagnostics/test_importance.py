"""Tests of importance ranks and their sources."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from algorithms.reference._export_sklearn import export
from harness.analysis.diagnostics import InapplicableError, importance
from harness.trees.ensemble import Tree, TreeEnsemble

GAINS = st.lists(st.integers(0, 5), min_size=2, max_size=12)


@given(GAINS, st.randoms(use_true_random=False))
def test_rank_agreement_equals_scipy(gains, random):
    other = random.sample(gains, len(gains))
    assume(len(set(gains)) > 1)
    comparison = importance.compare(gains, other)
    assert comparison.spearman == pytest.approx(spearmanr(gains, other).statistic, abs=1e-9)
    assert comparison.kendall == pytest.approx(kendalltau(gains, other).statistic, abs=1e-9)
    assert comparison.used == (np.count_nonzero(gains), np.count_nonzero(other))


def test_unit_of_a_library_changes_nothing():
    gains = np.array([5.0, 0, 2, 9, 1])
    comparison = importance.compare(gains, 1000 * gains**2)
    assert comparison.shared == 5
    assert comparison.spearman == pytest.approx(1)
    assert comparison.kendall == pytest.approx(1)


def test_single_tree_importances_equal_scikit_learn():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    result = importance.gain_importance(export(tree))
    np.testing.assert_allclose(result / result.sum(), tree.feature_importances_, atol=1e-12)


def test_every_tree_counts_with_its_weight():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    result = importance.gain_importance(export(model))
    each = [importance.gain_importance(export_one(t, 4)) for t in model.estimators_.ravel()]
    np.testing.assert_allclose(result, model.learning_rate * np.sum(each, axis=0), rtol=1e-12)


def export_one(fitted, n_features):
    from algorithms.reference._export_sklearn import exact_tree

    return TreeEnsemble.join([exact_tree(fitted)], n_features=n_features)


def test_missing_gains_are_reported():
    stump = Tree(
        feature=np.array([0, -1, -1]),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        value=np.zeros((3, 1)),
    )
    unknown = TreeEnsemble.join([stump], n_features=2, library="CatBoost")
    with pytest.raises(InapplicableError, match="CatBoost does not export the gains"):
        importance.gain_importance(unknown)


@pytest.mark.parametrize("other", [[1, 1, 1], [1, 2]])
def test_missing_ranks_are_reported(other):
    with pytest.raises(InapplicableError):
        importance.compare([1, 2, 3], other)
