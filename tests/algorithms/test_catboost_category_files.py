"""CatBoost's JSON model files with categories: equal predictions in both directions."""

import json

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms import (
    HistogramBoostingRegressor,
    SymmetricBoostingClassifier,
    SymmetricBoostingRanker,
    SymmetricBoostingRegressor,
    read_model,
)
from algorithms.model_io.errors import ModelFileError
from algorithms.symmetric.categories import level_hashes

QUIET = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
COLLIDING = ("v28896", "v32029")  # two texts with the same hash
CASES = [
    ("RMSE", {"max_ctr_complexity": 3}),
    ("RMSE", {"one_hot_max_size": 40, "nan_mode": "Max"}),
    ("RMSE", {"simple_ctr": ["BinarizedTargetMeanValue:Prior=-0.5:Prior=2", "Counter:Prior=0.5"]}),
    ("Logloss", {"simple_ctr": ["Buckets:Prior=0.1", "Counter:CtrBorderCount=31"]}),
    ("Logloss", {"max_ctr_complexity": 4, "one_hot_max_size": 4, "nan_mode": "Max", "depth": 7}),
    ("MultiClass", {"max_ctr_complexity": 2}),
    ("MultiClass", {"simple_ctr": ["Buckets"], "combinations_ctr": ["Borders", "Counter"]}),
    ("Poisson", {"simple_ctr": ["Borders:TargetBorderCount=3"], "boosting_type": "Ordered"}),
    ("RMSE", {"grow_policy": "Depthwise"}),
    ("Logloss", {"grow_policy": "Lossguide", "one_hot_max_size": 4}),
]


def table(n_rows=500, seed=0):
    """Return a frame with numbers and categories, and a target that needs both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "kind": rng.choice(
                ["x", "y", "z", "a longer name of a category, above 16 bytes"], n_rows
            ),
            "a": rng.normal(size=n_rows).astype(np.float32),
            "code": rng.integers(0, 30, n_rows),
            "side": rng.choice(["left", "right"], n_rows),
            "b": rng.normal(size=n_rows).astype(np.float32),
        }
    )
    effect = np.sin(3.0 * np.arange(30))[X["code"]] * 2
    y = X["a"] + effect + (X["kind"] == "y") * (X["side"] == "left") * 3
    X.loc[::9, "b"] = np.nan
    return X, (y + 0.3 * rng.normal(size=n_rows)).to_numpy()


def new_rows():
    """Return rows with levels that are absent from training."""
    X, _ = table(400, seed=1)
    X.loc[:40, "kind"], X.loc[30:90, "code"], X.loc[80:99, "side"] = "new", 999, "up"
    X.loc[::5, "b"] = np.nan
    return X


def targets(loss, y):
    """Return targets for a loss."""
    return {
        "Logloss": np.where(y > 0, "yes", "no"),
        "MultiClass": np.digitize(y, [-1.0, 1.0]) + 3,
        "Poisson": np.floor(np.exp(y / 3)),
    }.get(loss, y)


def classes_of(loss):
    """Return our class and CatBoost's."""
    if loss in ("Logloss", "MultiClass"):
        return SymmetricBoostingClassifier, catboost.CatBoostClassifier
    return SymmetricBoostingRegressor, catboost.CatBoostRegressor


def params_of(loss, params):
    """Return the parameters of a case."""
    fixed = {"iterations": 15, "learning_rate": 0.3, "loss_function": loss, "random_seed": 1}
    return {**fixed, "cat_features": ["kind", "code", "side"], "model_size_reg": 0.0, **params}


def check_equal(ours, theirs, X):
    """Assert that two fitted models predict the same."""
    raw = theirs.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(ours._raw(X).reshape(raw.shape), raw, rtol=1e-12, atol=1e-14)
    if hasattr(ours, "predict_proba"):
        assert (ours.predict(X).astype(str) == theirs.predict(X).ravel().astype(str)).all()


@pytest.mark.parametrize(("loss", "params"), CASES)
def test_catboosts_files_are_read(loss, params, tmp_path):
    X, y = table()
    ours, theirs = classes_of(loss)
    library = theirs(**params_of(loss, params), **QUIET).fit(X, targets(loss, y))
    library.save_model(str(tmp_path / "model.json"), format="json")
    info = json.loads((tmp_path / "model.json").read_text())["features_info"]
    assert info.get("ctrs") or params.get("one_hot_max_size") == 40
    model = ours().load_model(tmp_path / "model.json")
    assert model.get_cat_feature_indices() == [0, 2, 3]
    assert model.feature_names_in_.tolist() == list(X.columns)
    for frame in (X, new_rows()):
        check_equal(model, library, frame)
    np.testing.assert_allclose(
        model.feature_importances_.sum() * bool(len(model._trees)), 100.0, rtol=1e-9
    )
    for name in ("harness", "json"):
        if name == "harness" or "Mean" not in str(params.get("simple_ctr")):
            model.save_model(tmp_path / name, format=name)
            again = ours().load_model(tmp_path / name)
            np.testing.assert_array_equal(again._raw(new_rows()), model._raw(new_rows()))


@pytest.mark.parametrize(("loss", "params"), CASES)
def test_catboost_reads_our_files(loss, params, tmp_path):
    X, y = table()
    ours, theirs = classes_of(loss)
    given = params_of(loss, params)
    model = ours(**given, thread_count=1).fit(X, targets(loss, y))
    model.save_model(tmp_path / "model.json", format="json")
    library = theirs().load_model(str(tmp_path / "model.json"), format="json")
    for frame in (X, new_rows()):
        check_equal(model, library, frame)
    loaded = ours().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded._raw(new_rows()), model._raw(new_rows()))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_allclose(loaded.feature_importances_, model.feature_importances_)
    library.save_model(str(tmp_path / "again.json"), format="json")
    np.testing.assert_allclose(
        ours().load_model(tmp_path / "again.json")._raw(new_rows()), model._raw(new_rows())
    )


def test_arrays_rankers_and_columns_without_splits(tmp_path):
    X, y = table(200)
    X["constant"], y = "same", np.round(y) + 10
    cells = X.to_numpy(object)
    model = SymmetricBoostingRanker(iterations=5, cat_features=[0, 2, 3, 5])
    model.fit(cells, y, np.arange(200) // 20)
    model.save_model(tmp_path / "model.json", format="json")
    library = catboost.CatBoostRanker().load_model(str(tmp_path / "model.json"), format="json")
    np.testing.assert_allclose(library.predict(cells), model.predict(cells), rtol=1e-12)
    loaded = SymmetricBoostingRanker().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(cells), model.predict(cells))
    assert loaded.n_features_in_ == 6


def test_sums_with_fractions_are_read_but_not_written(tmp_path):
    X, y = table()
    ctr = {"simple_ctr": ["BinarizedTargetMeanValue:TargetBorderCount=3"]}
    library = catboost.CatBoostRegressor(**params_of("RMSE", ctr), **QUIET).fit(X, y)
    library.save_model(str(tmp_path / "model.json"), format="json")
    model = SymmetricBoostingRegressor().load_model(tmp_path / "model.json")
    check_equal(model, library, new_rows())
    for one in (model, SymmetricBoostingRegressor(**params_of("RMSE", ctr)).fit(X, y)):
        with pytest.raises(ModelFileError, match="drops the fractions"):
            one.save_model(tmp_path / "again.json", format="json")


def test_tables_that_the_format_does_not_tell_apart_are_refused(tmp_path):
    X, y = table()
    ctr = {"simple_ctr": ["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=3"]}
    given = params_of("RMSE", ctr)
    library = catboost.CatBoostRegressor(**given, **QUIET).fit(X, y)
    library.save_model(str(tmp_path / "model.json"), format="json")
    with pytest.raises(ModelFileError, match="does not tell apart"):
        SymmetricBoostingRegressor().load_model(tmp_path / "model.json")
    model = SymmetricBoostingRegressor(**given, thread_count=1).fit(X, y)
    with pytest.raises(ModelFileError, match="differ by the borders of the target only"):
        model.save_model(tmp_path / "again.json", format="json")


def test_categories_of_one_hash_are_not_written(tmp_path):
    assert len(set(level_hashes(COLLIDING))) == 1
    X = pd.DataFrame({"c": np.tile([*COLLIDING, "other"], 30)})
    model = SymmetricBoostingRegressor(iterations=3).fit(X, np.arange(90) % 3)
    with pytest.raises(ModelFileError, match="two categories have the same hash"):
        model.save_model(tmp_path / "model.json", format="json")


@pytest.mark.parametrize("name", ["harness", "json"])
def test_files_that_cannot_be_used_are_refused_on_loading(name, tmp_path):
    X, y = table(100)
    path = tmp_path / "model.json"
    SymmetricBoostingRegressor(iterations=3).fit(X.astype({"code": str}), y).save_model(
        path, format=name
    )
    with pytest.raises(ModelFileError, match="load it with load_model of Symmetric"):
        read_model(path)
    with pytest.raises(ModelFileError, match="load it with load_model of Symmetric"):
        HistogramBoostingRegressor().load_model(path)
    document = json.loads(path.read_text())
    if name == "harness":
        del document["estimator"]["derived_columns"]
    else:
        del document["features_info"]["categorical_features"]
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError):
        SymmetricBoostingRegressor().load_model(path)


def first_table(**changes):
    """Return a function that changes the first table of a document."""
    return lambda document: next(iter(document["ctr_data"].values())).update(changes)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d.pop("ctr_data"), "malformed"),
        (first_table(hash_stride=7), "multiple of its hash_stride"),
        (first_table(hash_map=[]), "multiple of its hash_stride"),
        (first_table(hash_map=["1", None], hash_stride=2), "consist of numbers"),
        (first_table(hash_map=["1", 2, "1", 2], hash_stride=2), "same hash twice"),
        (first_table(hash_map=["-1", 2], hash_stride=2), "malformed"),
        (lambda d: d["features_info"]["ctrs"][0].update(ctr_type="Other"), "not supported"),
        (lambda d: d["features_info"]["ctrs"][0].update(borders=[None]), "list of numbers"),
        (lambda d: d["features_info"]["ctrs"][0].update(scale=None), "malformed"),
        (lambda d: d["features_info"]["ctrs"][0].update(target_border_idx=9), "malformed"),
        (lambda d: d["features_info"]["ctrs"][0]["elements"].clear(), "malformed"),
        (
            lambda d: d["features_info"]["categorical_features"][0].update(flat_feature_index=1),
            "same flat_feature_index",
        ),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(split_type="Other"), "split_type"),
    ],
)
def test_damaged_files_are_refused(change, match, tmp_path):
    X, y = table(200)
    path = tmp_path / "model.json"
    SymmetricBoostingRegressor(**params_of("RMSE", {"iterations": 3})).fit(X, y).save_model(
        path, format="json"
    )
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    model = SymmetricBoostingRegressor()
    with pytest.raises(ModelFileError, match=match):
        model.load_model(path)
    assert not hasattr(model, "ensemble_")
