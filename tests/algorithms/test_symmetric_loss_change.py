"""Importances of type LossFunctionChange against CatBoost's on the same models."""

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms import (
    SymmetricBoostingClassifier,
    SymmetricBoostingRanker,
    SymmetricBoostingRegressor,
)
from algorithms.compat import catboost as ours

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 5)).astype(np.float32)
SCORE = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + rng.normal(size=N)
LABELS = {
    "RMSE": SCORE,
    "MAE": SCORE,
    "Quantile:alpha=0.8": SCORE,
    "Expectile:alpha=0.3": SCORE,
    "Huber:delta=0.7": SCORE,
    "Poisson": np.floor(np.exp(SCORE / 3.0)),
    "Tweedie:variance_power=1.4": np.maximum(SCORE, 0.0),
    "Logloss": (SCORE > 0.0).astype(int),
    "MultiClass": np.digitize(SCORE, [-1.0, 1.0]),
}
QUERIES = np.repeat(np.arange(N // 8), 8)
GRADES = np.clip(np.round(SCORE) + 1.0, 0.0, 4.0)
WEIGHTS = rng.uniform(0.5, 2.0, N)
FIXED = {"iterations": 20, "depth": 4, "learning_rate": 0.2, "thread_count": 1, "random_seed": 1}
QUIET = {"logging_level": "Silent", "allow_writing_files": False}


def table_with_categories():
    """Return rows with two categorical columns and a label that depends on them."""
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["city"] = rng.integers(0, 9, N).astype(str)
    frame["kind"] = rng.integers(0, 4, N).astype(str)
    frame["flag"] = rng.integers(0, 2, N).astype(str)
    effect = frame["city"].astype(int) * (frame["kind"].astype(int) - 1.5) / 4.0
    return frame, SCORE + effect.to_numpy() + frame["flag"].astype(int)


def classes_of(loss):
    """Return our class and CatBoost's."""
    if loss in ("Logloss", "MultiClass"):
        return SymmetricBoostingClassifier, catboost.CatBoostClassifier
    return SymmetricBoostingRegressor, catboost.CatBoostRegressor


def theirs(model, pool):
    """Return CatBoost's importances."""
    return np.array(model.get_feature_importance(pool, type="LossFunctionChange"))


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("loss", LABELS)
def test_importances_are_those_of_catboost(loss, weight, tmp_path):
    own, library = classes_of(loss)
    y = LABELS[loss]
    model = library(**FIXED, **QUIET, loss_function=loss).fit(X, y)
    model.save_model(tmp_path / "model.json", format="json")
    wanted = theirs(model, catboost.Pool(X, y, weight=weight))
    data = (X, y) if weight is None else (X, y, weight)
    found = (
        own()
        .load_model(tmp_path / "model.json")
        .get_feature_importance(data, type="LossFunctionChange")
    )
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert np.abs(wanted).max() > 0.01


@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "MultiClass"])
def test_catboost_has_the_importances_of_our_models(loss, tmp_path):
    own, library = classes_of(loss)
    y = LABELS[loss]
    model = own(**FIXED, loss_function=loss).fit(X, y)
    model.save_model(tmp_path / "model.json", format="json")
    loaded = library().load_model(tmp_path / "model.json", format="json")
    found = model.get_feature_importance((X, y), type="LossFunctionChange")
    np.testing.assert_allclose(found, theirs(loaded, catboost.Pool(X, y)), atol=1e-6)


@pytest.mark.parametrize("complexity", [1, 2, 3])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_importances_of_categories(loss, complexity, tmp_path):
    frame, y = table_with_categories()
    y = (y > 0.5).astype(int) if loss == "Logloss" else y
    own, library = classes_of(loss)
    given = {"cat_features": ["city", "kind", "flag"], "max_ctr_complexity": complexity}
    model = library(**FIXED | given, **QUIET).fit(frame, y)
    pool = catboost.Pool(frame, y, cat_features=given["cat_features"])
    model.save_model(tmp_path / "model.json", format="json", pool=pool)
    found = (
        own()
        .load_model(tmp_path / "model.json")
        .get_feature_importance((frame, y), type="LossFunctionChange")
    )
    np.testing.assert_allclose(found, theirs(model, pool), atol=1e-6)
    mine = own(**FIXED | given).fit(frame, y)
    mine.save_model(tmp_path / "mine.json", format="json")
    loaded = library().load_model(tmp_path / "mine.json", format="json")
    found = mine.get_feature_importance((frame, y), type="LossFunctionChange")
    np.testing.assert_allclose(found, theirs(loaded, pool), atol=1e-6)


@pytest.mark.parametrize("loss", ["PairLogit", "YetiRank"])
def test_importances_of_rankers(loss, tmp_path):
    given = FIXED | {"loss_function": loss}
    pool = catboost.Pool(X, GRADES, group_id=QUERIES)
    model = catboost.CatBoostRanker(**given, **QUIET).fit(pool)
    model.save_model(tmp_path / "model.json", format="json")
    wanted = theirs(model, pool)
    np.testing.assert_array_equal(model.get_feature_importance(pool), wanted)
    loaded = SymmetricBoostingRanker().load_model(tmp_path / "model.json")
    assert loaded.objective == loss
    found = loaded.get_feature_importance((X, GRADES, QUERIES))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_importances_of_yetirank_with_labels_up_to_one(tmp_path):
    relevant = (GRADES > 2.0).astype(float)
    pool = catboost.Pool(X, relevant, group_id=QUERIES)
    model = catboost.CatBoostRanker(**FIXED, **QUIET, loss_function="YetiRank").fit(pool)
    model.save_model(tmp_path / "model.json", format="json")
    loaded = SymmetricBoostingRanker().load_model(tmp_path / "model.json")
    found = loaded.get_feature_importance((X, relevant, QUERIES))
    np.testing.assert_allclose(found, theirs(model, pool), rtol=0.2, atol=0.01)  # other draws
    again = loaded.get_feature_importance((X, relevant, QUERIES))
    np.testing.assert_array_equal(found, again)


def test_weights_and_pairs_of_rankers(tmp_path):
    weight = np.repeat(rng.uniform(0.5, 2.0, N // 8), 8)
    pairs = [(8 * q + i, 8 * q + j) for q in range(N // 8) for i in range(3) for j in range(4, 7)]
    model = catboost.CatBoostRanker(**FIXED, **QUIET, loss_function="PairLogit")
    pool = catboost.Pool(X, GRADES, group_id=QUERIES, pairs=pairs)
    model.fit(pool).save_model(tmp_path / "model.json", format="json")
    loaded = ours.CatBoostRanker().load_model(tmp_path / "model.json")
    found = loaded.get_feature_importance(ours.Pool(X, GRADES, group_id=QUERIES, pairs=pairs))
    np.testing.assert_allclose(found, theirs(model, pool), atol=1e-6)
    model = catboost.CatBoostRanker(**FIXED, **QUIET, loss_function="YetiRank")
    pool = catboost.Pool(X, GRADES, group_id=QUERIES, group_weight=weight)
    model.fit(pool).save_model(tmp_path / "model.json", format="json")
    loaded = ours.CatBoostRanker().load_model(tmp_path / "model.json")
    pool_of_ours = ours.Pool(X, GRADES, group_id=QUERIES, group_weight=weight)
    np.testing.assert_allclose(
        loaded.get_feature_importance(pool_of_ours), theirs(model, pool), atol=1e-6
    )


def test_module_with_catboost_names():
    model = ours.CatBoostRegressor(**FIXED).fit(X, SCORE)
    pool = ours.Pool(X, SCORE)
    values = model.get_feature_importance(pool, type="LossFunctionChange")
    frame = model.get_feature_importance(pool, "LossFunctionChange", prettified=True)
    np.testing.assert_array_equal(frame["Importances"], np.sort(values)[::-1])
    np.testing.assert_array_equal(model.get_feature_importance(pool), model.feature_importances_)
    start = rng.normal(size=N)
    shifted = model.get_feature_importance(
        ours.Pool(X, SCORE, baseline=start), type="LossFunctionChange"
    )
    assert not np.allclose(shifted, values)
    ranker = ours.CatBoostRanker(**FIXED).fit(X, GRADES, QUERIES)
    with pytest.raises(ours.CatBoostError, match="needs data"):
        ranker.get_feature_importance()
    with pytest.raises(ours.CatBoostError, match="needs labels"):
        model.get_feature_importance(ours.Pool(X), type="LossFunctionChange")
    with pytest.raises(ours.CatBoostError, match="'Interaction' are not supported"):
        model.get_feature_importance(pool, type="Interaction")


def test_importance_is_the_change_of_the_loss_for_one_column():
    model = SymmetricBoostingRegressor(**FIXED).fit(X[:, :1], SCORE)
    found = model.get_feature_importance((X[:, :1], SCORE), type="LossFunctionChange")
    weights = np.array([tree.weights for tree in model._trees])
    values = np.array([list(tree.values[:, 0]) for tree in model._trees])  # noqa: PD011 - leaves
    mean = model._start[0] + (weights * values).sum() / N
    losses = [np.sqrt(np.mean((SCORE - F) ** 2)) for F in (mean, model.predict(X[:, :1]))]
    np.testing.assert_allclose(found, [losses[0] - losses[1]], rtol=1e-10)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "needs data"),
        ((X,), "needs data"),
        ((X, SCORE[:-1]), "inconsistent numbers"),
        ((X, SCORE, WEIGHTS, QUERIES), "needs data"),
        ((X, np.full(N, np.nan)), "NaN"),
        ((X[:, :3], SCORE), "3 features"),
    ],
)
def test_invalid_data_raise(data, message):
    model = SymmetricBoostingRegressor(**FIXED).fit(X, SCORE)
    with pytest.raises(ValueError, match=message):
        model.get_feature_importance(data, type="LossFunctionChange")
