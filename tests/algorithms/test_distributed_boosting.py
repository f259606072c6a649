"""Tests that training on ranks gives the local model bitwise; ranks are threads here."""

import numpy as np
import pytest
from ranks_kit import digest_of, partitionings, train_ranks

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.distributed.feature_voting import NO_VOTE, VotingGrower
from algorithms.distributed.sockets import LinkError
from algorithms.gbdt.model import join_trees
from algorithms.prediction.predictor import FastPredictor

N = 900


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    X[:, 1] = rng.integers(0, 5, N)
    X[:, 2] = rng.integers(0, 40, N)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) % 3 + rng.normal(size=N) * 0.3
    return X, y, rng.random(N) + 0.1


def model(kind, **params):
    return kind(**{"n_estimators": 3, "num_leaves": 12, "random_state": 3, **params})


CASES = {
    "regression": model(HistogramBoostingRegressor),
    "categories": model(HistogramBoostingRegressor, categorical_feature=[1, 2], cat_smooth=1.0),
    "crowds": model(
        HistogramBoostingRegressor, categorical_feature=[1, 2], cat_smooth=1.0, max_bin=20
    ),
    "means": model(HistogramBoostingRegressor, objective="poisson"),
    "fair": model(HistogramBoostingRegressor, objective="fair", fair_c=0.5),
    "shares": model(HistogramBoostingRegressor, objective="cross_entropy"),
    "binary, unbalanced": model(HistogramBoostingClassifier, is_unbalance=True),
    "huber": model(HistogramBoostingRegressor, objective="huber", alpha=0.5, max_depth=3),
    "sampled": model(
        HistogramBoostingRegressor,
        subsample_for_bin=200,
        max_bin=20,
        subsample=0.5,
        subsample_freq=2,
        colsample_bytree=0.5,
        extra_trees=True,
    ),
    "bounded": model(
        HistogramBoostingRegressor,
        reg_alpha=0.1,
        path_smooth=1.0,
        monotone_constraints=[1, 0, 0, 0, 0, 0],
        interaction_constraints=[[0, 1, 2], [2, 3]],
    ),
    "one side": model(HistogramBoostingRegressor, data_sample_strategy="goss", learning_rate=0.6),
    "multiclass, one side": model(
        HistogramBoostingClassifier, data_sample_strategy="goss", learning_rate=0.6
    ),
    "binary": model(HistogramBoostingClassifier),
    "multiclass": model(HistogramBoostingClassifier, n_estimators=2),
    "multiclassova": model(HistogramBoostingClassifier, n_estimators=2, objective="ova"),
}


def target_of(name, y):
    if name.startswith("binary"):
        return (y > 1.0).astype(int)
    if name.startswith("multiclass"):
        return np.digitize(y, [0.5, 1.5])
    if name == "shares":
        return 1.0 / (1.0 + np.exp(-y))
    return np.abs(y) if name == "means" else y


def ensemble_of(result, local):
    classes = getattr(local, "classes_", None)
    return join_trees(result.rounds, result.binner, result.base, local._link, classes)


ALWAYS = [(name, size) for name in ("regression", "binary") for size in (1, 2, 3, 4)]
ONCE = [(name, 3) for name in CASES if name not in ("regression", "binary")]


@pytest.mark.parametrize("learner", ["data", "feature", "voting"])  # for all six features
@pytest.mark.parametrize(("name", "size"), ALWAYS + ONCE)
def test_model_equals_local_model(name, size, learner):
    X, y, weight = table()
    y = target_of(name, y)
    weight = weight if name in ("binary", "multiclass", "huber", "binary, unbalanced") else None
    local = CASES[name].fit(X, y, weight)
    even, mixed, lopsided = partitionings(N, size, np.random.default_rng(size))
    every = (even, mixed, lopsided) if size > 1 else (even, mixed)
    for parts in every if (name, size) in ALWAYS else (mixed,):
        results = train_ranks(
            CASES[name], X, y, weight, parts=parts, size=size, tree_learner=learner
        )
        actual = ensemble_of(results[0], local)
        assert digest_of(actual) == digest_of(local.ensemble_)
        assert [result.lost for result in results] == [""] * size


def test_float32_rows_and_threads_give_the_local_model():
    X, y, _ = table()
    X = X.astype(np.float32)
    case = model(HistogramBoostingRegressor, n_jobs=2)
    local = case.fit(X, y)
    results = train_ranks(case, X, y, parts=[(0, 300), (1, 600)], size=2)
    assert digest_of(ensemble_of(results[0], local)) == digest_of(local.ensemble_)


def test_feature_parallel_training_sends_only_decisions():
    X, y, _ = table()
    sent = {
        learner: train_ranks(
            CASES["regression"], X, y, parts=[(0, 400), (1, 500)], size=2, tree_learner=learner
        )[0].sent
        for learner in ("data", "feature")
    }
    assert "histograms" not in sent["feature"]
    assert sent["data"]["histograms"][0] > 10 * sent["data"]["splits"][0]
    assert sent["feature"]["splits"][0] <= sent["data"]["splits"][0]


def wide_table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 60))
    return X, X[:, 7] + X[:, 40] * (X[:, 21] > 0) + rng.normal(size=N)


def test_voting_selects_important_features_and_reduces_traffic():
    X, y = wide_table()
    case = model(HistogramBoostingRegressor, n_estimators=5)
    parts = {"parts": [(0, 300), (2, 250), (1, 350)], "size": 3}
    some = {"tree_learner": "voting", "top_k": 2}
    kinds = {"all": {}, "some": some, "again": some}
    results = {what: train_ranks(case, X, y, **parts, **how)[0] for what, how in kinds.items()}
    local = case.fit(X, y)
    ensembles = {what: ensemble_of(result, local) for what, result in results.items()}
    assert digest_of(ensembles["some"]) == digest_of(ensembles["again"])
    assert digest_of(ensembles["some"]) != digest_of(ensembles["all"])
    sent = {
        what: sum(count for count, _ in result.sent.values()) for what, result in results.items()
    }
    assert sent["some"] < sent["all"] / 3
    scores = (FastPredictor(ensembles[what]).raw(X).ravel() for what in ("some", "all"))
    some, whole = (np.mean((score - y) ** 2) for score in scores)
    assert some < 1.2 * whole < 1.2 * np.var(y)


def test_twice_the_number_of_votes_is_summed():
    X, y = wide_table()
    case = model(HistogramBoostingRegressor, n_estimators=2)
    parts = {"parts": [(0, 400), (1, 500)], "size": 2, "tree_learner": "voting"}
    local = case.fit(X, y)
    results = train_ranks(case, X, y, **parts, top_k=30)
    assert digest_of(ensemble_of(results[0], local)) == digest_of(local.ensemble_)


def test_features_with_most_votes_are_chosen():
    grower = VotingGrower.__new__(VotingGrower)
    grower.features, grower.top_k = np.arange(6), 2
    cast = np.array([[4, 1], [1, 4], [2, 0], [5, NO_VOTE]], np.uint32)
    assert grower.count_votes(cast).tolist() == [1, 2, 4, 5]  # 2 and 5 come first, 0 comes second


def test_rounds_stop_with_the_local_fit():
    X, y, _ = table()
    case = model(
        HistogramBoostingRegressor, n_estimators=60, learning_rate=0.6, early_stopping_round=2
    )
    held = [(X[:300], y[:300])]
    local = case.fit(X[300:], y[300:], eval_set=held)
    tables = {"has_tables": True, "eval_set": held}
    parts = [(0, 200), (1, 400)]
    results = train_ranks(case, X[300:], y[300:], parts=parts, size=2, **tables)
    best_round, best, history = results[0].watched
    assert (best_round, best, history) == (
        local.best_iteration_,
        local.best_score_,
        local.evals_result_,
    )
    (values,) = local.evals_result_["valid_0"].values()
    assert len(results[0].rounds) == len(values) < 60


@pytest.mark.parametrize("learner", ["data", "feature"])
@pytest.mark.parametrize("name", ["sampled", "binary", "categories"])
def test_training_resumes_where_it_stopped(name, learner):
    X, y, weight = table()
    y = target_of(name, y)
    parts = [(0, 400), (1, 500)]
    whole = train_ranks(CASES[name], X, y, weight, parts=parts, size=2)[0]
    parts = [(2, 100), (1, 300), (0, 500)]
    case = {"parts": parts, "size": 3, "tree_learner": learner, "rounds": whole.rounds[:1]}
    again = train_ranks(CASES[name], X, y, weight, **case)[0]
    local = CASES[name].fit(X, y, weight)
    assert len(again.rounds) == len(whole.rounds) > 1
    assert digest_of(ensemble_of(again, local)) == digest_of(local.ensemble_)


def test_lost_rank_ends_training_and_other_ranks_keep_their_rounds():
    X, y, _ = table()
    case = model(HistogramBoostingRegressor, n_estimators=200)

    def around(ranks):
        if ranks.rank != 2:
            return
        gather, calls = ranks.gather, []

        def fail(data, what):
            calls.append(what)
            if calls.count("steps") == 4:
                raise LinkError("pulled out")
            return gather(data, what)

        ranks.gather = fail

    results = train_ranks(case, X, y, parts=[(0, 300), (1, 300), (2, 300)], size=3, around=around)
    assert all(result.lost for result in results)
    assert [len(result.rounds) for result in results] == [3, 3, 3]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_slow_link_does_not_change_the_model(size):
    X, y, _ = table()
    case = model(HistogramBoostingRegressor, n_estimators=2, num_leaves=6)
    expected = digest_of(case.fit(X, y).ensemble_)
    for parts in partitionings(N, size, np.random.default_rng(size)):
        results = train_ranks(case, X, y, parts=parts, size=size, delay=0.003)
        assert digest_of(ensemble_of(results[0], case)) == expected


def test_invalid_targets_are_an_error_on_every_rank():
    X, y, _ = table()
    y = np.where(np.arange(N) == 700, 1e300, y)
    with pytest.raises(ValueError, match="not finite"), np.errstate(over="ignore"):
        train_ranks(CASES["regression"], X, y, parts=[(0, 400), (1, 500)], size=2)


@pytest.mark.parametrize("learner", ["data", "feature"])
def test_vanishing_targets_are_an_error_on_every_rank_even_without_rows(learner):
    X, y, weight = table()
    parts = [(0, 0), (1, N)]
    with pytest.raises(ValueError, match="too small"):
        train_ranks(CASES["huber"], X, 1e-60 * y, weight, parts=parts, size=2, tree_learner=learner)


@pytest.mark.parametrize("learner", ["data", "feature"])
def test_scaled_and_zero_weights_equal_the_local_model(learner):
    X, y, weight = table()
    for own in (1e-60 * weight, np.full(N, 3.0)):
        local = CASES["huber"].fit(X, y, own)
        parts = [(0, 400), (1, N - 400)]
        results = train_ranks(CASES["huber"], X, y, own, parts=parts, size=2, tree_learner=learner)
        assert digest_of(ensemble_of(results[0], local)) == digest_of(local.ensemble_)
