import numpy as np
import pytest
from sklearn import datasets, ensemble, tree
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

BOTH = [AdaBoostClassifier, AdaBoostRegressor]
@parametrize_with_checks([E() for E in BOTH])
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings and count them themselves
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "digits", "wine"])
def test_boosted_stumps_are_scikit_learns(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    ours = AdaBoostClassifier(random_state=0, n_estimators=20).fit(X, y)
    theirs = ensemble.AdaBoostClassifier(random_state=0, n_estimators=20).fit(X, y)
    assert len(ours) == len(theirs.estimators_)
    for a, b in zip(ours, theirs.estimators_, strict=True):
        assert np.array_equal(a.tree_.feature, b.tree_.feature)
        assert np.array_equal(a.tree_.threshold, b.tree_.threshold)
    assert ours.estimator_weights_ == pytest.approx(theirs.estimator_weights_, rel=1e-12)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-12)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_boosted_regressors_are_scikit_learns_where_sums_are_exact(loss):
    X, y = datasets.load_diabetes(return_X_y=True)
    params = {"random_state": 0, "n_estimators": 20, "loss": loss}
    ours = AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), **params).fit(X, y)
    theirs = ensemble.AdaBoostRegressor(tree.DecisionTreeRegressor(max_depth=3), **params).fit(X, y)
    assert len(ours) == len(theirs.estimators_)
    for a, b in zip(ours, theirs.estimators_, strict=True):
        assert np.array_equal(a.tree_.feature, b.tree_.feature)
        assert np.array_equal(a.tree_.n_node_samples, b.tree_.n_node_samples)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)


def test_pruned_trees_serve():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    pruned = DecisionTreeClassifier(max_depth=6, ccp_alpha=0.02)
    model = AdaBoostClassifier(pruned, n_estimators=10, random_state=0).fit(X, y)
    whole = AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=10).fit(X, y)
    assert model[0].get_n_leaves() < whole[0].get_n_leaves()
    assert model.score(X, y) > 0.95
