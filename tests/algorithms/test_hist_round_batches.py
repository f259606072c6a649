"""Tests that batches of rounds give bitwise the models of rounds that are added one by one."""

import gc
import signal
import threading

import numpy as np
import pandas as pd
import pytest
from round_batches_kit import assert_equal_models, make_classes, make_frame, record_counts
from scipy import sparse

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt import base, early_stopping, resident_threads, round_batches, thread_choice
from algorithms.gbdt.kernels.grow_tree import FEW_ROWS
from algorithms.gbdt.round_batches import MAX_ROUNDS, RoundBatches
from algorithms.gbdt.thread_choice import FEW_VALUES
from algorithms.runtime.threads import Workers

N_ROUNDS = MAX_ROUNDS + 9  # more than one batch


def fit_both(monkeypatch, model, *table):
    """Return the model fitted in batches, and one by one."""
    models = []
    for is_batched in (True, False):
        with monkeypatch.context() as patch:
            if not is_batched:
                patch.setattr(early_stopping, "can_batch", lambda _: False)
            models.append(type(model)(**model.get_params()).fit(*table))
    return models


@pytest.fixture
def count_batches(monkeypatch):
    """Return a list with the number of rounds asked for in each batch."""
    return record_counts(monkeypatch)


OPTIONS = {"n_estimators": N_ROUNDS, "num_leaves": 7, "min_child_samples": 5, "random_state": 3}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("objective", ["regression", "huber", "poisson", "fair"])
def test_regression_is_the_same(monkeypatch, count_batches, objective, is_weighted):
    X, y = make_frame()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if is_weighted else None
    model = HistogramBoostingRegressor(objective=objective, **OPTIONS)
    assert_equal_models(fit_both(monkeypatch, model, X, np.abs(y), weight))
    assert count_batches == [N_ROUNDS - 1, N_ROUNDS - 1 - MAX_ROUNDS]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classification_is_the_same(monkeypatch, count_batches, n_jobs):
    X, y = make_frame()
    model = HistogramBoostingClassifier(n_jobs=n_jobs, **OPTIONS)
    assert_equal_models(fit_both(monkeypatch, model, X, y > 1.0))
    assert len(count_batches) == 2


@pytest.mark.parametrize("min_split_gain", [0.0, 4.0])
def test_random_thresholds_are_the_same(monkeypatch, count_batches, min_split_gain):
    X, y = make_frame()
    options = {**OPTIONS, "extra_trees": True, "min_split_gain": min_split_gain}
    models = fit_both(monkeypatch, HistogramBoostingRegressor(**options), X, y)
    assert_equal_models(models)
    assert len(count_batches) >= 2
    assert models[0].n_iter_ == N_ROUNDS  # a round without a split does not end training


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_trees_of_several_classes_are_the_same(monkeypatch, count_batches, objective, n_jobs):
    """The table is large enough for threads that grow trees side by side."""
    X, y = make_classes(FEW_VALUES // 5 + 1)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 3)
    model = HistogramBoostingClassifier(**{**OPTIONS, "n_jobs": n_jobs, "objective": objective})
    with monkeypatch.context() as patch:
        patch.setattr(round_batches, "MAX_ROUNDS", 5)
        model.set_params(n_estimators=9)
        models = fit_both(monkeypatch, model, X, y, weight)
    assert_equal_models(models)
    assert count_batches == [8, 3]
    single = HistogramBoostingClassifier(**{**model.get_params(), "n_jobs": 1})
    assert_equal_models([models[0], single.fit(X, y, weight)])


def test_small_table_of_several_classes_uses_one_thread(monkeypatch, count_batches):
    X, y = make_classes(150)
    teams, grow = [], RoundBatches._grow
    monkeypatch.setattr(
        RoundBatches, "_grow", lambda self, own: (teams.append(own.team.size), grow(self, own))
    )
    model = HistogramBoostingClassifier(n_jobs=2, **{**OPTIONS, "n_estimators": 4})
    assert_equal_models(fit_both(monkeypatch, model, X, y))
    assert count_batches == [3]
    assert teams == [1]


@pytest.mark.parametrize("n_rows", [150, FEW_VALUES // 5 + 1])
def test_training_of_classes_ends_when_no_score_changes(monkeypatch, n_rows):
    X, y = make_classes(n_rows)
    options = {**OPTIONS, "n_jobs": 2, "min_split_gain": n_rows / 25.0}
    models = fit_both(monkeypatch, HistogramBoostingClassifier(**options), X, y)
    assert_equal_models(models)
    assert 2 < models[0].n_iter_ < N_ROUNDS


@pytest.fixture
def share_trees(monkeypatch):
    """Let several threads grow each tree; return a list with the team's size of each batch."""
    for name in ("SMALL", "MAX_WORK", "MIN_VALUES_FOR_THREADS"):
        monkeypatch.setattr(thread_choice, name, 0)
    monkeypatch.setattr(thread_choice, "FEW_VALUES", 10**9)  # no trees side by side
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 3)
    monkeypatch.setattr(resident_threads, "SLOWER", np.inf)
    sizes, grow = [], RoundBatches._grow
    monkeypatch.setattr(
        RoundBatches, "_grow", lambda self, own: (sizes.append(own.team.size), grow(self, own))
    )
    return sizes


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize(
    ("objective", "options"),
    [
        ("regression", {}),
        ("poisson", {"num_leaves": 31, "max_bin": 15}),
        ("regression", {"extra_trees": True}),
        ("fair", {"monotone_constraints": [1, 0, -1, 0, 0]}),
        ("regression", {"interaction_constraints": [[0, 1], [1, 2, 3], [4]]}),
    ],
)
def test_trees_grown_by_several_threads_are_the_same(
    monkeypatch, share_trees, objective, options, n_jobs
):
    """The first leaves have so many rows that all threads split them, the others one thread."""
    X, y = make_frame(2 * FEW_ROWS)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    options = {**OPTIONS, "n_estimators": 30, **options}
    model = HistogramBoostingRegressor(objective=objective, n_jobs=n_jobs, **options)
    models = fit_both(monkeypatch, model, X, np.abs(y), weight)
    assert_equal_models(models)
    assert set(share_trees) == {1, n_jobs}  # one thread adds the first rounds
    single = HistogramBoostingRegressor(objective=objective, n_jobs=1, **options)
    assert_equal_models([models[0], single.fit(X, np.abs(y), weight)])


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_classes_of_trees_grown_by_several_threads_are_the_same(
    monkeypatch, share_trees, objective
):
    X, y = make_classes(500)
    options = {**OPTIONS, "n_estimators": 12, "n_jobs": 2, "objective": objective}
    models = fit_both(monkeypatch, HistogramBoostingClassifier(**options), X, y)
    assert_equal_models(models)
    assert set(share_trees) == {1, 2}


def test_sparse_columns_of_shared_trees_are_the_same(monkeypatch, share_trees):
    rng = np.random.default_rng(2)
    X = sparse.random_array((2 * FEW_ROWS, 40), density=0.02, format="csr", rng=rng)
    y = X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=X.shape[0])
    model = HistogramBoostingRegressor(**{**OPTIONS, "n_estimators": 20, "n_jobs": 2})
    assert_equal_models(fit_both(monkeypatch, model, X, y))
    assert set(share_trees) == {1, 2}


@pytest.mark.parametrize("task", ["regression", "weights", "classes"])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_columns_of_many_categories_are_the_same(monkeypatch, share_trees, task, n_jobs):
    """Their bins are chosen for each tree, which also has missing and rare categories."""
    X, y = make_frame(3000)
    rng = np.random.default_rng(4)
    for name, n_codes in (("many", 400), ("more", 900)):
        codes = (n_codes * rng.random(len(y)) ** 3).astype(int)
        X[name] = pd.Categorical.from_codes(
            np.where(rng.random(len(y)) < 0.05, -1, codes), range(n_codes)
        )
        y = y + np.sin(codes)
    kind, weight = HistogramBoostingRegressor, None
    if task == "weights":
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    if task == "classes":
        kind, y = HistogramBoostingClassifier, np.digitize(y, [0.0, 1.0, 2.0])
    model = kind(**{**OPTIONS, "n_estimators": 24, "n_jobs": n_jobs})
    models = fit_both(monkeypatch, model, X, y, weight)
    assert_equal_models(models)
    assert np.isin([5, 6], models[0].ensemble_.feature).all()
    assert set(share_trees) == {1, n_jobs}


def test_shared_training_ends_when_no_score_changes(monkeypatch, share_trees):
    X, y = make_frame(500)
    options = {**OPTIONS, "n_jobs": 2, "min_split_gain": 20.0}
    models = fit_both(monkeypatch, HistogramBoostingRegressor(**options), X, y)
    assert_equal_models(models)
    assert 2 < models[0].n_iter_ < N_ROUNDS
    assert set(share_trees) == {1, 2}


def test_one_thread_adds_rounds_after_several_were_slower(monkeypatch, share_trees):
    monkeypatch.setattr(resident_threads, "SLOWER", 0.0)
    X, y = make_frame(300)
    model = HistogramBoostingRegressor(**{**OPTIONS, "n_estimators": 17, "n_jobs": 2})
    assert_equal_models(fit_both(monkeypatch, model, X, y))
    assert share_trees == 4 * [1, 2, 2]


def test_interrupted_batch_of_shared_trees_raises(monkeypatch, share_trees):
    X, y = make_frame(3000)
    model = HistogramBoostingRegressor(**{**OPTIONS, "n_estimators": 10**6, "n_jobs": 2})
    timer = raise_interrupt_in_batches(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert 2 in share_trees


def test_gradients_that_are_not_finite_end_shared_training(monkeypatch, share_trees):
    X, y = make_frame(300)
    make = RoundBatches._rounds

    def spoiled(self, n_rounds):
        rounds = make(self, n_rounds)
        if self.size > 1:
            rounds.score[0, 0] = np.nan
        return rounds

    monkeypatch.setattr(RoundBatches, "_rounds", spoiled)
    model = HistogramBoostingRegressor(**{**OPTIONS, "n_jobs": 2})
    with pytest.raises(ValueError, match="not finite"):
        model.fit(X, y)
    assert 2 in share_trees


def raise_interrupt_in_batches(monkeypatch):
    """Raise SIGINT one second after the first batch begins; return the timer."""
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    add = RoundBatches.add

    def start_timer(self, count):
        if not timer.is_alive() and not timer.finished.is_set():
            timer.start()
        return add(self, count)

    monkeypatch.setattr(RoundBatches, "add", start_timer)
    return timer


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_batch_of_classes_raises(monkeypatch, n_jobs):
    X, y = make_classes(FEW_VALUES // 5 + 1)
    model = HistogramBoostingClassifier(**{**OPTIONS, "n_estimators": 10**6}, n_jobs=n_jobs)
    timer = raise_interrupt_in_batches(monkeypatch)
    gc.disable()  # an exception in a callback of the garbage collector would be lost
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        gc.enable()
    timer.join()


def test_training_ends_when_no_score_changes(monkeypatch):
    X, y = make_frame()
    model = HistogramBoostingRegressor(**OPTIONS, min_split_gain=4.0)
    models = fit_both(monkeypatch, model, X, y)
    assert_equal_models(models)
    assert 2 < models[0].n_iter_ < N_ROUNDS


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_gradients_of_a_class_that_are_not_finite_raise_an_error(monkeypatch, n_jobs):
    """The threads of a team leave together if one of them cannot grow a tree."""
    X, y = make_classes(FEW_VALUES // 5 + 1)
    make = RoundBatches._rounds

    def spoiled(self, n_rounds):
        rounds = make(self, n_rounds)
        rounds.score[:, 7] = [0.0, np.inf, 0.0, 0.0, 0.0]
        return rounds

    monkeypatch.setattr(RoundBatches, "_rounds", spoiled)
    with pytest.raises(ValueError, match="gradients of the loss are not finite"):
        HistogramBoostingClassifier(**OPTIONS, n_jobs=n_jobs).fit(X, y)


def test_gradients_that_are_not_finite_raise_the_same_error(monkeypatch):
    X, y = make_frame()
    options = {**OPTIONS, "learning_rate": 300.0, "objective": "poisson"}
    for can_batch in (early_stopping.can_batch, lambda _: False):
        monkeypatch.setattr(early_stopping, "can_batch", can_batch)
        with pytest.raises(ValueError, match="of the loss are not finite"):
            HistogramBoostingRegressor(**options).fit(X, np.abs(y))


SINGLE = [
    {"subsample": 0.5, "subsample_freq": 1},
    {"colsample_bytree": 0.5},
    {"boosting_type": "dart"},
    {"objective": "quantile"},
    {"data_sample_strategy": "goss"},
]


@pytest.mark.parametrize("params", SINGLE, ids=str)
def test_other_rounds_are_added_one_by_one(count_batches, params):
    X, y = make_frame()
    HistogramBoostingRegressor(**{**OPTIONS, "n_estimators": 3, **params}).fit(X, y)
    assert count_batches == []


def test_callbacks_and_evaluation_see_every_round(count_batches):
    X, y = make_frame()
    seen = []
    model = HistogramBoostingRegressor(**{**OPTIONS, "n_estimators": 4})
    model.fit(X, y, callbacks=[lambda env: seen.append(env.iteration)])
    model.fit(X, y, eval_set=[(X, y)])
    assert seen == [0, 1, 2, 3]
    assert len(model.evals_result_["training"]["l2"]) == 4
    assert count_batches == []


@pytest.mark.parametrize(("n_rows", "threads"), [(1638, 1), (1639, 2)])
def test_one_thread_trains_on_few_values(monkeypatch, n_rows, threads):
    given = []
    monkeypatch.setattr(base, "Workers", lambda n: given.append(n) or Workers(n))
    X, y = make_frame(n_rows)
    HistogramBoostingRegressor(n_estimators=2, n_jobs=2).fit(X, y)
    assert X.shape[1] == 5
    assert given == [threads]
