"""Ranks of importances, and where they come from."""

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
def test_ranks_agree_as_scipy_says(gains, random):
    other = random.sample(gains, len(gains))
    assume(len(set(gains)) > 1)
    found = importance.compare(gains, other)
    assert found.spearman == pytest.approx(spearmanr(gains, other).statistic, abs=1e-9)
    assert found.kendall == pytest.approx(kendalltau(gains, other).statistic, abs=1e-9)
    assert found.used == (np.count_nonzero(gains), np.count_nonzero(other))


def test_the_unit_of_a_library_changes_nothing():
    gains = np.array([5.0, 0, 2, 9, 1])
    found = importance.compare(gains, 1000 * gains**2)
    assert found.shared == 5
    assert found.spearman == pytest.approx(1)
    assert found.kendall == pytest.approx(1)


def test_a_single_tree_has_scikit_learns_importances():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = importance.gain_importance(export(tree))
    np.testing.assert_allclose(found / found.sum(), tree.feature_importances_, atol=1e-12)


def test_every_tree_counts_with_its_weight():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    found = importance.gain_importance(export(model))
    each = [importance.gain_importance(export_one(t, 4)) for t in model.estimators_.ravel()]
    np.testing.assert_allclose(found, model.learning_rate * np.sum(each, axis=0), rtol=1e-12)


def export_one(fitted, n_features):
    from algorithms.reference._export_sklearn import exact_tree

    return TreeEnsemble.join([exact_tree(fitted)], n_features=n_features)


def test_what_knows_no_gain_says_so():
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
def test_what_has_no_ranks_says_so(other):
    with pytest.raises(InapplicableError):
        importance.compare([1, 2, 3], other)
