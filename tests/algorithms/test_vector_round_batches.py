"""Tests that batches of rounds of vector leaves give bitwise the models of single rounds."""

import numpy as np
import pytest
from round_batches_kit import assert_equal_models
from round_batches_kit import make_classes as make_categorical_classes

from algorithms import NewtonBoostingClassifier
from algorithms.compat import xgboost as drop_in
from algorithms.newton import base, vector_grower, vector_round_batches
from algorithms.newton.vector_round_batches import VectorRoundBatches

OPTIONS = {"multi_strategy": "multi_output_tree", "n_estimators": 9, "max_depth": 4}


def make_classes(n_rows):
    """Return a table without categories and codes of five classes of unequal frequency."""
    X, y = make_categorical_classes(n_rows)
    return X.assign(d=X["d"].cat.codes), y


@pytest.fixture
def counts(monkeypatch):
    """Return a list with the number of rounds after each batch; a batch has at most five."""
    found, add = [], VectorRoundBatches.add

    def count_rounds(self, count):
        add(self, count)
        found.append(len(self.boosting.done))

    monkeypatch.setattr(VectorRoundBatches, "add", count_rounds)
    monkeypatch.setattr(vector_round_batches, "MAX_ROUNDS", 5)
    return found


def fit_one_by_one(monkeypatch, model, *table):
    """Return an equal model that is fitted without batches."""
    with monkeypatch.context() as patch:
        patch.setattr(base, "add_in_batches", lambda *_: False)
        return type(model)(**model.get_params()).fit(*table)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"reg_alpha": 0.5, "reg_lambda": 0.1},
        {"max_delta_step": 0.3},
        {"min_child_weight": 4.0, "gamma": 0.2},
        {"grow_policy": "lossguide", "max_leaves": 5, "max_depth": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_models_are_the_same(monkeypatch, counts, params, is_weighted):
    X, y = make_classes(500)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 500) if is_weighted else None
    model = NewtonBoostingClassifier(**{**OPTIONS, **params}).fit(X, y, weight)
    assert counts == [5, 9]
    assert_equal_models([model, fit_one_by_one(monkeypatch, model, X, y, weight)])


def test_threads_do_not_change_the_model(monkeypatch, counts):
    X, y = make_classes(9000)
    alone = NewtonBoostingClassifier(**OPTIONS, n_jobs=1).fit(X, y)
    monkeypatch.setattr(vector_grower, "SMALL", 0)
    together = NewtonBoostingClassifier(**OPTIONS, n_jobs=3).fit(X, y)
    assert counts == [5, 9, 5, 9]
    assert_equal_models([alone, together])


def test_continued_training_is_the_same(counts):
    X, y = make_classes(500)
    once = NewtonBoostingClassifier(**OPTIONS).fit(X, y)
    twice = NewtonBoostingClassifier(**{**OPTIONS, "n_estimators": 5, "warm_start": True})
    twice.fit(X, y).set_params(n_estimators=9).fit(X, y)
    assert counts == [5, 9, 5, 9]
    assert once.n_iter_ == twice.n_iter_ == 9


def test_scores_that_are_not_finite_raise_the_same_error(monkeypatch):
    X, y = make_classes(500)
    options = {"learning_rate": 1e38, "min_child_weight": 0.0, "max_delta_step": 0.0}
    messages = []
    for batched in (base.add_in_batches, lambda *_: False):
        monkeypatch.setattr(base, "add_in_batches", batched)
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(ValueError, match="not finite: boosting has diverged") as caught,
        ):
            NewtonBoostingClassifier(**OPTIONS, **options).fit(X, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "params",
    [{"subsample": 0.5}, {"colsample_bytree": 0.5}, {"colsample_bynode": 0.5}, {"max_leaves": 4}],
    ids=str,
)
def test_other_rounds_are_added_one_by_one(counts, params):
    X, y = make_classes(300)
    model = NewtonBoostingClassifier(**{**OPTIONS, **params}).fit(X, y)
    assert counts == []
    assert model.n_iter_ == 9


def test_rounded_scores_are_not_batched(counts):
    X, y = make_classes(300)
    drop_in.XGBClassifier(**OPTIONS).fit(X, y)
    assert counts == []
