"""Tests of Newton booster files: XGBoost's format both ways, our own, contributions."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost

from algorithms import (
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    read_model,
)
from algorithms.model_io.errors import ModelFileError

CASES = [
    (NewtonBoostingRegressor, {}),
    (NewtonBoostingRegressor, {"objective": "count:poisson"}),
    (NewtonBoostingRegressor, {"tree_method": "exact", "base_score": 0.3}),
    (NewtonBoostingRegressor, {"parity": "xgboost"}),
    (NewtonBoostingClassifier, {"n_classes": 2}),
    (NewtonBoostingClassifier, {"n_classes": 3}),
]


def table(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def trained(kind, n_classes=0, **params):
    """Return a model and its training X."""
    X, y = table()
    if n_classes:
        y = np.array(["no", "yes", "very"])[np.digitize(y, [0, 1.5][: n_classes - 1])]
    y = np.exp(y / 4) if params.get("objective") == "count:poisson" else y
    return kind(n_estimators=8, max_depth=4, random_state=0, **params).fit(X, y), X


def predictions_of(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_xgboost_predicts_our_models_bitwise(kind, params, tmp_path):
    model, X = trained(kind, **params)
    model.save_model(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    raw = booster.predict(xgboost.DMatrix(X), output_margin=True).reshape(len(X), -1)
    assert np.array_equal(raw, model._raw(X))
    again = kind().load_model(tmp_path / "model.json")
    assert np.array_equal(predictions_of(again, X), predictions_of(model, X))
    assert np.array_equal(again.predict(X), model.predict(X))
    for name, value in model.get_params().items():
        assert getattr(again, name) == value or name == "missing"
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    assert np.array_equal(list(again.staged_predict(X))[3], list(model.staged_predict(X))[3])
    assert np.array_equal(
        again.predict(X, iteration_range=(0, 3)), list(model.staged_predict(X))[2]
    )


@pytest.mark.parametrize(("kind", "params"), CASES[3:])
def test_own_format_restores_the_estimator(kind, params, tmp_path):
    model, X = trained(kind, **params)
    model.save_model(tmp_path / "model.json", format="harness")
    again = kind().load_model(tmp_path / "model.json")
    assert np.array_equal(predictions_of(again, X), predictions_of(model, X))
    assert again.get_params()["max_depth"] == 4


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_xgboost_model_becomes_an_estimator(booster, tmp_path):
    X, y = table()
    X[:, 4] = np.random.default_rng(1).integers(0, 30, len(X))
    params = {"objective": "count:poisson", "nthread": 1, "booster": booster, "max_depth": 4}
    types = ["q"] * 4 + ["c"]
    data = xgboost.DMatrix(X, np.exp(y / 4), feature_types=types, enable_categorical=True)
    trained = xgboost.train(params | ({"rate_drop": 0.5} if booster == "dart" else {}), data, 8)
    trained.save_model(tmp_path / "model.json")
    model = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    margin = trained.predict(data, output_margin=True)
    result = model.predict(X, output_margin=True)
    if booster == "gbtree":
        assert np.array_equal(result, margin)
    np.testing.assert_allclose(result, margin, atol=1e-7)  # DART subtracts the base of each tree
    np.testing.assert_allclose(model.predict(X), trained.predict(data), rtol=1e-6)
    assert model.objective == "count:poisson"
    expected = trained.predict(data, pred_contribs=True)
    result = model.predict_contributions(X)
    if booster == "gbtree":
        scale = np.abs(expected).max()
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=2e-6 * scale)
    np.testing.assert_allclose(result.sum(axis=1), margin, atol=1e-5)


def test_training_continues_from_a_file(tmp_path):
    X, y = table()
    trained = xgboost.train({"nthread": 1, "max_depth": 3}, xgboost.DMatrix(X, y), 5)
    trained.save_model(tmp_path / "model.json")
    loaded = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    longer = NewtonBoostingRegressor(n_estimators=20, max_depth=3).fit(X, y, xgb_model=loaded)
    assert longer.ensemble_.n_trees == 25
    first = longer.predict(X, iteration_range=(0, 5))
    assert np.array_equal(first, loaded.predict(X))
    errors = [np.mean((result - y) ** 2) for result in (first, longer.predict(X))]
    assert errors[1] < errors[0]


def test_categorical_frames_are_read_as_in_training(tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["e"] = pd.Categorical(np.random.default_rng(0).choice(["x", "y", "z"], len(X)))
    model = NewtonBoostingRegressor(n_estimators=5).fit(frame, y)
    model.save_model(tmp_path / "model.json")
    again = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert json.loads((tmp_path / "model.json").read_text())["learner"]["feature_names"] == [
        *"abcde"
    ]


@pytest.mark.parametrize("n_classes", [0, 3])
def test_early_stopped_model_saves_all_rounds_and_predicts_with_the_best(n_classes, tmp_path):
    X, y = table()
    y = np.digitize(y, [0, 1.5]) if n_classes else y
    kind = NewtonBoostingClassifier if n_classes else NewtonBoostingRegressor
    model = kind(n_estimators=100, early_stopping_rounds=2)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])])
    model.save_model(tmp_path / "model.json")
    again = kind().load_model(tmp_path / "model.json")
    library = xgboost.XGBClassifier() if n_classes else xgboost.XGBRegressor()
    library.load_model(tmp_path / "model.json")
    every = (0, model.n_iter_)
    for rounds in (None, every):
        expected = model.predict(X, output_margin=True, iteration_range=rounds)
        for other in (again, library):
            predictions = other.predict(X, output_margin=True, iteration_range=rounds)
            assert np.array_equal(predictions, expected)
    assert again.n_iter_ == library.get_booster().num_boosted_rounds() == model.n_iter_
    assert again.best_iteration == library.best_iteration == model.best_iteration
    assert library.best_score == pytest.approx(model.best_score)
    assert again.evals_result() == model.evals_result()
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    used = read_model(tmp_path / "model.json")
    assert used.n_trees == (model.best_iteration + 1) * max(n_classes, 1)
    assert np.array_equal(used.raw(X), model.ensemble_.raw(X))
    again.save_model(tmp_path / "own.json", format="harness")
    loaded = kind().load_model(tmp_path / "own.json")
    assert loaded.n_iter_ == model.best_iteration + 1
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_contributions_of_classes_and_sparse_rows():
    from scipy import sparse

    model, X = trained(NewtonBoostingClassifier, n_classes=3)
    contributions = model.predict_contributions(X)
    assert contributions.shape == (len(X), 3, 6)
    np.testing.assert_allclose(contributions.sum(axis=2), model._raw(X), atol=1e-5)
    listed = sparse.csr_matrix(np.nan_to_num(X))
    dense = np.where(np.nan_to_num(X) == 0, np.nan, X)
    assert np.array_equal(model.predict_contributions(listed), model.predict_contributions(dense))


def test_trees_with_other_rules_are_refused(tmp_path):
    X, y = table()
    HistogramBoostingRegressor(n_estimators=2).fit(X, y).save_model(tmp_path / "model.txt")
    with pytest.raises(ModelFileError, match="do not follow XGBoost's rules"):
        NewtonBoostingRegressor().load_model(tmp_path / "model.txt")


@pytest.mark.parametrize(
    "about",
    [
        {"params": []},
        {"columns": ["a"]},
        {"labels": {"dtype": "<M8[s]", "values": [1]}},
        {"categories": {"a": 3}},
        [],
    ],
)
def test_metadata_beside_the_trees_is_checked(about, tmp_path):
    model, _ = trained(NewtonBoostingRegressor)
    model.save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["learner"]["attributes"]["tree-harness"] = json.dumps(about)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="cannot be read as a model"):
        NewtonBoostingRegressor().load_model(tmp_path / "model.json")


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("trees", [1, 2])
def test_early_stopped_library_model_predicts_with_its_best_rounds(tmp_path, n_classes, trees):
    X, y = table()
    y = np.digitize(y, [0, 1.5]) if n_classes else y
    kind = xgboost.XGBClassifier if n_classes else xgboost.XGBRegressor
    theirs = kind(n_estimators=200, early_stopping_rounds=3, num_parallel_tree=trees, n_jobs=1)
    theirs.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    theirs.save_model(tmp_path / "model.json")
    again = kind()
    again.load_model(tmp_path / "model.json")
    ours = (NewtonBoostingClassifier if n_classes else NewtonBoostingRegressor)()
    ours.load_model(tmp_path / "model.json")
    assert ours.n_iter_ > ours.best_iteration + 1 == trees * (theirs.best_iteration + 1)
    assert ours.best_score == pytest.approx(theirs.best_score)
    expected = again.predict(X, output_margin=True).reshape(len(X), -1)
    assert np.array_equal(ours._raw(X), expected)
    rounds = trees * (theirs.best_iteration + 3)
    margin = theirs.predict(X, output_margin=True, iteration_range=(0, theirs.best_iteration + 3))
    assert np.array_equal(ours._raw(X, (0, rounds)), margin.reshape(len(X), -1))
