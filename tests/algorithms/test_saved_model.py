"""Tests of saving and loading estimators, in our own format and those of the libraries."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)
from algorithms.model_io.errors import ModelFileError

CASES = [
    (HistogramBoostingRegressor, {}),
    (HistogramBoostingRegressor, {"objective": "poisson"}),
    (HistogramBoostingClassifier, {"n_classes": 2}),
    (HistogramBoostingClassifier, {"n_classes": 3}),
    (HistogramBoostingClassifier, {"n_classes": 3, "objective": "multiclassova"}),
]


def table(n=800):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(np.float64)
    X[:, 4] = rng.integers(0, 20, n)
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 4] % 3 + rng.normal(size=n)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, y


def trained(kind, n_classes=0, **params):
    """Return a model and its training X."""
    X, y = table()
    if n_classes:
        y = np.array(["no", "yes", "very"])[np.digitize(y, [0, 3][: n_classes - 1])]
    y = np.exp(y / 4) if params.get("objective") == "poisson" else y
    model = kind(n_estimators=12, random_state=0, categorical_feature=[4], **params)
    return model.fit(X, y), X


def predictions_of(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_own_format_restores_the_estimator(kind, params, tmp_path):
    model, X = trained(kind, **params)
    model.save_model(tmp_path / "model.json")
    again = kind().load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(predictions_of(again, X), predictions_of(model, X))
    assert np.array_equal(list(again.staged_predict(X))[5], list(model.staged_predict(X))[5])
    assert again.get_params() == model.get_params()
    assert again.n_estimators_ == again.n_iter_ == 12
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    if params.get("n_classes"):
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.classes_.dtype.kind == "U"
    again.save_model(tmp_path / "again.json")
    files = [json.loads((tmp_path / f).read_text()) for f in ("model.json", "again.json")]
    assert files[0] == files[1]
    again.fit(X, model.predict(X))
    assert again.n_iter_ == 12


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_lightgbm_predicts_our_model_and_we_load_it_back(kind, params, tmp_path):
    model, X = trained(kind, **params)
    path = tmp_path / "model.txt"
    model.save_model(path)
    booster = lightgbm.Booster(model_file=path)
    raw = booster.predict(X, raw_score=True).reshape(len(X), -1)
    assert np.array_equal(raw, model.ensemble_.raw(X))
    expected = predictions_of(model, X)
    expected = expected[:, 1] if params.get("n_classes") == 2 else expected
    np.testing.assert_allclose(booster.predict(X), expected, rtol=1e-14, atol=1e-15)
    again = kind().load_model(path)
    assert np.array_equal(predictions_of(again, X), predictions_of(model, X))
    assert np.array_equal(booster.feature_importance(), model.feature_importances_)


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_xgboost_predicts_our_model_and_we_load_it_back(kind, params, tmp_path):
    model, X = trained(kind, **params)
    path = tmp_path / "model.json"
    model.save_model(path, format="xgboost")
    booster = xgboost.Booster(model_file=path)
    data = xgboost.DMatrix(X, feature_types=["q"] * 4 + ["c"], enable_categorical=True)
    raw = booster.predict(data, output_margin=True).reshape(len(X), -1)
    np.testing.assert_allclose(raw, model.ensemble_.raw(X), rtol=2e-6, atol=2e-6)
    if params.get("objective") == "multiclassova":
        with pytest.raises(ModelFileError, match="predicts values"):
            kind().load_model(path)
        return
    again = kind().load_model(path)
    assert np.array_equal(again._raw(X), raw)
    np.testing.assert_allclose(
        predictions_of(again, X), predictions_of(model, X), rtol=2e-6, atol=2e-6
    )
    assert np.array_equal(predictions_of(again, X), again.ensemble_.predict(X))


@pytest.mark.parametrize("objective", ["binary", "regression"])
def test_lightgbm_model_becomes_an_estimator(objective, tmp_path):
    X, y = table()
    y = (y > 1).astype(int) if objective == "binary" else y
    params = {"objective": objective, "sigmoid": 1.7, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    booster.save_model(tmp_path / "model.txt")
    kind = HistogramBoostingClassifier if objective == "binary" else HistogramBoostingRegressor
    model = kind().load_model(tmp_path / "model.txt")
    result = model.predict_proba(X)[:, 1] if objective == "binary" else model.predict(X)
    np.testing.assert_allclose(result, booster.predict(X), rtol=1e-14)
    expected = booster.predict(X, pred_contrib=True)
    np.testing.assert_allclose(model.predict(X, pred_contrib=True), expected, rtol=1e-6, atol=1e-9)
    assert model.n_features_in_ == 5
    assert model.n_estimators_ == 10


def frame_of_kinds(last):
    """Return a frame whose last column has this name and holds categories, and y."""
    X, y = table()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    names = [f"kind {i}" for i in range(20)]
    codes = np.where(np.isnan(X[:, 4]), -1, X[:, 4]).astype(int)
    frame[last] = pd.Categorical.from_codes(codes, categories=names)
    return frame, y


def test_categorical_frames_are_read_as_in_training(tmp_path):
    frame, y = frame_of_kinds("e")
    model = HistogramBoostingRegressor(n_estimators=10).fit(frame, y)
    for name in ("model.json", "model.txt"):
        model.save_model(tmp_path / name)
        again = HistogramBoostingRegressor().load_model(tmp_path / name)
        assert np.array_equal(again.predict(frame), model.predict(frame))
        assert again.feature_names_in_.tolist() == list("abcde")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert np.array_equal(booster.predict(frame), model.predict(frame))


def test_lightgbm_format_keeps_categories_of_a_column_with_a_blank(tmp_path):
    frame, y = frame_of_kinds("my column")
    model = HistogramBoostingRegressor(n_estimators=10).fit(frame, y)
    model.save_model(tmp_path / "model.txt")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    renamed = frame.rename(columns={"my column": "my_column"})
    assert np.array_equal(again.predict(renamed), model.predict(frame))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame.rename(columns={"my column": "my-column"}))
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert np.array_equal(booster.predict(renamed), model.predict(frame))


def test_contributions_are_laid_out_like_lightgbm():
    model, X = trained(HistogramBoostingClassifier, n_classes=3)
    flat = model.predict(X, pred_contrib=True)
    assert flat.shape == (len(X), 3 * 6)
    assert np.array_equal(flat.reshape(-1, 3, 6), model.predict_contributions(X))
    np.testing.assert_allclose(flat.reshape(-1, 3, 6).sum(axis=2), model.decision_function(X))
    single, X = trained(HistogramBoostingRegressor)
    assert single.predict(X, pred_contrib=True).shape == (len(X), 6)
    some = single.predict(X, num_iteration=3, pred_contrib=True)
    np.testing.assert_allclose(some.sum(axis=1), single.predict(X, num_iteration=3))


def test_values_unsupported_by_json_are_left_out_and_named(tmp_path):
    X, y = table()

    def squared(y, score):
        return score - y, np.ones_like(y)

    seed = np.random.RandomState(3)
    model = HistogramBoostingRegressor(objective=squared, n_estimators=5, random_state=seed)
    model.fit(X, y).save_model(tmp_path / "model.json")
    kept = json.loads((tmp_path / "model.json").read_text())["estimator"]
    assert kept["left_out"] == ["objective", "random_state"]
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_custom_objectives_keep_probabilities(n_classes, tmp_path):
    X, y = table()
    y = np.digitize(y, [0, 3][: n_classes - 1])

    def log_loss(y, score):
        if score.ndim == 1:
            p = 1 / (1 + np.exp(-score))
            return p - y, p * (1 - p)
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(n_classes)[y.astype(int)], 2 * p * (1 - p)

    model = HistogramBoostingClassifier(objective=log_loss, n_estimators=5).fit(X, y)
    expected = model.ensemble_.predict(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-14)
    assert model.score(X, y) > 0.6
    for name in ("model.json", "model.txt"):
        model.save_model(tmp_path / name)
        again = HistogramBoostingClassifier().load_model(tmp_path / name)
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_classifier_refuses_regression_files_and_vice_versa(tmp_path):
    path = tmp_path / "model.json"
    trained(HistogramBoostingRegressor)[0].save_model(path)
    with pytest.raises(ModelFileError, match="predicts values: HistogramBoostingClassifier"):
        HistogramBoostingClassifier().load_model(path)
    trained(HistogramBoostingClassifier, n_classes=2)[0].save_model(path)
    with pytest.raises(ModelFileError, match="predicts classes: HistogramBoostingRegressor"):
        HistogramBoostingRegressor().load_model(path)


def test_refit_discards_the_loaded_file(tmp_path):
    model, X = trained(HistogramBoostingRegressor, objective="poisson")
    model.save_model(tmp_path / "model.json")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.json")
    y = np.exp(np.nan_to_num(X[:, 0]))
    fresh = HistogramBoostingRegressor(**model.get_params()).fit(X, y)
    assert np.array_equal(again.fit(X, y).predict(X), fresh.predict(X))


def test_metrics_of_any_number_type_are_kept(tmp_path):
    X, y = table()

    def wrong(y, found):  # a whole number of numpy's, and at first not finite
        calls.append(1)
        return "wrong", np.int64(5) if len(calls) > 1 else np.nan, False

    calls = []
    model = HistogramBoostingRegressor(n_estimators=3, random_state=0)
    model.fit(X, y, eval_set=[(X, y)], eval_metric=wrong)
    model.save_model(tmp_path / "model.json")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.json")
    found = again.evals_result_["training"]["wrong"]
    assert np.isnan(found[0])
    assert found[1:] == [5.0, 5.0]


def test_large_codes_are_stored_in_our_own_format(tmp_path):
    rng = np.random.default_rng(0)
    codes = np.array([3, 2**24 + 1, 2**31 - 1])
    X = codes[rng.integers(0, 3, 500)].astype(float)[:, None]
    y = (X[:, 0] == codes[1]) + 0.1 * rng.normal(size=500)
    params = {"n_estimators": 5, "categorical_feature": [0], "min_data_per_group": 5}
    model = HistogramBoostingRegressor(**params).fit(X, y)
    model.save_model(tmp_path / "model.json")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.json")
    assert len(np.unique(again.predict(X))) > 1
    assert np.array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="code"):
        model.save_model(tmp_path / "model.txt")
    X[0] = 2.0**31
    with pytest.raises(ValueError, match=r"has code 2147483648; codes must be below 2\*\*31"):
        HistogramBoostingRegressor(**params).fit(X, y)


def test_frame_is_refused_if_the_file_lacks_category_names(tmp_path):
    rng = np.random.default_rng(0)
    place = rng.integers(0, 3, 400)
    frame = pd.DataFrame({"a": pd.Categorical.from_codes(place, [10, 20, 30])})
    y = (place == 1) + 0.1 * rng.normal(size=400)
    theirs = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True, max_cat_to_onehot=1)
    theirs.fit(frame, y).save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    del document["learner"]["gradient_booster"]["model"]["cats"]  # as up to XGBoost 3.0
    (tmp_path / "model.json").write_text(json.dumps(document))
    model = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    model.save_model(tmp_path / "kept.json")
    for read in (model, NewtonBoostingRegressor().load_model(tmp_path / "kept.json")):
        with pytest.raises(ValueError, match="does not name its categories"):
            read.predict(frame)
    codes = frame.apply(lambda column: column.cat.codes)
    assert np.array_equal(model.predict(codes).astype(np.float32), theirs.predict(frame))


def test_unwritable_path_is_named_as_given(tmp_path):
    model, _ = trained(HistogramBoostingRegressor)
    path = tmp_path / "nowhere" / "model.json"
    with pytest.raises(FileNotFoundError) as error:
        model.save_model(path)
    assert error.value.filename == str(path)


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "goss"},
        {"boosting": "gbrt"},
        {"extra_trees": 1},
        {"early_stopping_round": 0},
        {"monotone_constraints": "1,0"},
        {"interaction_constraints": "[0],[1]"},
        {"subsample_freq": -1},
    ],
    ids=str,
)
def test_values_in_lightgbms_conventions_are_loaded(params, tmp_path):
    """A file may hold every parameter value that ``fit`` accepts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = HistogramBoostingClassifier(n_estimators=3, random_state=0, **params)
    model.fit(X, X[:, 0] > 0)
    model.save_model(tmp_path / "model.json")
    loaded = HistogramBoostingClassifier().load_model(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
