"""NewtonBoostingRanker: objectives, queries, metrics and model files."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from algorithms import NewtonBoostingRanker
from algorithms.compat import xgboost as compat


def queries(seed=0, n_queries=30):
    """Return X, labels 0 … 4 and group sizes of random queries."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, 30, n_queries)
    X = rng.normal(size=(group.sum(), 4)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X, np.clip(np.round(signal + 0.5), 0, 4).astype(int), group


X, Y, GROUP = queries()
X_VALID, Y_VALID, GROUP_VALID = queries(1)
QID = np.repeat(np.arange(len(GROUP)), GROUP)
VALID = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [GROUP_VALID]}
WEIGHT = np.random.default_rng(2).uniform(0.5, 2.0, len(GROUP))


RANDOM_PAIRS = {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 3}


def ranker(**params):
    return NewtonBoostingRanker(**{"n_estimators": 5, "max_depth": 3, **params})


def labels_for(params, y):
    """Return labels that the objective of the parameters accepts."""
    return (y > 1).astype(int) if params.get("objective") == "rank:map" else y


# ------------------------------------------------------------------ models


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"lambdarank_num_pair_per_sample": 3},
        {"lambdarank_normalization": False},
        {"lambdarank_score_normalization": False, "ndcg_exp_gain": False},
        {"objective": "rank:pairwise"},
        {"objective": "rank:map", "lambdarank_num_pair_per_sample": 5},
        {"lambdarank_pair_method": "mean", "n_estimators": 2},
        {**RANDOM_PAIRS, "objective": "rank:pairwise"},
        {**RANDOM_PAIRS, "objective": "rank:map", "lambdarank_normalization": False},
        {"lambdarank_unbiased": True},
        {
            "lambdarank_unbiased": True,
            "lambdarank_bias_norm": 0.2,
            "lambdarank_num_pair_per_sample": 6,
            "objective": "rank:pairwise",
        },
        {**RANDOM_PAIRS, "lambdarank_unbiased": True, "ndcg_exp_gain": False},
    ],
)
def test_exact_trees_equal_xgboosts(params):
    shared = {"tree_method": "exact", "max_depth": 3, "n_estimators": 4, "n_jobs": 1, **params}
    y, y_valid = labels_for(params, Y), labels_for(params, Y_VALID)
    scores = []
    for cls in (NewtonBoostingRanker, xgboost.XGBRanker):
        model = cls(**shared).fit(X, y, group=GROUP, sample_weight=WEIGHT, verbose=False,
                                  eval_set=[(X_VALID, y_valid)],
                                  eval_group=[GROUP_VALID])  # fmt: skip
        scores.append(model.predict(X_VALID))
        metrics = model.evals_result()["validation_0"]
        scores.append(metrics)
    np.testing.assert_allclose(scores[0], scores[2], rtol=1e-4, atol=1e-5)
    assert np.ptp(scores[0]) > 0.1
    assert scores[1].keys() == scores[3].keys()
    for name, values in scores[1].items():
        np.testing.assert_allclose(values, scores[3][name], rtol=1e-5)


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_estimator_trains_the_model_of_the_native_interface(objective):
    params = {"max_depth": 3, "objective": objective, "reg_lambda": 2.0, **RANDOM_PAIRS}
    params["lambdarank_unbiased"] = True
    y = labels_for(params, Y)
    model = compat.XGBRanker(n_estimators=4, **params)
    model.fit(X, y, qid=QID, sample_weight=WEIGHT)
    native = compat.train(params, compat.DMatrix(X, y, qid=QID, weight=WEIGHT), 4)
    rows = compat.DMatrix(X_VALID)
    np.testing.assert_allclose(model.predict(X_VALID), native.predict(rows), atol=1e-5)
    own = NewtonBoostingRanker(n_estimators=4, **params)
    own.fit(X, y, qid=QID, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.predict(X_VALID), own.predict(X_VALID), atol=1e-5)


def test_further_rounds_draw_other_random_pairs():
    first = ranker(n_estimators=2, **RANDOM_PAIRS).fit(X, Y, group=GROUP)
    more = ranker(n_estimators=1, **RANDOM_PAIRS).fit(X, Y, group=GROUP, xgb_model=first)
    whole = ranker(n_estimators=3, **RANDOM_PAIRS).fit(X, Y, group=GROUP)
    np.testing.assert_allclose(more.predict(X), whole.predict(X), atol=1e-5)
    data = compat.DMatrix(X, Y, group=GROUP)
    params = {"objective": "rank:ndcg", "max_depth": 3, **RANDOM_PAIRS}
    halves = compat.train(params, data, 1, xgb_model=compat.train(params, data, 2))
    np.testing.assert_allclose(halves.predict(data), whole.predict(X), atol=1e-5)


def test_position_bias_decreases_with_the_position():
    rng = np.random.default_rng(5)
    group = np.full(60, 8)
    relevant = rng.uniform(size=(60, 8)) < 0.5
    seen = rng.uniform(size=(60, 8)) < 1.0 / (1.0 + np.arange(8.0))
    rows = rng.normal(size=(480, 2)) + relevant.reshape(-1, 1)
    model = ranker(lambdarank_unbiased=True).fit(rows, (relevant & seen).ravel(), group=group)
    plus, minus = model.position_bias_
    assert plus[0] == minus[0] == 1.0
    assert (plus[1:8] < 1.0).all()
    assert plus[5:8].mean() < plus[1:4].mean()
    assert not plus[8:].any()
    model.set_params(lambdarank_unbiased=False).fit(rows, relevant.ravel(), group=group)
    assert not hasattr(model, "position_bias_")


# ------------------------------------------------------------------ XGBRanker


def test_xgb_ranker_is_a_newton_boosting_ranker_that_reads_queries_from_a_frame():
    frame, valid = pd.DataFrame(X), pd.DataFrame(X_VALID)
    frame["qid"], valid["qid"] = QID, np.repeat(np.arange(len(GROUP_VALID)), GROUP_VALID)
    params = {"n_estimators": 4, "max_depth": 3, "tree_method": "exact", "n_jobs": 1}
    found = []
    for library in (compat, xgboost):
        model = library.XGBRanker(**params, eval_metric=["map@3", spread_of_query])
        model.fit(frame, Y > 2, eval_set=[(valid, Y_VALID > 2)])
        history = model.evals_result()["validation_0"]
        found.append([model.predict(valid), history["map@3"], history["spread_of_query"],
                      [model.score(valid, Y_VALID > 2)],
                      model.apply(valid).ravel()])  # fmt: skip
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert isinstance(compat.XGBRanker(), NewtonBoostingRanker)
    assert isinstance(compat.XGBRanker(), compat.XGBModel)
    with pytest.raises(ValueError, match="Either `group` or `qid` is required"):
        model = compat.XGBRanker().fit(frame, Y, eval_set=[(X_VALID, Y_VALID)])
    with pytest.raises(ValueError, match="remove one of them"):
        compat.XGBRanker().fit(frame, Y, qid=QID)


def spread_of_query(y, prediction):
    return float(np.ptp(prediction) + y.sum())


def test_xgb_ranker_and_its_booster_agree(tmp_path):
    params = {"n_estimators": 3, "max_depth": 3, **RANDOM_PAIRS, "ndcg_exp_gain": False}
    model = compat.XGBRanker(**params)
    model.fit(X, Y, group=GROUP, **VALID)
    booster = model.get_booster()
    valid = compat.DMatrix(X_VALID, Y_VALID, group=GROUP_VALID)
    np.testing.assert_allclose(booster.predict(valid), model.predict(X_VALID), rtol=1e-6)
    name, value = booster.eval(valid).rpartition("-")[2].split(":")
    last = model.evals_result()["validation_0"]["ndcg"][-1]
    assert (name, float(value)) == ("ndcg", pytest.approx(last, rel=1e-5))
    booster.save_model(tmp_path / "model.json")
    again = compat.Booster(model_file=tmp_path / "model.json")
    assert again.eval(valid) == booster.eval(valid)
    theirs = xgboost.Booster(model_file=tmp_path / "model.json")
    assert '"lambdarank_pair_method":"mean"' in theirs.save_config()
    line = theirs.eval(xgboost.DMatrix(X_VALID, Y_VALID, group=GROUP_VALID))
    assert float(line.rpartition(":")[2]) == pytest.approx(float(value), rel=1e-6)


def test_sampling_and_sparse_rows_and_threads():
    from scipy.sparse import csr_matrix

    params = {"subsample": 0.7, "colsample_bynode": 0.5, "random_state": 3}
    one, two = (ranker(n_jobs=n, **params).fit(X, Y, group=GROUP) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    again = ranker(**params).fit(csr_matrix(X), Y, group=GROUP)
    np.testing.assert_array_equal(again.predict(csr_matrix(X)), one.predict(X))


def test_early_stopping_by_ndcg():
    model = ranker(n_estimators=100, eval_metric=["rmse", "ndcg@3"], early_stopping_rounds=4)
    model.fit(X, Y, group=GROUP, **VALID)
    history = model.evals_result()["validation_0"]
    assert list(history) == ["rmse", "ndcg@3"]
    assert model.best_iteration == np.argmax(history["ndcg@3"])
    assert model.n_iter_ == model.best_iteration + 5 < 100
    assert model.best_score == max(history["ndcg@3"])


def test_metric_of_the_user_gets_predictions():
    def spread(y, prediction):
        assert len(y) == len(Y_VALID)
        return float(np.ptp(prediction))

    model = ranker(eval_metric=spread).fit(X, Y, group=GROUP, **VALID)
    assert model.evals_result()["validation_0"]["spread"][-1] == np.ptp(model.predict(X_VALID))


def test_further_rounds_equal_one_training():
    first = ranker(n_estimators=2).fit(X, Y, group=GROUP)
    more = ranker(n_estimators=3).fit(X, Y, group=GROUP, xgb_model=first)
    whole = ranker(n_estimators=5).fit(X, Y, group=GROUP)
    np.testing.assert_allclose(more.predict(X), whole.predict(X), atol=1e-5)


@pytest.mark.parametrize("name", ["model.json", "model.ubj"])
def test_saved_models(tmp_path, name):
    model = ranker(objective="rank:pairwise").fit(X, Y, group=GROUP)
    model.save_model(tmp_path / name)
    again = NewtonBoostingRanker().load_model(tmp_path / name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.objective == "rank:pairwise"
    theirs = xgboost.Booster(model_file=tmp_path / name)
    np.testing.assert_allclose(theirs.predict(xgboost.DMatrix(X)), model.predict(X), rtol=1e-6)
    assert '"rank:pairwise"' in theirs.save_config()


def test_a_fitted_model_does_not_hold_the_training_rows():
    model = ranker().fit(X, Y, group=GROUP)
    small = len(pickle.dumps(model))
    large = ranker().fit(np.tile(X, (20, 1)), np.tile(Y, 20), group=np.tile(GROUP, 20))
    assert len(pickle.dumps(large)) < 2 * small
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert not {"_queries", "_bounds", "_query_weight"} & vars(model).keys()


def test_arrow_and_polars_queries():
    import polars as pl
    import pyarrow as pa

    expected = ranker().fit(X, Y, qid=QID).predict(X)
    for qid in (pd.Series(QID), pl.Series(QID), pa.array(QID), [f"q{one:03}" for one in QID]):
        np.testing.assert_array_equal(ranker().fit(X, Y, qid=qid).predict(X), expected)


# ------------------------------------------------------------------ conventions


def test_estimator_conventions():
    model = ranker(lambdarank_num_pair_per_sample=7, ndcg_exp_gain=False)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["lambdarank_num_pair_per_sample"] == 7
    for check in (
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
    ):
        check("NewtonBoostingRanker", NewtonBoostingRanker())
    with pytest.raises(TypeError, match="did you mean 'lambdarank_unbiased'"):
        NewtonBoostingRanker(lambdarank_unbias=True)
    assert NewtonBoostingRanker().__sklearn_tags__().estimator_type == "ranker"


def test_a_failed_fit_changes_nothing():
    model = ranker().fit(X, Y, group=GROUP)
    before, state = model.predict(X), vars(model).keys()
    with pytest.raises(ValueError, match="Sum of query counts"):
        model.fit(X, Y, group=GROUP[1:])
    np.testing.assert_array_equal(model.predict(X), before)
    assert vars(model).keys() == state


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("params", "given", "words"),
    [
        ({}, {"group": None}, "Either `group` or `qid` is required"),
        ({}, {"qid": QID}, "Either one of `group` or `qid`"),
        ({}, {"group": None, "qid": QID[::-1] % 3}, "`qid` must be sorted"),
        ({}, {"group": None, "qid": QID[1:]}, "qid has"),
        ({}, {"sample_weight": np.ones(len(Y))}, "a weight for each query"),
        ({}, {"sample_weight": -WEIGHT}, "at least 0"),
        ({}, {"sample_weight": 0.0 * WEIGHT}, "not all of them 0"),
        ({}, {"eval_group": None}, "`eval_group` or `eval_qid` is required"),
        ({}, {"eval_group": [GROUP_VALID, GROUP]}, "eval_group has 2 entries for 1"),
        ({}, {"eval_group": [GROUP]}, "eval_group holds the number of rows"),
        ({}, {"sample_weight_eval_set": [np.ones(3)]}, "sample_weight_eval_set has 3 entries"),
        ({"objective": "reg:squarederror"}, {}, "rank:ndcg"),
        ({"objective": "rank:map"}, {}, "binary labels"),
        ({"lambdarank_num_pair_per_sample": 0}, {}, "must be at least 1"),
        ({"lambdarank_pair_method": "median"}, {}, "must be 'topk' or 'mean', not 'median'"),
        ({"lambdarank_bias_norm": -1.0}, {}, "lambdarank_bias_norm must be at least 0"),
        ({"eval_metric": "ndcg@x"}, {}, "unknown eval_metric 'ndcg@x'"),
        ({"parity": "xgboost"}, {}, "'parity' parameter"),
    ],
)
def test_arguments_that_are_refused(params, given, words):
    with pytest.raises(ValueError, match=words):
        ranker(**params).fit(X, Y, **({"group": GROUP} | VALID | given))


def test_xgb_ranker_names_a_list_of_wrong_length():
    given = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [GROUP_VALID, GROUP]}
    with pytest.raises(ValueError, match="eval_group has 2 entries for 1 tables of eval_set"):
        compat.XGBRanker().fit(X, Y, group=GROUP, **given)
