"""Tests of gradient boosting: parity with scikit-learn, and our extensions."""

import pickle
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn import ensemble
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import GradientBoostingClassifier, GradientBoostingRegressor
from algorithms.boosting.losses import SquaredError
from algorithms.gradient_boosting import choose_rounds
from algorithms.prediction.binary_probabilities import ROWS_AT_ONCE, logistic_of_two

REGRESSION = ("squared_error", "absolute_error", "huber", "quantile")
UNEQUAL = "a weight of 2 and two copies of a row part where splits tie, as in scikit-learn"
PARITY = [
    ({}, False),
    ({"learning_rate": 0.5}, True),
    ({"subsample": 0.6}, True),
    ({"max_features": 2, "min_samples_leaf": 4}, False),
    ({"max_leaf_nodes": 5, "max_depth": 6, "ccp_alpha": 0.01}, False),
    ({"n_iter_no_change": 3, "learning_rate": 0.5}, True),
    ({"init": "zero", "max_depth": None, "n_estimators": 3}, False),
    ({"min_weight_fraction_leaf": 0.1, "min_impurity_decrease": 0.01}, True),
]


def friedman(n=200):
    return make_friedman1(n, noise=1.0, random_state=0)


def classes(k):
    return load_breast_cancer(return_X_y=True) if k == 2 else load_wine(return_X_y=True)


def weights(y):
    return np.random.default_rng(0).random(len(y))


@parametrize_with_checks(
    [GradientBoostingClassifier(n_estimators=5), GradientBoostingRegressor(n_estimators=5)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{form}_data": UNEQUAL for form in ("dense", "sparse")
    },
)
def test_estimator_follows_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("params", "weighted"), PARITY)
@pytest.mark.parametrize("loss", REGRESSION)
def test_regression_parity(loss, params, weighted):
    X, y = friedman()
    params = {"n_estimators": 5, "random_state": 1, "loss": loss, **params}
    weight = weights(y) if weighted else None
    ours = GradientBoostingRegressor(parity="scikit-learn", **params).fit(X, y, weight)
    theirs = ensemble.GradientBoostingRegressor(**params).fit(X, y, weight)
    assert_same(ours, theirs, ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize(("params", "weighted"), PARITY)
@pytest.mark.parametrize(("loss", "k"), [("log_loss", 2), ("log_loss", 3), ("exponential", 2)])
def test_classification_parity(loss, k, params, weighted):
    X, y = classes(k)
    X, y = X[::2], y[::2]
    params = {"n_estimators": 5, "random_state": 1, "loss": loss, **params}
    weight = weights(y) if weighted else None
    ours = GradientBoostingClassifier(parity="scikit-learn", **params).fit(X, y, weight)
    theirs = ensemble.GradientBoostingClassifier(**params).fit(X, y, weight)
    assert_same(ours, theirs, ours.predict_proba(X), theirs.predict_proba(X))


def assert_same(ours, theirs, message, expected):
    """Assert that all trees equal scikit-learn's, and predictions up to 1e-10."""
    assert ours.estimators_.shape == theirs.estimators_.shape
    for a, b in zip(ours.estimators_.ravel(), theirs.estimators_.ravel(), strict=True):
        np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    np.testing.assert_allclose(message, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-10)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)
    if hasattr(theirs, "oob_improvement_"):
        np.testing.assert_allclose(ours.oob_scores_, theirs.oob_scores_, rtol=1e-9)
        assert ours.oob_score_ == pytest.approx(theirs.oob_score_)


@pytest.mark.parametrize("params", [{}, {"max_depth": 5, "max_leaf_nodes": 8}])
def test_default_grows_the_same_trees_without_ties(params):
    X, y = friedman(300)
    params = {"n_estimators": 10, "random_state": 1, **params}
    ours = GradientBoostingRegressor(**params).fit(X, y)
    theirs = ensemble.GradientBoostingRegressor(**params).fit(X, y)
    assert_same(ours, theirs, ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@pytest.mark.parametrize("loss", [*REGRESSION, "log_loss", "exponential"])
def test_default_is_as_accurate(loss):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 6))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + rng.standard_t(3, 2000) / 3
    ours, theirs = GradientBoostingRegressor, ensemble.GradientBoostingRegressor
    if loss not in REGRESSION:
        ours, theirs = GradientBoostingClassifier, ensemble.GradientBoostingClassifier
        y = (y > 0).astype(int)
    params = {"loss": loss, "n_estimators": 30, "random_state": 0}
    scores = [m(**params).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for m in (ours, theirs)]
    assert abs(scores[0] - scores[1]) < 0.03


@pytest.mark.parametrize(
    "params", [{}, {"subsample": 0.5}, {"max_features": 3}, {"parity": "scikit-learn"}]
)
def test_result_does_not_depend_on_threads(params):
    X, y = friedman(20_000 if not params else 500)
    one, two = (
        GradientBoostingRegressor(n_estimators=4, random_state=0, n_jobs=jobs, **params).fit(X, y)
        for jobs in (1, 2)
    )
    assert one.predict(X).tobytes() == two.predict(X).tobytes()
    assert one.train_score_.tobytes() == two.train_score_.tobytes()


class SignStump(RegressorMixin, BaseEstimator):
    """The stump of ±1 that agrees best with the gradient: one threshold of one column."""

    def fit(self, X, y):
        best = -np.inf
        for f in range(X.shape[1]):
            for t in np.unique(X[:, f]):
                agreement = y @ np.where(X[:, f] <= t, 1.0, -1.0)
                if abs(agreement) > best:
                    best, self.rule_ = abs(agreement), (f, t, np.sign(agreement))
        return self

    def predict(self, X):
        f, t, sign = self.rule_
        return sign * np.where(X[:, f] <= t, 1.0, -1.0)


def test_exponential_loss_on_signs_equals_adaboost():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::4, :5].astype(np.float32), y[::4]
    model = GradientBoostingClassifier(
        loss="exponential", estimator=SignStump(), init="zero", learning_rate=1.0, n_estimators=12
    ).fit(X, y)
    sign, weight, score = 2.0 * y - 1.0, np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for member, step in zip(model.estimators_[:, 0], model.steps_[:, 0], strict=True):
        predictions = member.predict(X)
        gradient = np.exp(-sign * score)
        np.testing.assert_allclose(gradient / gradient.sum(), weight, rtol=1e-12)
        wrong = weight[predictions != sign].sum()
        alpha = 0.5 * np.log((1 - wrong) / wrong)
        assert step == pytest.approx(alpha, rel=1e-12)
        weight = weight * np.exp(-alpha * sign * predictions)
        weight /= weight.sum()
        score += alpha * predictions
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-12)


@pytest.mark.parametrize("loss", [*REGRESSION, "poisson"])
def test_global_step_minimizes_the_loss(loss):
    X, y = friedman()
    params = {"loss": loss, "n_estimators": 1, "learning_rate": 1.0, "max_depth": 2, "alpha": 0.7}
    model = GradientBoostingRegressor(step="global", init="zero", **params).fit(X, y)
    other = GradientBoostingRegressor(loss=SquaredError(), n_estimators=1, init="zero", max_depth=2)
    loss = model._loss
    other.fit(X, loss.negative_gradient(y, np.zeros((len(y), 1)))[:, 0])
    predictions = other.estimators_[0, 0].predict(X)
    result = minimize_scalar(lambda step: loss(y, step * predictions[:, None]), tol=1e-12)
    assert model.train_score_[0] <= result.fun + 1e-9 * abs(result.fun)
    ratio = model.estimators_[0, 0].predict(X) / predictions
    assert ratio == pytest.approx(np.full(len(y), ratio[0]))


class LogCosh:
    """log cosh(y − F), with only the required methods of a loss."""

    def start(self, y, weight):
        return np.array([np.average(y, weights=weight)])

    def negative_gradient(self, y, raw):
        return np.tanh(y - raw[:, 0])

    def __call__(self, y, raw, weight=None):
        return np.average(np.log(np.cosh(y - raw[:, 0])), weights=weight)


def test_custom_loss_uses_the_best_step_of_each_leaf():
    X, y = friedman()
    loss = LogCosh()
    model = GradientBoostingRegressor(loss=loss, n_estimators=5, learning_rate=1.0).fit(X, y)
    before = list(model.staged_predict(X))[-2]
    leaf = model.apply(X)[:, -1]
    for at in np.unique(leaf):
        own = leaf == at
        slope = np.tanh(y[own] - before[own] - model.estimators_[-1, 0].tree_.values[int(at), 0])
        assert abs(slope.sum()) < 1e-10
    assert (np.diff(model.train_score_) < 0).all()
    with pytest.raises(AttributeError, match="built-in loss"):
        _ = model.ensemble_


def test_poisson_predicts_means_of_counts():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(800, 3))
    y = rng.poisson(np.exp(X[:, 0]))
    model = GradientBoostingRegressor(loss="poisson").fit(X, y)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.02)
    assert np.corrcoef(np.log(model.predict(X)), X[:, 0])[0, 1] > 0.9
    with pytest.raises(ValueError, match="y ≥ 0"):
        model.fit(X, y - 1)


def test_any_regressor_can_be_base_learner():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(estimator=LinearRegression(), n_estimators=40)
    model.set_params(learning_rate=0.5).fit(X, y, weights(y))
    alone = LinearRegression().fit(X, y, weights(y))
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=0.02 * y.std())
    with pytest.raises(AttributeError, match="needs trees"):
        _ = model.ensemble_


def test_leaf_l2_shrinks_values_and_leaf_cost_gives_small_trees():
    X, y = friedman()
    plain = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0}
    model = GradientBoostingRegressor(l2_regularization=7.0, **plain).fit(X, y)
    tree, residual = model.estimators_[0, 0], y - y.mean()
    leaf = tree.apply(X)
    for at in (1, 2):
        own = residual[leaf == at]
        assert tree.tree_.values[at, 0] == pytest.approx(own.sum() / (len(own) + 7.0))
    whole = ensemble.GradientBoostingRegressor(n_estimators=1, max_depth=4).fit(X, y)
    tree = whole.estimators_[0, 0].tree_
    spread = tree.weighted_n_node_samples * tree.impurity
    gain = 0.5 * (spread[0] - spread[tree.children_left[0]] - spread[tree.children_right[0]])
    for price, leaves in ((0.999 * gain, 2), (1.001 * gain, 1)):
        model = GradientBoostingRegressor(leaf_penalty=price, **plain).fit(X, y)
        assert model.estimators_[0, 0].get_n_leaves() == leaves
    with pytest.raises(ValueError, match="leaf_penalty"):
        GradientBoostingRegressor(leaf_penalty=1.0, max_features=1).fit(X, y)


@pytest.mark.parametrize("name", ["leaf_penalty", "l2_regularization"])
def test_leaf_cost_is_refused_with_negative_weights(name):
    X, y = friedman()
    weight = weights(y)
    weight[7] = -0.1
    with pytest.raises(ValueError, match="need weights of 0 or more"):
        GradientBoostingRegressor(n_estimators=2, **{name: 1.0}).fit(X, y, weight)


@pytest.mark.parametrize("leaves", [4, 6, 8])
def test_trees_have_max_leaf_nodes_leaves(leaves):
    X, y = friedman()
    params = {"max_leaf_nodes": leaves, "max_depth": None, "n_estimators": 5, "random_state": 0}
    ours = GradientBoostingRegressor(**params).fit(X, y)
    assert {member.get_n_leaves() for member in ours.estimators_[:, 0]} == {leaves}
    theirs = ensemble.GradientBoostingRegressor(**params).fit(X, y)
    assert_same(ours, theirs, ours.predict(X), theirs.predict(X))


def test_warm_start_continues_training():
    X, y = friedman()
    params = {"subsample": 0.7, "random_state": 0}
    once = GradientBoostingRegressor(n_estimators=6, **params).fit(X, y)
    twice = GradientBoostingRegressor(n_estimators=2, warm_start=True, **params).fit(X, y)
    twice.set_params(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(once.predict(X), twice.predict(X), rtol=1e-12)
    np.testing.assert_allclose(once.oob_improvement_, twice.oob_improvement_, rtol=1e-9)
    with pytest.raises(ValueError, match="larger or equal"):
        twice.set_params(n_estimators=3).fit(X, y)


def test_last_stage_equals_prediction():
    X, y = classes(3)
    model = GradientBoostingClassifier(n_estimators=4).fit(X, y)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    scores = list(model.staged_decision_function(X))
    np.testing.assert_array_equal(scores[-1], model.decision_function(X))
    np.testing.assert_allclose(list(model.staged_loss(X, y)), model.train_score_, rtol=1e-12)
    assert model.predict_log_proba(X) == pytest.approx(np.log(model.predict_proba(X)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("loss", "k"),
    [("log_loss", 2), ("log_loss", 3), ("exponential", 2), ("squared_error", 0), ("poisson", 0)],
)
def test_exported_ensemble_predicts_the_same(loss, k):
    X, y = classes(k) if k else friedman()
    X = X.astype(np.float32)
    model = GradientBoostingClassifier if k else GradientBoostingRegressor
    model = model(loss=loss, n_estimators=4).fit(X, y)
    expected = model.predict_proba(X) if k else model.predict(X)
    np.testing.assert_allclose(model.ensemble_.predict(X), expected, rtol=1e-12, atol=1e-12)


def test_monitor_ends_training_and_verbose_prints(capsys):
    X, y = friedman()
    model = GradientBoostingRegressor(subsample=0.5, verbose=2, n_estimators=9)
    model.fit(X, y, monitor=lambda i, _, variables: i == 3 and len(variables["y"]) == len(y))
    assert model.n_estimators_ == len(model.estimators_) == len(model.oob_improvement_) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Iter", "Train", "Loss", "OOB", "Improve", "Remaining", "Time"]
    assert len(lines) == 5


def test_rounds_are_chosen_by_cross_validation():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + 2 * rng.normal(size=150)
    model = GradientBoostingRegressor(n_estimators=60, learning_rate=0.3)
    result = choose_rounds(model, X, y, cv=3, sample_weight=np.ones(150))
    assert result.losses.shape == (3, 60)
    assert result.n_estimators == result.losses.mean(axis=0).argmin() + 1 < 30
    y = np.where(y > 0, "yes", "no")
    result = choose_rounds(GradientBoostingClassifier(n_estimators=5), X, y, cv=3)
    assert result.losses.shape == (3, 5)


def test_invalid_input_is_reported():
    X, y = friedman()
    with pytest.raises(ValueError, match="infinity"):
        GradientBoostingRegressor().fit(np.where(X > 0.9, np.inf, X), y)
    with pytest.raises(ValueError, match="minimum of 2 classes"):
        GradientBoostingClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="only suitable for a binary"):
        GradientBoostingClassifier(loss="exponential").fit(*classes(3))
    with pytest.raises(ValueError, match="does not support sample weights"):
        GradientBoostingRegressor(estimator=SignStump()).fit(X, y, weights(y))
    with pytest.warns(FutureWarning, match="criterion"):
        GradientBoostingRegressor(criterion="squared_error", n_estimators=1).fit(X, y)


def test_two_class_probabilities_do_not_depend_on_batches():
    score = np.random.default_rng(0).normal(size=2 * ROWS_AT_ONCE + 3, scale=9.0)
    second = expit(score)
    assert np.array_equal(logistic_of_two(score), np.column_stack([1.0 - second, second]))


def test_fit_copies_x_once_for_sorting():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30_000, 30)), rng.normal(size=30_000)
    model = GradientBoostingRegressor(n_estimators=2).fit(X[:200], y[:200])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9 * X.size + 100 * len(X)  # order and bins; sums; what is kept of each row


@pytest.mark.parametrize("params", [{}, {"max_features": 0.5}, {"max_depth": None}])
def test_float32_and_float64_weights_train_the_same_model(params):
    X, y = friedman(301)
    weight = weights(y).astype(np.float32)
    models = [
        GradientBoostingRegressor(n_estimators=3, random_state=0, **params).fit(X, y, given)
        for given in (weight, weight.astype(np.float64))
    ]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))


def test_training_folds_lacking_a_class_are_reported():
    X, y = load_wine(return_X_y=True)  # sorted by class
    with pytest.raises(ValueError, match=r"labels that the model was not trained on: \[0\]"):
        choose_rounds(GradientBoostingClassifier(n_estimators=2), X, y, cv=KFold(3))


@dataclass(frozen=True)
class Pull:
    """A loss with attributes of its own that cannot be set."""

    share: float = 0.5

    def start(self, y, weight):
        return np.array([np.average(y, weights=weight)])

    def negative_gradient(self, y, raw):
        return 2.0 * self.share * (y - raw[:, 0])

    def __call__(self, y, raw, weight):
        return self.share * np.average((y - raw[:, 0]) ** 2, weights=weight)


def test_custom_loss_keeps_its_attributes():
    X, y = friedman()
    loss = Pull()
    model = GradientBoostingRegressor(loss=loss, n_estimators=5, random_state=0).fit(X, y)
    assert loss.share == 0.5
    expected = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "params", [{"leaf_penalty": 1.0}, {"l2_regularization": 1.0}, {"parity": "scikit-learn"}]
)
def test_tree_parameters_are_refused_with_another_base_learner(params):
    (name,) = params
    with pytest.raises(ValueError, match=f"{name}=.* cannot be used with an estimator"):
        GradientBoostingRegressor(estimator=LinearRegression(), **params).fit(*friedman())
