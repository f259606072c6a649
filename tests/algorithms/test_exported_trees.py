"""Tests that the exported trees of a fitted library model predict like the model."""

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn import ensemble, tree
from sklearn.exceptions import NotFittedError

from algorithms import serve, trees_of
from harness import HarnessError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)).astype(np.float32).astype(float)
Y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=600)
NAMES = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.4, 0.4])]
QUIET = {"n_estimators": 8, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
LGB = {"n_estimators": 8, "verbose": -1, "n_jobs": 1}


@pytest.mark.parametrize(
    "model",
    [
        tree.DecisionTreeRegressor(max_depth=5),
        ensemble.RandomForestRegressor(8),
        ensemble.ExtraTreesRegressor(8),
        ensemble.GradientBoostingRegressor(n_estimators=8),
        ensemble.HistGradientBoostingRegressor(max_iter=8),
        xgboost.XGBRegressor(n_estimators=8, n_jobs=1),
        lightgbm.LGBMRegressor(**LGB),
        catboost.CatBoostRegressor(**QUIET),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regression_values(model):
    model.fit(X, Y)
    assert np.allclose(serve(trees_of(model)).predict(X), model.predict(X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        ensemble.RandomForestClassifier(8),
        ensemble.GradientBoostingClassifier(n_estimators=8),
        ensemble.HistGradientBoostingClassifier(max_iter=8),
        lightgbm.LGBMClassifier(**LGB),
        catboost.CatBoostClassifier(**QUIET),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("labels", [NAMES, NAMES == "high"], ids=["three", "two"])
def test_probabilities_follow_the_order_of_classes(model, labels):
    model.fit(X, labels)
    predictions = serve(trees_of(model)).predict(X)
    assert np.allclose(predictions, model.predict_proba(X), rtol=1e-6, atol=1e-7)


def test_booster_without_estimator():
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, Y), 8)
    predictions = serve(trees_of(booster)).predict(X)
    assert np.allclose(predictions, booster.inplace_predict(X), rtol=1e-6)
    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, Y), 8)
    assert np.allclose(serve(trees_of(booster)).predict(X), booster.predict(X))


def test_early_stopped_model_exports_its_best_rounds():
    noise = RNG.normal(size=600)
    train, held = slice(0, 300), [(X[300:], noise[300:])]
    models = [
        xgboost.XGBRegressor(n_estimators=50, early_stopping_rounds=3, n_jobs=1),
        lightgbm.LGBMRegressor(**{**LGB, "n_estimators": 50}),
    ]
    models[0].fit(X[train], noise[train], eval_set=held, verbose=False)
    given = {"eval_X": X[300:], "eval_y": noise[300:]}
    models[1].fit(
        X[train], noise[train], **given, callbacks=[lightgbm.early_stopping(3, verbose=False)]
    )
    for model, best in zip(
        models, (models[0].best_iteration + 1, models[1].best_iteration_), strict=True
    ):
        trees = trees_of(model)
        assert trees.n_trees == best < 50
        assert np.allclose(serve(trees).predict(X), model.predict(X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        object(),
        "model.json",
        ensemble.VotingRegressor([("tree", tree.DecisionTreeRegressor())]).fit(X, Y),
    ],
)
def test_model_without_trees_is_refused(model):
    with pytest.raises(HarnessError, match=r"trees_of takes a fitted model|not exportable"):
        trees_of(model)


@pytest.mark.parametrize(
    "model", [tree.DecisionTreeRegressor(), xgboost.XGBRegressor(), lightgbm.LGBMRegressor()]
)
def test_unfitted_model_is_reported(model):
    with pytest.raises(NotFittedError):
        trees_of(model)
