"""Tests that batches of rounds of GradientBoosting give bitwise the models of single rounds."""

import numpy as np
import pytest

from algorithms import GradientBoostingClassifier, GradientBoostingRegressor
from algorithms.boosting import gradient_rounds, round_batches
from algorithms.boosting.round_batches import MAX_ROUNDS, RoundBatches
from algorithms.levelwise import grower
from algorithms.runtime import batch_size

N_ROUNDS = MAX_ROUNDS + 4  # more than one batch
RESULTS = ("train_score_", "oob_scores_", "oob_improvement_", "steps_")


def make_table(n_classes=0, n_rows=150):
    """Return X with ties and missing values, and y: positive numbers, or class codes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, 4))
    X[:, 0] = np.round(X[:, 0])
    y = np.exp(X[:, 0] + X[:, 1] ** 2 - 2.0 + 0.5 * rng.normal(size=n_rows))
    X[rng.random(X.shape) < 0.1] = np.nan
    if not n_classes:
        return X, y
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def make_model(n_classes, **parameters):
    kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    return kind(random_state=3, **{"n_estimators": N_ROUNDS, **parameters})


@pytest.fixture
def count_batches(monkeypatch):
    """Return a list with the number of rounds of each batch."""
    counts, add = [], RoundBatches.add

    def record(self, first, last):
        done = add(self, first, last)
        counts.append(done - first)
        return done

    monkeypatch.setattr(RoundBatches, "add", record)
    return counts


def fit_one_by_one(monkeypatch, model, *table):
    with monkeypatch.context() as patch:
        patch.setattr(gradient_rounds, "make_batches", lambda _: None)
        return model.fit(*table)


def assert_equal_models(model, other):
    for name in RESULTS:
        assert hasattr(model, name) == hasattr(other, name)
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    assert model.estimators_.shape == other.estimators_.shape
    for one, two in zip(model.estimators_.ravel(), other.estimators_.ravel(), strict=True):
        assert one.tree_.nodes.tobytes() == two.tree_.nodes.tobytes()
        assert one.tree_.values.tobytes() == two.tree_.values.tobytes()
        assert one.tree_.max_depth == two.tree_.max_depth


CASES = [
    (0, {"loss": "squared_error"}),
    (0, {"loss": "poisson"}),
    (2, {"loss": "log_loss"}),
    (2, {"loss": "exponential"}),
    (3, {"loss": "log_loss"}),
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.6},
        {"l2_regularization": 2.0, "leaf_penalty": 1e-3, "max_depth": 5},
        {"max_depth": 1, "learning_rate": 1, "min_samples_leaf": 9},
    ],
)
@pytest.mark.parametrize(("n_classes", "loss"), CASES)
def test_models_are_the_same(monkeypatch, count_batches, n_classes, loss, options):
    table = make_table(n_classes)
    model = make_model(n_classes, **loss, **options).fit(*table)
    assert sum(count_batches) == N_ROUNDS
    other = fit_one_by_one(monkeypatch, make_model(n_classes, **loss, **options), *table)
    assert_equal_models(model, other)


@pytest.mark.parametrize(("n_classes", "loss"), CASES)
def test_weighted_models_are_the_same(monkeypatch, count_batches, n_classes, loss):
    X, y = make_table(n_classes)
    weight = np.random.default_rng(2).random(len(y))
    monkeypatch.setattr(batch_size, "MAX_SECONDS", np.inf)
    for subsample, n_batches in ((1.0, 2), (0.5, 9)):
        given = {**loss, "subsample": subsample, "n_estimators": 9}
        model = make_model(n_classes, **given).fit(X, y, weight)
        assert len(count_batches) == n_batches
        other = fit_one_by_one(monkeypatch, make_model(n_classes, **given), X, y, weight)
        assert_equal_models(model, other)
        count_batches.clear()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_models_of_several_threads_are_the_same(monkeypatch, n_classes):
    table = make_table(n_classes, n_rows=40_000)  # several blocks of rows
    given = {"n_estimators": 3, "subsample": 0.7}
    other = fit_one_by_one(monkeypatch, make_model(n_classes, **given), *table)
    monkeypatch.setattr(grower, "VALUES_OF_A_THREAD", 1)
    for n_jobs in (1, 2, 3):
        assert_equal_models(make_model(n_classes, n_jobs=n_jobs, **given).fit(*table), other)


def test_batches_grow_up_to_their_maximum_size(monkeypatch, count_batches):
    table = make_table()
    monkeypatch.setattr(batch_size, "MAX_SECONDS", np.inf)
    model = make_model(0, n_estimators=N_ROUNDS).fit(*table)
    assert count_batches[:2] == [1, 8]
    assert sum(count_batches) == N_ROUNDS
    monkeypatch.setattr(round_batches, "MAX_ROUNDS", 10)
    count_batches.clear()
    assert_equal_models(model, make_model(0).fit(*table))
    assert max(count_batches) == 10
    monkeypatch.setattr(batch_size, "MAX_SECONDS", 0.0)
    count_batches.clear()
    assert_equal_models(model, make_model(0).fit(*table))
    assert count_batches == [1] * N_ROUNDS
    monkeypatch.setattr(batch_size, "MAX_SECONDS", np.inf)
    monkeypatch.setattr(round_batches, "MAX_BYTES", 1)
    count_batches.clear()
    assert_equal_models(model, make_model(0).fit(*table))
    assert count_batches == [1] * N_ROUNDS


def test_warm_start_continues_the_draws(monkeypatch):
    table = make_table(2)
    model = make_model(2, subsample=0.5, n_estimators=5, warm_start=True).fit(*table)
    model.set_params(n_estimators=11).fit(*table)
    other = fit_one_by_one(monkeypatch, make_model(2, subsample=0.5, n_estimators=11), *table)
    assert_equal_models(model, other)


def test_watched_rounds_are_added_one_by_one(count_batches):
    seen = []

    def monitor(i, model, variables):
        seen.append((i, model.train_score_[i], variables["raw_predictions"].copy()))
        return i == 6

    model = make_model(0).fit(*make_table(), monitor=monitor)
    assert count_batches == [1] * 7
    assert len(model.estimators_) == 7
    assert [i for i, *_ in seen] == list(range(7))
    assert seen[6][1] == model.train_score_[6]


@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (0, {"loss": "huber"}),
        (0, {"loss": "absolute_error"}),
        (0, {"step": "global"}),
        (0, {"max_leaf_nodes": 5}),
        (0, {"max_features": 2}),
        (0, {"ccp_alpha": 0.1}),
        (2, {"max_depth": 12}),
    ],
)
def test_other_rounds_are_not_batched(count_batches, n_classes, options):
    model = make_model(n_classes, **{"n_estimators": 3, **options}).fit(*make_table(n_classes))
    assert not count_batches
    assert len(model.estimators_) == 3


def test_small_targets_are_not_batched(count_batches):
    X, y = make_table()
    model = make_model(0, n_estimators=3).fit(X, 1e-9 * y)
    assert not count_batches
    assert model.estimators_[0, 0].tree_.node_count > 1
