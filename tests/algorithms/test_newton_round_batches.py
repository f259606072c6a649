"""Tests that batches of rounds of NewtonBoosting give bitwise the models of single rounds."""

import numpy as np
import pandas as pd
import pytest
from round_batches_kit import assert_equal_models as assert_equal_rounds
from round_batches_kit import make_classes, make_frame, record_counts
from scipy import sparse

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.compat import xgboost as drop_in
from algorithms.gbdt import round_batches, thread_choice
from algorithms.gbdt.round_batches import MAX_ROUNDS, RoundBatches
from algorithms.gbdt.thread_choice import FEW_VALUES
from algorithms.newton import base

N_ROUNDS = MAX_ROUNDS + 9  # more than one batch
OPTIONS = {"n_estimators": N_ROUNDS, "max_depth": 3, "random_state": 3}


def random_weights(n_rows):
    return np.random.default_rng(1).uniform(0.5, 2.0, n_rows)


def fit_both(monkeypatch, model, *table):
    """Return the model fitted in batches, and one by one."""
    models = []
    for is_batched in (True, False):
        with monkeypatch.context() as patch:
            if not is_batched:
                patch.setattr(base, "add_in_batches", lambda *_: False)
            models.append(type(model)(**model.get_params()).fit(*table))
    return models


def assert_equal_models(models):
    assert_equal_rounds(models)
    assert models[0].n_iter_ == models[0].n_estimators


@pytest.fixture
def count_batches(monkeypatch):
    """Return a list with the number of rounds asked for in each batch."""
    return record_counts(monkeypatch)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "objective",
    ["reg:squarederror", "reg:logistic", "count:poisson", "reg:gamma", "reg:tweedie"],
)
def test_regression_is_the_same(monkeypatch, count_batches, objective, is_weighted):
    X, y = make_frame()
    y = np.abs(y) + 0.1
    y = y / y.max() if objective == "reg:logistic" else y
    weight = random_weights(len(y)) if is_weighted else None
    model = NewtonBoostingRegressor(objective=objective, **OPTIONS)
    assert_equal_models(fit_both(monkeypatch, model, X, y, weight))
    assert count_batches == [N_ROUNDS, N_ROUNDS - MAX_ROUNDS]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_classes_are_the_same(monkeypatch, count_batches, n_jobs):
    X, y = make_frame()
    model = NewtonBoostingClassifier(n_jobs=n_jobs, scale_pos_weight=1.5, **OPTIONS)
    assert_equal_models(fit_both(monkeypatch, model, X, y > 1.0))
    assert len(count_batches) == 2


@pytest.mark.parametrize("n_rows", [150, FEW_VALUES // 5 + 1])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_trees_of_several_classes_are_the_same(monkeypatch, count_batches, n_rows, n_jobs):
    """The larger table has enough values for threads that grow trees side by side."""
    X, y = make_classes(n_rows)
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 3)
    monkeypatch.setattr(round_batches, "MAX_ROUNDS", 5)
    model = NewtonBoostingClassifier(**{**OPTIONS, "n_estimators": 9, "n_jobs": n_jobs})
    for weight in (None, random_weights(n_rows)):
        models = fit_both(monkeypatch, model, X, y, weight)
        assert_equal_models(models)
        single = NewtonBoostingClassifier(**{**model.get_params(), "n_jobs": 1})
        assert_equal_models([models[0], single.fit(X, y, weight)])
    assert count_batches[:2] == [9, 4]


LIMITS = [
    {"reg_alpha": 0.5},
    {"max_delta_step": 0.2},
    {"reg_lambda": 0.0, "min_child_weight": 0.0},
    {"gamma": 2.0},
    {"monotone_constraints": {"a": 1, "b": -1}},
    {"interaction_constraints": [["a", "b"], ["c", "d"]]},
    {"grow_policy": "lossguide", "max_leaves": 5, "max_depth": 0},
    {"max_cat_to_onehot": 20},
    {"max_bin": 8, "learning_rate": 0.01, "base_score": 0.7},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limited_trees_are_the_same(monkeypatch, count_batches, limits):
    X, y = make_frame()
    model = NewtonBoostingRegressor(**{**OPTIONS, **limits})
    assert_equal_models(fit_both(monkeypatch, model, X, y))
    assert len(count_batches) == 2


@pytest.mark.parametrize("min_child_weight", [1.0, 1e6])
def test_rounds_without_a_split_do_not_end_training(monkeypatch, count_batches, min_child_weight):
    """Without a split the only leaf has a value; the gradients of other rounds may have a split."""
    X, y = make_frame()
    options = {**OPTIONS, "min_child_weight": min_child_weight, "gamma": 30.0, "base_score": 0.0}
    models = fit_both(monkeypatch, NewtonBoostingRegressor(**options), X, y)
    assert_equal_models(models)
    assert (models[0].ensemble_.value[models[0].ensemble_.offsets[:-1]] != 0.0).any()
    assert len(count_batches) == 2


def test_hessians_that_become_one_are_exact_in_each_round(monkeypatch, count_batches):
    """Weights that differ from 1 by less than float32 resolves give hessians of 1."""
    X, y = make_frame()
    weight = 1.0 + 1e-9 * np.arange(len(y))
    models = fit_both(monkeypatch, NewtonBoostingRegressor(**OPTIONS), X, y, weight)
    assert_equal_models(models)
    assert models[0].ensemble_.cover[0] == len(y)
    assert len(count_batches) == 2


def test_sparse_rows_are_the_same(monkeypatch, count_batches):
    rng = np.random.default_rng(2)
    X = sparse.random(200, 12, 0.2, format="csr", random_state=2)
    y = X[:, [0]].toarray().ravel() + 0.1 * rng.normal(size=200)
    assert_equal_models(fit_both(monkeypatch, NewtonBoostingRegressor(**OPTIONS), X, y))
    assert len(count_batches) == 2


def test_scores_of_the_drop_in_are_rounded_alike(monkeypatch, count_batches):
    X, y = make_frame()
    X = X[["a", "b", "c"]]
    models = fit_both(monkeypatch, drop_in.XGBRegressor(**OPTIONS), X, y)
    assert count_batches
    scores = [model.predict(X) for model in models]
    assert np.array_equal(*scores)
    ours = NewtonBoostingRegressor(**OPTIONS).fit(X, y)
    assert not np.array_equal(ours.predict(X), scores[0])  # rounding the scores has an effect


def test_continued_training_is_the_same(monkeypatch, count_batches):
    X, y = make_frame()
    once = NewtonBoostingRegressor(**OPTIONS).fit(X, y)
    twice = NewtonBoostingRegressor(**{**OPTIONS, "n_estimators": 7, "warm_start": True}).fit(X, y)
    single = NewtonBoostingRegressor(**twice.get_params()).fit(X, y)
    for model in (twice, single):
        model.set_params(n_estimators=N_ROUNDS)
    twice.fit(X, y)
    monkeypatch.setattr(base, "add_in_batches", lambda *_: False)
    single.fit(X, y)
    assert_equal_models([twice, single])
    assert once.n_iter_ == twice.n_iter_
    assert len(count_batches) == 6  # two for all rounds, twice one for the first ones, two for more


def test_derivatives_that_are_not_finite_raise_the_same_error(monkeypatch):
    X, y = make_frame()
    options = {**OPTIONS, "learning_rate": 300.0, "objective": "count:poisson", "max_delta_step": 0}
    messages = []
    for batched in (base.add_in_batches, lambda *_: False):
        monkeypatch.setattr(base, "add_in_batches", batched)
        with pytest.raises(ValueError, match="finite: boosting has diverged") as caught:
            NewtonBoostingRegressor(**options).fit(X, np.abs(y))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


SINGLE = [
    {"subsample": 0.5},
    {"colsample_bytree": 0.5},
    {"colsample_bynode": 0.5},
    {"booster": "dart"},
    {"objective": "reg:absoluteerror"},
    {"objective": "reg:pseudohubererror"},
    {"num_parallel_tree": 2},
    {"max_leaves": 4},
    {"gamma": 1.0, "prune": "post"},
    {"tree_method": "exact"},
    {"tree_method": "approx"},
]


@pytest.mark.parametrize("params", SINGLE, ids=str)
def test_other_rounds_are_added_one_by_one(count_batches, params):
    X, y = make_frame()
    model = NewtonBoostingRegressor(**{**OPTIONS, "n_estimators": 3, **params})
    assert model.fit(X[["a", "b"]], y).n_iter_ == 3
    assert count_batches == []


def test_callbacks_and_evaluation_see_every_round(count_batches):
    X, y = make_frame()
    model = NewtonBoostingRegressor(**{**OPTIONS, "n_estimators": 4})
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    assert len(model.evals_result()["validation_0"]["rmse"]) == 4
    assert count_batches == []


def test_trees_that_threads_grow_together_are_the_same(monkeypatch):
    """A tree without a split is included: its only leaf is the root."""
    X, y = make_frame(3000)
    X = pd.concat([X[["a", "b", "c"]] * factor for factor in range(1, 6)], axis=1).to_numpy()
    sizes, add = [], RoundBatches.add
    monkeypatch.setattr(thread_choice, "MAX_WORK", 1)
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 2)

    def noted(self, count):
        result = add(self, count)
        sizes.append(self.size)
        return result

    monkeypatch.setattr(RoundBatches, "add", noted)
    for limits in ({}, {"min_child_weight": 1e6}):
        model = NewtonBoostingRegressor(**{**OPTIONS, **limits, "n_jobs": 2, "n_estimators": 20})
        models = fit_both(monkeypatch, model, X, y)
        assert_equal_models(models)
        alone = NewtonBoostingRegressor(**{**model.get_params(), "n_jobs": 1}).fit(X, y)
        assert_equal_models([models[0], alone])
    assert set(sizes) == {1, 2}
