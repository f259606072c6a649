"""XGBoost's ``booster="dart"`` and ``feature_weights`` in second-order boosting."""

import numpy as np
import pytest
import xgboost

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingRegressor
from algorithms.newton.dart import DartRounds
from algorithms.newton.sampling import Columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = X[:, 0] + X[:, 1] ** 2 + 0.1 * RNG.normal(size=300)
LABELS = {"reg:squarederror": Y, "multi:softprob": np.digitize(Y, [0.0, 1.0])}
EXACT = {"booster": "dart", "tree_method": "exact", "max_depth": 3, "nthread": 1}


@pytest.mark.parametrize("objective", LABELS)
@pytest.mark.parametrize(
    "params",
    [
        {"rate_drop": 1.0},
        {"rate_drop": "1", "normalize_type": "forest", "sample_type": "weighted"},
        {"rate_drop": 1.0, "num_parallel_tree": 2},
        {"rate_drop": 1.0, "skip_drop": 1.0},
    ],
)
def test_models_that_drop_all_trees_are_those_of_xgboost(objective, params):
    y = LABELS[objective]
    params = {**EXACT, **params, "objective": objective}
    params |= {"num_class": 3} if objective == "multi:softprob" else {}
    history, data = {}, xgb.DMatrix(X, y)
    evals = {"evals": [(xgb.DMatrix(X, y), "valid")], "evals_result": history}
    ours = xgb.train(params, data, 5, **evals, verbose_eval=False)
    theirs = xgboost.train(params, xgboost.DMatrix(X, y), 5)
    expected = theirs.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(ours.predict(data), expected, rtol=1e-5, atol=1e-6)
    line = theirs.eval(xgboost.DMatrix(X, y)).split(":")[1]
    assert next(iter(history["valid"].values()))[-1] == pytest.approx(float(line), rel=1e-5)
    loaded = xgboost.Booster(model_file=bytearray(ours.save_raw()))
    found = loaded.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_metrics_and_scores_follow_the_changed_trees():
    params = {"booster": "dart", "rate_drop": 0.4, "n_estimators": 15, "max_depth": 3}
    first = NewtonBoostingRegressor(**params, sample_type="weighted", random_state=1)
    first.fit(X, Y, eval_set=[(X, Y)])
    before = first.predict(X)
    rmse = np.sqrt(np.mean((before - Y) ** 2))
    assert first.evals_result()["validation_0"]["rmse"][-1] == pytest.approx(rmse, rel=1e-5)
    more = NewtonBoostingRegressor(**params, random_state=1).fit(X, Y, xgb_model=first)
    assert more.n_iter_ == 30
    np.testing.assert_array_equal(first.predict(X), before)
    plain = NewtonBoostingRegressor(**{**params, "booster": "gbtree"}).fit(X, Y)
    assert not np.allclose(plain.predict(X), before)


def test_numbers_of_dropped_trees_follow_the_parameters(monkeypatch):
    drawn, draw = [], DartRounds.draw

    def record(self):
        drawn.append((len(self.weights), draw(self)))
        return drawn[-1][1]

    monkeypatch.setattr(DartRounds, "draw", record)
    model = NewtonBoostingRegressor(booster="dart", one_drop=True, n_estimators=60, max_depth=1)
    model.fit(X, Y)
    assert [len(dropped) for _, dropped in drawn] == [0] + [1] * 59
    assert len({dropped[0] for _, dropped in drawn[1:]}) > 20
    drawn.clear()
    model.set_params(rate_drop=0.25, one_drop=False, skip_drop=0.5).fit(X, Y)
    counts = [(n, len(dropped)) for n, dropped in drawn[20:]]
    assert 8 < sum(count == 0 for _, count in counts) < 32  # 20 are expected
    share = sum(count for _, count in counts) / sum(n for n, count in counts if count)
    assert 0.2 < share < 0.3


@pytest.mark.parametrize(
    ("name", "value"), [("rate_drop", 1.5), ("sample_type", "odd"), ("normalize_type", "odd")]
)
def test_invalid_values_of_dart_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        NewtonBoostingRegressor(booster="dart", **{name: value}).fit(X, Y)


def test_columns_are_drawn_in_proportion_to_their_weights():
    model = NewtonBoostingRegressor(colsample_bytree=0.25, feature_weights=[1.0, 2.0, 3.0, 4.0])
    drawn = [Columns(model, 4, seed).of_tree.item() for seed in range(2000)]
    shares = np.bincount(drawn, minlength=4) / 2000
    np.testing.assert_allclose(shares, [0.1, 0.2, 0.3, 0.4], atol=0.035)


def test_columns_without_weight_are_not_used():
    weights = np.array([0.0, 1.0, 0.0, 1.0])
    options = {"colsample_bytree": 0.5, "n_estimators": 5}
    fitted = xgb.XGBRegressor(**options).fit(X, Y, feature_weights=weights)
    given = xgb.XGBRegressor(**options, feature_weights=weights).fit(X, Y)
    data = xgb.DMatrix(X, Y, feature_weights=weights)
    booster = xgb.train({"colsample_bynode": 0.5, "tree_method": "exact"}, data, 5)
    ranker = xgb.XGBRanker(**options)
    ranker.fit(X, (Y > 1).astype(int), group=[150, 150], feature_weights=weights)
    for scores in (m.get_booster().get_score() for m in (fitted, given, ranker)):
        assert set(scores) == {"f1", "f3"}
    assert set(booster.get_score()) == {"f1", "f3"}
    for model in (xgb.XGBRegressor, NewtonBoostingRegressor):
        with pytest.raises(ValueError, match="Use the one in the constructor"):
            model(feature_weights=weights).fit(X, Y, feature_weights=weights)
    for wrong in ([1.0], [1.0, -1.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match="feature_weights"):
            xgb.XGBRegressor().fit(X, Y, feature_weights=wrong)


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
def test_scores_of_several_trees_a_round_are_their_predictions(method):
    params = {"num_parallel_tree": 3, "subsample": 0.5, "tree_method": method, "max_depth": 3}
    history, data = {}, xgb.DMatrix(X, Y)
    options = {"evals": [(data, "train")], "evals_result": history, "verbose_eval": False}
    booster = xgb.train(params, data, 3, **options)
    rmse = np.sqrt(np.mean((booster.predict(data) - Y) ** 2))
    assert history["train"]["rmse"][-1] == pytest.approx(rmse, rel=1e-5)
