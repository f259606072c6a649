import pickle

import numpy as np
import oracles_classes as plain
import pandas as pd
import pytest
from boosting import CLASSIFIERS, labeled
from columns import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets, tree
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.extmath import softmax

from algorithms import AdaBoostClassifier, AdaBoostRegressor, DecisionTreeClassifier
from algorithms.prediction.binary_probabilities import ROWS_AT_ONCE, softmax_of_two

BOTH = [AdaBoostClassifier, AdaBoostRegressor]


@parametrize_with_checks([E() for E in BOTH])
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def test_pruned_trees_can_be_base_learners():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    pruned = DecisionTreeClassifier(max_depth=6, ccp_alpha=0.02)
    model = AdaBoostClassifier(pruned, n_estimators=10, random_state=0).fit(X, y)
    whole = AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=10).fit(X, y)
    assert model[0].get_n_leaves() < whole[0].get_n_leaves()
    assert model.score(X, y) > 0.95


def share_wrong(model, X, y, weight):
    """Return the weighted error rate of the ensemble after each round."""
    return np.array([weight[result != y].sum() for result in model.staged_predict(X)])


@given(
    seed=seeds,
    rate=st.sampled_from([0.1, 0.5, 1.0, 2.0]),
    base=st.sampled_from(sorted(CLASSIFIERS)),
    sampling=st.sampled_from(["reweight", "resample"]),
)
@settings(max_examples=40)
def test_training_error_stays_below_its_bound(seed, rate, base, sampling):
    X, y, weight = labeled(seed)
    model = AdaBoostClassifier(
        CLASSIFIERS[base], n_estimators=8, learning_rate=rate, sampling=sampling, random_state=0
    )
    try:
        model.fit(X, y, sample_weight=weight)
    except ValueError as error:
        assert "worse than random" in str(error)  # noqa: PT017 - some draws are
        return
    bounds = model.training_error_bounds_
    assert (share_wrong(model, X, y, weight) <= bounds * (1 + 1e-9) + 1e-12).all()
    assert (bounds[1:] <= bounds[:-1]).all() or rate > 1
    error = model.estimator_errors_[: len(model)]
    if rate == 1.0 and error[-1] > 0.0:
        assert bounds == pytest.approx(np.cumprod(2 * np.sqrt(error * (1 - error))), rel=1e-12)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("kind", BOTH)
def test_any_number_of_threads_gives_the_same_bits(kind, threads):
    X, y = datasets.load_digits(return_X_y=True)
    one, many = (kind(n_estimators=6, random_state=0, n_jobs=n).fit(X, y) for n in (1, threads))
    for a, b in zip(one, many, strict=True):
        assert a.tree_.nodes.tobytes() == b.tree_.nodes.tobytes()
    assert np.array_equal(one.estimator_weights_, many.estimator_weights_)
    assert np.array_equal(one.predict(X), many.predict(X))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_last_stage_equals_model_and_exported_trees(n_classes):
    X, y, _ = labeled(1, n=300, n_classes=n_classes)
    model = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    assert last == pytest.approx(model.predict_proba(X), abs=1e-14)
    *_, last = model.staged_decision_function(X)
    assert last == pytest.approx(model.decision_function(X), abs=1e-14)
    assert model.ensemble_.predict(X) == pytest.approx(model.predict_proba(X), abs=1e-14)
    scores = list(model.staged_score(X, y))
    assert len(scores) == len(model)
    assert scores[-1] == model.score(X, y)


def test_last_stage_of_regressor_equals_model_and_exported_trees():
    X, y = datasets.load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(n_estimators=9, random_state=0).fit(X, y)
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))
    assert np.array_equal(model.ensemble_.predict(X), model.predict(X))
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)
    for row in range(5):
        values = [member.predict(X[row : row + 1])[0] for member in model]
        assert model.predict(X)[row] == plain.weighted_median(values, model.estimator_weights_)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_margin_is_true_class_share_minus_next_largest(n_classes):
    X, y, _ = labeled(2, n_classes=n_classes)
    model = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    votes = model.estimator_weights_ / model.estimator_weights_.sum()
    values = np.array([member.predict(X) for member in model])
    result = model.margins(X, y)
    for i in range(len(y)):
        shares = {c: votes[values[:, i] == c].sum() for c in model.classes_}
        right = shares.pop(y[i])
        assert result[i] == pytest.approx(right - max(shares.values()), abs=1e-12)
    assert ((result > 1e-12) <= (model.predict(X) == y)).all()


def test_perfect_model_gets_one_vote_and_is_last():
    X, y = np.arange(10.0)[:, None], np.arange(10) > 4
    model = AdaBoostClassifier(n_estimators=7).fit(X, y)
    assert len(model) == 1
    assert model.estimator_weights_.tolist() == [1.0] + [0.0] * 6
    assert model.estimator_errors_.tolist() == [0.0] + [1.0] * 6
    assert np.isfinite(model.predict_proba(X)).all()


def test_first_model_no_better_than_chance_is_an_error():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    for sampling in ("reweight", "resample"):
        with pytest.raises(ValueError, match="worse than random"):
            AdaBoostClassifier(sampling=sampling, random_state=0).fit(X, y)


def test_votes_are_not_negative():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    model = AdaBoostClassifier(n_estimators=60, sampling="resample", random_state=0).fit(X, y)
    assert (model.estimator_weights_ >= 0).all()
    assert (model.estimator_errors_[: len(model)] < 0.5).all()


@pytest.mark.parametrize("base", [None, DecisionTreeClassifier(max_depth=2, criterion="entropy")])
def test_infinite_weights_end_training_with_a_warning(base):
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoostClassifier(base, n_estimators=30, learning_rate=23.0)
    with pytest.warns(UserWarning, match="reached infinite values"):
        model.fit(X, y)
    assert len(model) < 30


def test_any_model_can_be_base_learner_and_resampling_needs_no_weights():
    X, y = datasets.load_iris(return_X_y=True)
    weighted = AdaBoostClassifier(LogisticRegression(max_iter=500), n_estimators=5).fit(X, y)
    assert weighted.score(X, y) > 0.8
    near = KNeighborsClassifier(30)
    with pytest.raises(ValueError, match="doesn't support sample_weight"):
        AdaBoostClassifier(near).fit(X, y)
    drawn = AdaBoostClassifier(near, n_estimators=5, sampling="resample", random_state=0).fit(X, y)
    assert drawn.score(X, y) > 0.9
    with pytest.raises(AttributeError, match="trees of this package"):
        drawn.ensemble_  # noqa: B018 - a property
    values = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=0).fit(X, y * 1.0)
    assert values.score(X, y) > 0.8
    theirs = AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=1), random_state=0).fit(X, y)
    ours = AdaBoostClassifier(random_state=0).fit(X, y)
    assert np.array_equal(theirs.predict(X), ours.predict(X))


def test_resampled_trees_may_lack_a_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.array([0, 1] * 29 + [2, 2])
    deep = DecisionTreeClassifier(max_depth=3, min_samples_leaf=3)
    model = AdaBoostClassifier(deep, sampling="resample", n_estimators=8, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (60, 3)
    assert model.ensemble_.predict(X) == pytest.approx(model.predict_proba(X), abs=1e-14)


@pytest.mark.parametrize("kind", BOTH)
def test_pickle_and_frame_input(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x", "y", "z"])
    y = (X["x"] > X["y"]).astype(int)
    model = kind(n_estimators=4, random_state=0).fit(X, y)
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", BOTH)
def test_invalid_input_raises_scikit_learn_messages(kind):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    for params, given_X, weight, message in [
        ({"n_estimators": 0}, X, None, "n_estimators"),
        ({"learning_rate": 0.0}, X, None, "learning_rate"),
        ({"parity": "xgboost"}, X, None, "parity"),
        ({"estimator": kind._own_tree(max_depth=0)}, X, None, "max_depth"),
        ({}, np.where(X > 1, np.inf, X), None, "infinity"),
        ({}, X[:, :, None], None, "Found array with dim 3"),
        ({}, X, -np.ones(20), "Negative values"),
        ({}, X, np.ones(3), "inconsistent|shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(**params).fit(given_X, y, sample_weight=weight)


@given(st.lists(st.floats(-750, 750), min_size=1, max_size=40))
def test_two_class_softmax_equals_scikit_learn(score):
    score = np.array(score)
    expected = softmax(np.column_stack([-score, score]) / 2.0)
    assert np.array_equal(softmax_of_two(score), expected)


def test_two_class_softmax_does_not_depend_on_batches():
    score = np.random.default_rng(0).normal(size=2 * ROWS_AT_ONCE + 3)
    assert np.array_equal(softmax_of_two(score), softmax(np.column_stack([-score, score]) / 2.0))


class Contrary(DecisionTreeClassifier):
    """A tree that predicts the opposite of its leaves."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, 1 - y, sample_weight)

    def predict(self, X):
        return 1 - super().predict(X)


def test_overridden_predict_of_a_tree_subclass_is_called():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(Contrary(max_depth=1), n_estimators=3, random_state=0).fit(X, y)
    *_, last = model.staged_predict(X)
    assert np.array_equal(model.predict(X), last)
    assert model.score(X, y) > 0.9


def test_our_classifier_can_be_base_model_of_values():
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoostRegressor(DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0)
    predictions = model.fit(X, y).predict(X)
    *_, last = model.staged_predict(X)
    assert np.isin(predictions, [0.0, 1.0, 2.0]).all()
    assert np.array_equal(predictions, last)


def test_trees_lacking_a_class_vote_for_known_classes():
    X = datasets.load_iris(return_X_y=True)[0]
    y = np.repeat([0, 1, 2], [1, 75, 74])
    known = set()
    for seed in range(8):
        stump = tree.DecisionTreeClassifier(max_depth=1)  # not ours: it sees the drawn rows alone
        model = AdaBoostClassifier(stump, n_estimators=4, sampling="resample", random_state=seed)
        *_, last = model.fit(X, y).staged_predict(X)
        assert np.array_equal(model.predict(X), last)
        known |= {len(member.classes_) for member in model}
    assert 2 in known


def test_margins_of_unseen_labels_are_refused():
    X, y = datasets.load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=2).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"not trained on: \[2\]"):
        model.margins(X, y)
