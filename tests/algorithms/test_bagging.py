import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_sklearn import DRAWS
from sklearn import config_context, datasets, ensemble, tree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

BOTH = [BaggingClassifier, BaggingRegressor]
REFERENCE = {
    BaggingClassifier: ensemble.BaggingClassifier,
    BaggingRegressor: ensemble.BaggingRegressor,
}
UNEQUAL = (
    "max_samples=None draws as many rows as "
    "there are, whatever they weigh; scikit-learn's own bagging fails this check too"
)
WEIGHTED = {
    f"check_sample_weight_equivalence_on_{form}_data": UNEQUAL for form in ("dense", "sparse")
}


@parametrize_with_checks([E() for E in BOTH], expected_failed_checks=lambda _: WEIGHTED)
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def both(kind, X, y, sample_weight=None, **params):
    """Return our and scikit-learn's bagging, fitted; with few models some rows get no votes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB")
        warnings.filterwarnings("ignore", ".*low number")
        warnings.filterwarnings("ignore", "invalid value encountered in divide")
        ours = kind(**params).fit(X, y, sample_weight=sample_weight)
        theirs = REFERENCE[kind](**params).fit(X, y, sample_weight=sample_weight)
    return ours, theirs


def assert_same_draws(ours, theirs):
    for name in ("estimators_features_", "estimators_samples_"):
        for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert np.array_equal(a, b)


@given(seed=seeds, draws=DRAWS, weighted=st.booleans(), missing=st.sampled_from([0.0, 0.3]))
@pytest.mark.filterwarnings("ignore:When fitting:UserWarning")
def test_classifier_samples_and_trees_equal_scikit_learn(seed, draws, weighted, missing):
    rng = np.random.default_rng(seed)
    X = table(rng, 80, 4, missing)
    y = rng.integers(0, 3, 80)
    weight = rng.uniform(0.3, 1, 80) if weighted else None
    oob = draws.get("bootstrap", True)
    ours, theirs = both(BaggingClassifier, X, y, weight, oob_score=oob, **draws)
    assert_same_draws(ours, theirs)
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert difference(a, b) == ""
    new = table(rng, 30, 4, missing)
    assert np.array_equal(ours.predict_proba(new), theirs.predict_proba(new))
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    assert np.array_equal(ours.ensemble_.predict(new), ours.predict_proba(new))
    if oob:
        assert ours.oob_score_ == theirs.oob_score_
        expected = theirs.oob_decision_function_
        assert np.array_equal(ours.oob_decision_function_, expected, equal_nan=True)


@given(seed=seeds, draws=DRAWS)
@settings(max_examples=30)
def test_regressor_samples_and_trees_equal_scikit_learn_when_sums_are_exact(seed, draws):
    rng = np.random.default_rng(seed)
    X = table(rng, 80, 4, missing=0.3)
    y = rng.integers(-50, 50, 80).astype(float)
    oob = draws.get("bootstrap", True)
    ours, theirs = both(BaggingRegressor, X, y, oob_score=oob, **draws)
    assert_same_draws(ours, theirs)
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert difference(a, b) == ""
    new = table(rng, 30, 4, missing=0.3)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    assert np.array_equal(ours.ensemble_.predict(new), ours.predict(new))
    if oob:
        assert ours.oob_score_ == theirs.oob_score_
        assert np.array_equal(ours.oob_prediction_, theirs.oob_prediction_)


@pytest.mark.parametrize("threads", [2, 3, -1])
@pytest.mark.parametrize("kind", BOTH)
def test_any_number_of_threads_gives_the_same_bits(kind, threads):
    rng = np.random.default_rng(3)
    X, y = table(rng, 200, 6, missing=0.2), rng.integers(0, 3, 200)
    params = {"n_estimators": 20, "random_state": 0, "oob_score": True, "max_features": 0.7}
    alone = kind(**params).fit(X, y)
    shared = kind(n_jobs=threads, **params).fit(X, y)
    for a, b in zip(alone.estimators_, shared.estimators_, strict=True):
        assert difference(a, b) == ""
    many = np.tile(X, (200, 1))  # more rows than pass the trees at once
    if kind is BaggingClassifier:
        assert np.array_equal(alone.predict_proba(many), shared.predict_proba(many))
    assert np.array_equal(alone.predict(many), shared.predict(many))
    assert np.array_equal(alone.predict(X), alone.predict(many)[:200])


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (BaggingClassifier, LogisticRegression(C=0.1, max_iter=1000)),
        (BaggingClassifier, Perceptron()),  # no probabilities: votes
        (BaggingClassifier, KNeighborsClassifier()),  # takes no weights: rows are copied
        (BaggingClassifier, tree.DecisionTreeClassifier(max_features=2)),
        (BaggingClassifier, make_pipeline(StandardScaler(), LinearSVC())),
        (BaggingRegressor, LinearRegression()),
        (BaggingRegressor, KNeighborsRegressor()),
        (BaggingRegressor, tree.DecisionTreeRegressor(max_depth=3)),
    ],
    ids=lambda v: getattr(v, "__name__", type(v).__name__),
)
@pytest.mark.parametrize("draws", [{}, {"max_features": 2, "max_samples": 0.5}])
def test_any_model_can_be_bagged(kind, model, draws):
    X, y = datasets.load_iris(return_X_y=True)
    params = {"estimator": model, "n_estimators": 4, "random_state": 5, "oob_score": True, **draws}
    ours, theirs = both(kind, X, y, **params)
    assert_same_draws(ours, theirs)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_)
    if kind is BaggingClassifier:
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))
        assert hasattr(ours, "decision_function") == hasattr(theirs, "decision_function")
    if hasattr(ours, "decision_function"):
        assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X))
    with pytest.raises(AttributeError, match="trees of this package"):
        ours.ensemble_  # noqa: B018 - asking for it is the test


def test_model_does_not_vote_for_a_class_it_never_saw():
    X = np.arange(30.0)[:, None]
    y = np.array(["rare", *["a", "b"] * 14, "b"])
    model = KNeighborsClassifier(n_neighbors=1)
    params = {"n_estimators": 5, "random_state": 0, "max_samples": 10}
    ours, theirs = both(BaggingClassifier, X, y, estimator=model, **params)
    assert any(len(m.classes_) == 2 for m in ours.estimators_)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("kind", BOTH)
def test_limited_trees_are_bagged_like_scikit_learn(kind):
    X, y = datasets.load_wine(return_X_y=True)
    limits = {"max_depth": 4, "max_features": 3, "min_samples_leaf": 2}
    model, other = (
        (DecisionTreeClassifier, tree.DecisionTreeClassifier)
        if kind is BaggingClassifier
        else (DecisionTreeRegressor, tree.DecisionTreeRegressor)
    )
    params = {"n_estimators": 6, "random_state": 2}
    ours = kind(estimator=model(**limits), **params).fit(X, y)
    theirs = REFERENCE[kind](estimator=other(**limits), **params).fit(X, y)
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert difference(a, b) == ""
        more = dict.fromkeys(["categorical_features", "n_jobs", "parity"])
        assert a.get_params() == {**b.get_params(), **more}
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_one_tree_without_sampling_equals_the_tree():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    bag = BaggingClassifier(n_estimators=1, bootstrap=False, random_state=0).fit(X, y)
    lone = DecisionTreeClassifier(random_state=bag.estimators_[0].random_state).fit(X, y)
    assert difference(bag.estimators_[0], lone) == ""


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("draws", [{}, {"bootstrap": False}])
def test_inputs_are_not_modified(kind, draws):
    X, y = datasets.load_wine(return_X_y=True)
    y = y.astype(float)
    before = X.copy(), y.copy()
    kind(n_estimators=2, random_state=0, **draws).fit(X, y)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_warm_start_adds_models():
    X, y = datasets.load_iris(return_X_y=True)
    whole = BaggingClassifier(n_estimators=7, random_state=1).fit(X, y)
    warm = BaggingClassifier(n_estimators=3, random_state=1, warm_start=True).fit(X, y)
    first = warm.estimators_[0]
    warm.set_params(n_estimators=7).fit(X, y)
    assert warm.estimators_[0] is first
    assert np.array_equal(warm.predict_proba(X), whole.predict_proba(X))
    assert_same_draws(warm, whole)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.fit(X, y)
    with pytest.raises(ValueError, match="must be larger or equal"):
        warm.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"max_features": 9}, "max_features must be <= n_features"),
        ({"bootstrap": False, "max_samples": 1000}, "to be able to sample without replacement"),
        ({"bootstrap": False, "oob_score": True}, "only available if bootstrap=True"),
        ({"warm_start": True, "oob_score": True}, "only available if warm_start=False"),
        ({"estimator": "tree"}, "estimator"),
    ],
)
def test_invalid_parameters_raise_scikit_learn_errors(kind, params, text):
    X, y = datasets.load_iris(return_X_y=True)
    for bagging in (kind, REFERENCE[kind]):
        with pytest.raises(ValueError, match=text):
            bagging(**params).fit(X, y)
    limits = DecisionTreeClassifier(max_depth=0), DecisionTreeRegressor(max_depth=0)
    with pytest.raises(ValueError, match="max_depth"):
        kind(estimator=limits[kind is BaggingRegressor]).fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
def test_invalid_data_raises_scikit_learn_errors(kind):
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        kind().predict(X)
    with pytest.raises(ValueError, match="infinity"):
        kind().fit(np.where(X > 4, np.inf, X), y)
    with pytest.raises(ValueError, match="y holds '0a', which is not a number"):
        BaggingRegressor().fit(X, y.astype(str).astype(object) + "a")
    model = kind(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(X[:, :3])


class Constant(DecisionTreeRegressor):
    """A model that is no tree and whose ``fit`` returns None."""

    def fit(self, X, y):
        self.seen_ = y

    def predict(self, X):
        return np.full(len(X), 7.0)


def test_fit_return_value_of_a_model_is_ignored():
    X, y = datasets.load_iris(return_X_y=True)
    model = BaggingRegressor(Constant(), n_estimators=2, random_state=0).fit(X, y)
    assert (model.predict(X) == 7).all()
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert np.array_equal(member.seen_, y[rows])


class Shifted(ClassifierMixin, BaseEstimator):
    """Classifier that stores an argument of ``fit`` and predicts the class ``shift``."""

    def fit(self, X, y, numbers=None):
        self.classes_, self.numbers_, self.n_features_in_ = np.unique(y), numbers, X.shape[1]
        return self

    def predict(self, X, shift=0):
        return np.full(len(X), shift)


def test_arguments_of_fit_reach_the_models():
    X, y = datasets.load_iris(return_X_y=True)
    model = BaggingClassifier(Shifted(), n_estimators=3).fit(X, y, numbers=np.arange(150))
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert np.array_equal(member.numbers_, rows)
    trees = [BaggingClassifier(n_estimators=3, random_state=0) for _ in range(2)]
    passed = trees[0].fit(X, y, check_input=True)
    assert np.array_equal(passed.predict_proba(X), trees[1].fit(X, y).predict_proba(X))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_metadata_routing_passes_arguments_of_prediction(method):
    X, y = datasets.load_iris(return_X_y=True)
    with config_context(enable_metadata_routing=True):
        member = Shifted().set_predict_request(shift=True)
        ours, theirs = both(BaggingClassifier, X, y, estimator=member, n_estimators=2)
        result = getattr(ours, method)(X, shift=2)
        with np.errstate(divide="ignore"):
            assert np.array_equal(result, getattr(theirs, method)(X, shift=2))
    assert not np.array_equal(result, getattr(ours, method)(X))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        getattr(ours, method)(X, shift=2)


def test_earlier_out_of_bag_score_is_dropped():
    X, y = datasets.load_iris(return_X_y=True)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    model.set_params(warm_start=True, oob_score=False, n_estimators=42).fit(X, y)
    assert not hasattr(model, "oob_score_")


def test_warnings_equal_scikit_learn():
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="low number"):
        BaggingClassifier(max_samples=0.01, n_estimators=1).fit(X, y)
    with pytest.warns(UserWarning, match="recommended to use bootstrap=True"):
        BaggingClassifier(bootstrap=False, n_estimators=1).fit(X, y, sample_weight=np.ones(150))
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        model = BaggingClassifier(n_estimators=1, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(model.oob_decision_function_).any()


@pytest.mark.parametrize("kind", BOTH)
def test_frame_input_pickle_and_len(kind):
    X, y = datasets.load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = kind(n_estimators=3, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert len(model) == 3
    assert model[1] is model.estimators_[1]
    assert [*model] == model.estimators_


def test_one_third_of_rows_is_out_of_bag():
    """(1 − 1/n)ⁿ of the rows, about 1/e, are out of a model's bag."""
    X = np.random.default_rng(0).normal(size=(2000, 1))
    model = BaggingRegressor(
        n_estimators=20, random_state=0, estimator=DecisionTreeRegressor(max_depth=1)
    ).fit(X, X[:, 0])
    out = [1 - len(np.unique(rows)) / 2000 for rows in model.estimators_samples_]
    assert np.mean(out) == pytest.approx(np.exp(-1), abs=0.01)


def test_names_and_defaults_equal_scikit_learn():
    for ours, theirs in REFERENCE.items():
        assert ours().get_params() == {**theirs().get_params(), "parity": None}
