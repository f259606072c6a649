"""Tests of voting and stacking, against scikit-learn, and of learned weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn import datasets, ensemble
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from algorithms.blending.linear_weights import as_shares
from algorithms.stacking import build as build_stacking
from algorithms.voting import build as build_voting
from harness import Spec, Task

X, Y = datasets.load_iris(return_X_y=True)
XR, YR = datasets.load_diabetes(return_X_y=True)


def classifiers():
    return [
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
    ]


def regressors():
    return [
        ("linear", LinearRegression()),
        ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
        ("mean", DummyRegressor()),
    ]


@parametrize_with_checks(
    [
        VotingClassifier([("bayes", GaussianNB()), ("same", GaussianNB())]),
        VotingClassifier([("bayes", GaussianNB())], voting="soft", weights="nonnegative", cv=2),
        VotingRegressor([("mean", DummyRegressor()), ("line", LinearRegression())]),
        StackingClassifier([("bayes", GaussianNB())], cv=2),
        StackingRegressor([("line", LinearRegression())], LinearRegression(), cv=2),
    ]
)
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 2], [0.3, 0.1]])
def test_voting_with_given_weights_equals_scikit_learn(voting, weights):
    ours = VotingClassifier(classifiers(), voting=voting, weights=weights).fit(X, Y)
    theirs = ensemble.VotingClassifier(classifiers(), voting=voting, weights=weights).fit(X, Y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.transform(X), theirs.transform(X))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    if voting == "soft":
        assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    values = VotingRegressor(regressors(), weights=[1, 2, 0]).fit(XR, YR).predict(XR)
    same = ensemble.VotingRegressor(regressors(), weights=[1, 2, 0]).fit(XR, YR).predict(XR)
    assert np.array_equal(values, same)


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict"])
def test_stacking_equals_scikit_learn(passthrough, method):
    params = {"passthrough": passthrough, "cv": 3, "stack_method": method}
    decider = GaussianNB()
    ours = StackingClassifier(classifiers(), decider, **params).fit(X, Y)
    theirs = ensemble.StackingClassifier(classifiers(), decider, **params).fit(X, Y)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert np.array_equal(ours.transform(X), theirs.transform(X))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    value = StackingRegressor(regressors(), passthrough=passthrough).fit(XR, YR).predict(XR)
    same = ensemble.StackingRegressor(regressors(), passthrough=passthrough).fit(XR, YR).predict(XR)
    assert np.array_equal(value, same)


def out_of_fold_error(weights, message, y):
    return float(np.sum((y - message @ weights) ** 2))


def test_learned_weights_minimize_out_of_fold_loss():
    folds = KFold(4, shuffle=True, random_state=1)
    message = np.stack([cross_val_predict(m, XR, YR, cv=folds) for _, m in regressors()], axis=1)
    linear = VotingRegressor(regressors(), weights="linear", cv=folds).fit(XR, YR)
    kept = VotingRegressor(regressors(), weights="nonnegative", cv=folds).fit(XR, YR)
    best = out_of_fold_error(linear.weights_, message, YR)
    assert (kept.weights_ >= 0).all()
    random = np.random.default_rng(0)
    for _ in range(200):
        step = random.normal(0, 0.05, 3)
        assert out_of_fold_error(linear.weights_ + step, message, YR) >= best
        feasible = np.maximum(kept.weights_ + step, 0.0)
        assert out_of_fold_error(feasible, message, YR) >= out_of_fold_error(
            kept.weights_, message, YR
        )
    predicted = np.stack([m.predict(XR) for m in linear.estimators_], axis=1)
    assert linear.predict(XR) == pytest.approx(predicted @ linear.weights_, rel=1e-12)


def test_overfitted_member_gets_no_weight():
    random = np.random.default_rng(3)
    noise_x, noise_y = random.normal(size=(300, 4)), random.normal(size=300)
    members = [("heart", DecisionTreeRegressor(random_state=0)), ("mean", DummyRegressor())]
    blend = VotingRegressor(members, weights="nonnegative").fit(noise_x, noise_y + 5)
    assert blend.weights_[0] < 0.1
    assert blend.weights_[1] > 0.9


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", ["linear", "nonnegative"])
def test_learned_votes_are_probabilities(voting, weights):
    labels = np.array(["a", "b", "c"])[Y]
    blend = VotingClassifier(classifiers(), voting=voting, weights=weights).fit(X, labels)
    assert blend.score(X, labels) > 0.9
    if voting == "soft":
        shares = blend.predict_proba(X)
        assert (shares >= 0).all()
        assert shares.sum(axis=1) == pytest.approx(1.0)


class Column(GaussianNB):
    """A member that returns its classes as a column, like CatBoost."""

    def predict(self, X):
        return super().predict(X)[:, None]


@pytest.mark.parametrize("weights", [None, "nonnegative"])
def test_class_predictions_as_a_column_are_votes(weights):
    blend = VotingClassifier([("bayes", Column())], weights=weights).fit(X, Y)
    assert np.array_equal(blend.predict(X), GaussianNB().fit(X, Y).predict(X))


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=8))
def test_weights_are_nonnegative_and_sum_to_one(rows):
    shares = as_shares(np.array(rows))
    assert (shares >= 0).all()
    assert shares.sum(axis=1) == pytest.approx(1.0)
    positive = np.array(rows).max(axis=1) > 1e-300
    assert np.array_equal(shares.argmax(axis=1)[positive], np.array(rows).argmax(axis=1)[positive])


def test_sample_weights_reach_members_blend_and_final_estimator():
    heavy = np.where(np.arange(len(YR)) % 2, 1.0, 0.0)
    half = np.flatnonzero(heavy)
    folds = [(half[::2], half[1::2]), (half[1::2], half[::2])]
    rest = np.flatnonzero(heavy == 0)
    whole = [(np.r_[a, rest[: len(rest) // 2]], np.r_[b, rest[len(rest) // 2 :]]) for a, b in folds]
    whole[1] = (
        np.r_[folds[1][0], rest[len(rest) // 2 :]],
        np.r_[folds[1][1], rest[: len(rest) // 2]],
    )
    weighted = VotingRegressor(regressors(), weights="linear", cv=whole)
    weighted.fit(XR, YR, sample_weight=heavy)
    where = {row: i for i, row in enumerate(half)}
    inner = [tuple(np.array([where[r] for r in side]) for side in fold) for fold in folds]
    alone = VotingRegressor(regressors(), weights="linear", cv=inner).fit(XR[half], YR[half])
    assert weighted.weights_ == pytest.approx(alone.weights_, rel=1e-6)
    assert weighted.predict(XR) == pytest.approx(alone.predict(XR), rel=1e-6)


def test_prefitted_members_need_no_weights():
    near = KNeighborsClassifier().fit(X[::2], Y[::2])
    params = {"final_estimator": GaussianNB(), "cv": "prefit"}
    rows, labels, weight = X[1::2], Y[1::2], np.linspace(0.1, 2.0, 75)
    ours, theirs = (
        kind([("near", near)], **params).fit(rows, labels, sample_weight=weight)
        for kind in (StackingClassifier, ensemble.StackingClassifier)
    )
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_members_can_be_tuned_dropped_and_named():
    search = GridSearchCV(VotingClassifier(classifiers()), {"tree__max_depth": [1, 3]}, cv=2)
    assert search.fit(X, Y).best_params_["tree__max_depth"] == 3
    blend = VotingClassifier(classifiers(), weights=[1, 5]).set_params(bayes="drop").fit(X, Y)
    assert list(blend.named_estimators_) == ["bayes", "tree"]
    assert len(blend.estimators_) == 1
    assert blend.weights_.tolist() == [5.0]


def test_sparse_rows_stay_sparse():
    members = [("linear", Perceptron()), ("near", KNeighborsClassifier())]
    stack = StackingClassifier(members, passthrough=True, cv=2)
    stack.set_params(final_estimator=Perceptron()).fit(csr_matrix(X), Y)
    assert stack.transform(csr_matrix(X)).format == "csr"


def test_invalid_arguments_are_reported():
    with pytest.raises(TypeError, match="does not support sample weights"):
        VotingClassifier([("near", KNeighborsClassifier())]).fit(X, Y, sample_weight=np.ones(150))
    with pytest.raises(ValueError, match="should be a classifier"):
        VotingClassifier([("line", LinearRegression())]).fit(X, Y)
    with pytest.raises(ValueError, match="got 1 weights, 2 estimators"):
        VotingClassifier(classifiers(), weights=[1]).fit(X, Y)
    with pytest.raises(ValueError, match="does not implement the method predict_proba"):
        StackingClassifier([("p", Perceptron())], stack_method="predict_proba").fit(X, Y)
    with pytest.raises(ValueError, match="should be a regressor"):
        StackingRegressor(regressors(), LogisticRegression()).fit(XR, YR)


@pytest.mark.parametrize("members", [[GaussianNB()], ["tree"], [("bayes", GaussianNB()), 3]])
@pytest.mark.parametrize("kind", [VotingClassifier, StackingClassifier])
def test_unnamed_members_are_an_error_of_fit_only(kind, members):
    blend = kind(members)
    assert get_tags(blend).estimator_type == "classifier"
    with pytest.raises(ValueError, match=r"list of \(string, estimator\) tuples"):
        blend.fit(X, Y)


@pytest.mark.parametrize("build", [build_voting, build_stacking])
def test_unknown_member_of_a_spec_is_named(build):
    params = {"members": [{"algorithm": "oracle"}]}
    with pytest.raises(ValueError, match="'oracle' cannot be a member"):
        build(Spec(Task.BINARY, params))
