"""Tests of LightGBM's parameters and metrics that are no constructor arguments of ours."""

import json

import lightgbm
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score

import algorithms.compat.lightgbm as lgb
from algorithms import HistogramBoostingClassifier, HistogramBoostingRanker

rng = np.random.default_rng(3)
X = rng.normal(size=(300, 4))
Y = X[:, 0] + (X[:, 1] > 0) * 2.0
LABEL = (Y + rng.normal(size=300) > 1).astype(int)
CLASS = np.digitize(Y, [-0.5, 1.0])
SMALL = {"verbose": -1, "num_leaves": 5, "min_data_in_leaf": 5}


def train(params, y, rows=X, rounds=5, **options):
    history = {}
    data = lgb.Dataset(rows, y, **options)
    recorder = lgb.record_evaluation(history)
    given = {**SMALL, **params}
    model = lgb.train(given, data, rounds, valid_sets=[data], callbacks=[recorder])
    return model, history["training"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_zeros_are_missing(make, tmp_path):
    rows = np.where(rng.random((300, 1)) < 0.3, 0.0, rng.normal(size=(300, 1)))
    y = np.where(rows[:, 0] == 0.0, 5.0, rows[:, 0])  # zeros differ from their neighbors
    model, _ = train({"zero_as_missing": True, "num_leaves": 4}, y, make(rows), 30)
    with_gaps, _ = train({"num_leaves": 4}, y, np.where(rows == 0.0, np.nan, rows), 30)
    gaps = with_gaps.predict(np.where(rows == 0.0, np.nan, rows))
    np.testing.assert_array_equal(model.predict(make(rows)), gaps)
    np.testing.assert_array_equal(model.predict(np.full((2, 1), np.nan)), model.predict([[0], [0]]))
    model.save_model(tmp_path / "model.txt")
    loaded = lgb.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_allclose(loaded.predict(rows), model.predict(rows))
    assert loaded.params["zero_as_missing"] is True


def test_nan_is_zero_without_missing_values():
    rows = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model, history = train({"use_missing": False}, Y, rows)
    filled, _ = train({}, Y, np.nan_to_num(rows))
    np.testing.assert_array_equal(model.predict(rows), filled.predict(np.nan_to_num(rows)))
    assert history["l2"][-1] == pytest.approx(np.mean((model.predict(rows) - Y) ** 2))


@pytest.mark.parametrize("params", [{"zero_as_missing": True}, {"use_missing": False}], ids=str)
def test_category_zero_is_a_category(params, tmp_path):
    codes = rng.integers(0, 4, (300, 1)).astype(float)
    y = np.array([9.0, 1.0, 2.0, 8.0])[codes[:, 0].astype(int)]
    model, _ = train(params, y, codes, categorical_feature=[0])
    model.save_model(tmp_path / "model.txt")
    loaded = lightgbm.Booster(model_file=tmp_path / "model.txt")
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [7.0]])
    np.testing.assert_allclose(model.predict(rows), loaded.predict(rows))
    assert model.predict(rows)[0] > model.predict(rows)[1]


def test_bins_of_single_features(tmp_path):
    rows, y = np.repeat(np.arange(100.0), 3)[:, None] * [1.0, 1.0], np.repeat(np.arange(100.0), 3)
    params = {"num_leaves": 64, "min_data_in_leaf": 1, "min_data_in_bin": 1}
    few, _ = train(params | {"max_bin_by_feature": [2, 3]}, y, rows, 1)
    assert len(np.unique(few.predict(rows))) <= 6
    forced = tmp_path / "bins.json"
    forced.write_text(json.dumps([{"feature": 0, "bin_upper_bound": [12.25, 80.75]}]))
    params |= {"forcedbins_filename": forced, "max_bin": 6, "num_leaves": 6}
    found, _ = train(params, y, rows[:, :1], 1)
    thresholds = set(found.trees_to_dataframe()["threshold"].dropna())
    assert {12.25, 80.75} <= thresholds
    assert len(thresholds) in (4, 5)
    with pytest.raises(lgb.LightGBMError, match="3 numbers for 2 features"):
        train({"max_bin_by_feature": [2, 2, 2]}, y, rows)
    forced.write_text('[{"feature": 0}]')
    with pytest.raises(lgb.LightGBMError, match="not a file of forced bins"):
        train(params, y, rows)


def test_prediction_stops_at_a_margin():
    model = HistogramBoostingClassifier(n_estimators=40, min_child_samples=5).fit(X, CLASS)
    exact = model.predict(X, raw_score=True)
    rule = {"pred_early_stop": True, "pred_early_stop_freq": 5}
    least = 4.0
    expected, waiting = np.empty_like(exact), np.ones(len(X), bool)
    for last in range(5, 45, 5):
        score = model.predict(X, raw_score=True, num_iteration=last)
        expected[waiting] = score[waiting]
        top = np.sort(score, axis=1)
        waiting &= top[:, -1] - top[:, -2] <= least
    some = model.predict(X, raw_score=True, **rule, pred_early_stop_margin=least)
    np.testing.assert_allclose(some, expected, rtol=1e-12)
    assert not np.allclose(some, exact)
    model.set_params(**rule, pred_early_stop_margin=least)
    np.testing.assert_array_equal(model.predict(X, raw_score=True), some)
    np.testing.assert_array_equal(model.predict(X, raw_score=True, pred_early_stop=False), exact)


def test_bagging_by_query_takes_whole_queries():
    group, relevance = [3] * 100, np.clip(CLASS, 0, 2)
    params = {"n_estimators": 3, "subsample": 0.5, "subsample_freq": 1, "min_child_samples": 2}
    ranker = HistogramBoostingRanker(**params, bagging_by_query=True, num_leaves=8)
    ranker.fit(X, relevance, group=group)
    roots = ranker.ensemble_.cover[ranker.ensemble_.offsets[:-1]]
    assert ((roots > 100) & (roots < 200)).all()
    assert (roots % 3 == 0).all(), "three rows of each query"
    with pytest.raises(ValueError, match="bagging_by_query is for ranking"):
        HistogramBoostingClassifier(bagging_by_query=True).fit(X, LABEL)


def test_positions_explain_part_of_the_clicks():
    """Clicks depend on relevance and position; the bias of positions falls with the position."""
    generator = np.random.default_rng(0)
    n_queries, n_documents = 120, 6
    rows = generator.normal(size=(n_queries * n_documents, 2))
    position = np.tile(np.arange(n_documents), n_queries)
    seen = generator.random(len(rows)) < 1.0 / (1.0 + position)
    clicks = (seen & (rows[:, 0] > 0)).astype(int)
    params = {"objective": "lambdarank", "learning_rate": 0.1, **SMALL}
    data = lgb.Dataset(rows, clicks, group=[n_documents] * n_queries, position=position)
    model = lgb.Booster(params, data)
    for _ in range(10):
        model.update()
    bias = model._training.booster.ranking.positions.bias
    assert (np.diff(bias)[:2] < 0).all()
    assert bias[0] > bias[-1] + 0.5
    names = lgb.Dataset(rows, position=[f"place {one}" for one in position]).get_position()
    np.testing.assert_array_equal(names, position)
    wrong = lgb.Dataset(rows, clicks, group=[n_documents] * n_queries, position=[1, 2])
    with pytest.raises(lgb.LightGBMError, match="Positions size"):
        lgb.train(params, wrong)


def test_metrics_of_values_equal_scikit_learns():
    model, history = train({"metric": ["auc", "average_precision", "r2"]}, LABEL)
    found = model.predict(X)
    assert history["auc"][-1] == pytest.approx(roc_auc_score(LABEL, found))
    assert history["average_precision"][-1] == pytest.approx(average_precision_score(LABEL, found))
    assert history["r2"][-1] == pytest.approx(r2_score(LABEL, found))


def test_metrics_of_classes():
    params = {"objective": "multiclass", "num_class": 3, "metric": ["multi_error", "auc_mu"]}
    model, history = train(params | {"multi_error_top_k": 2}, CLASS)
    found = model.predict(X)
    third = found.argmin(axis=1)
    assert history["multi_error@2"][-1] == pytest.approx(np.mean(third == CLASS))
    pairs = []
    for i in range(3):
        for j in range(i + 1, 3):
            own = np.isin(CLASS, [i, j])
            pairs.append(roc_auc_score(CLASS[own] == i, np.log(found[own, i] / found[own, j])))
    assert history["auc_mu"][-1] == pytest.approx(np.mean(pairs))
    weights = [0, 5, 1, 1, 0, 1, 1, 1, 0]
    _, weighted = train(params | {"auc_mu_weights": weights}, CLASS)
    assert weighted["auc_mu"][-1] != history["auc_mu"][-1]
    with pytest.raises(lgb.LightGBMError, match="Multiclass objective and metrics don't match"):
        train(params | {"metric": "auc"}, CLASS)
    with pytest.warns(UserWarning, match="metric 'nope' is ignored"):
        lgb.train(SMALL | {"metric": "nope"}, lgb.Dataset(X, Y), 1, valid_sets=[lgb.Dataset(X, Y)])


def test_parameters_in_the_models_text(capsys):
    params = {"sub_row": 0.75, "bagging_freq": 1, "metric": ["mae", "l2"], "seed": 708}
    model, _ = train(params, Y, categorical_feature=[3])
    text = model.model_to_string()
    for line in ("[bagging_fraction: 0.75]", "[metric: l1,l2]", "[bagging_seed: 15415]"):
        assert line in text, "LightGBM 4.7 draws bagging_seed 15415 from seed 708"
    loaded = lgb.Booster(model_str=text)
    assert loaded.params["categorical_feature"] == [3]
    assert loaded.params["metric"] == ["l1", "l2"]
    assert loaded.params["num_leaves"] == 5
    assert loaded.model_to_string() == text
    lgb.Booster(model_str=text.replace("parameters:\n", "parameters:\n[new_one: 1]\n", 1))
    assert "unrecognized parameter 'new_one'" in capsys.readouterr().out


def test_messages_about_parameters(capsys):
    data = lgb.Dataset(X, Y)
    lgb.train({"num_leaves": "7", "verbosity": 0, "max_leaves": 3}, data, 1)
    assert "num_leaves is set=7, max_leaves=3 will be ignored" in capsys.readouterr().out
    with pytest.raises(lgb.LightGBMError, match='num_leaves should be of type int, got "many"'):
        lgb.train({"num_leaves": "many"}, data, 1)
    with pytest.warns(UserWarning, match="max_bin=500 is more than 255 bins"):
        lgb.train({"max_bin": 500, "verbose": -1}, data, 1)
