"""Tests of the CatBoost plugin."""

import json

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms.reference._export_catboost import category_hash, codes_of
from algorithms.reference.catboost import coded
from harness import Spec, Task
from harness.plugins.registry import load_registry

REGISTRY = load_registry(modules=["algorithms.reference.catboost"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(np.int64)


def prepared(**params):
    algorithm = REGISTRY.algorithm("catboost.plain")
    spec = Spec(Task.BINARY, {**algorithm.params, "n_estimators": 4, **params}, 1, 1, 2)
    adapter = algorithm.adapter(spec)
    return adapter, adapter.prepare(X, Y, None)


@pytest.mark.parametrize("params", [{}, {"border_count": 7, "nan_mode": "Max"}])
def test_quantized_pool_grows_the_trees_of_raw_data(params):
    adapter, native = prepared(**params)
    assert native.is_quantized()
    adapter.fit(native)
    raw = catboost.CatBoostClassifier(**adapter.params).fit(catboost.Pool(X, Y))
    np.testing.assert_array_equal(adapter.predict(X), raw.predict_proba(X))


def test_misspelled_param_is_named_in_an_error():
    adapter, native = prepared(dept=3)
    with pytest.raises((catboost.CatBoostError, TypeError), match="dept"):
        adapter.fit(native)


def test_no_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adapter, native = prepared()
    adapter.fit(native)
    adapter.export_trees()
    assert not list(tmp_path.iterdir())


def test_frames_are_passed_as_codes_with_a_code_for_missing():
    frame = pd.DataFrame({"a": pd.Categorical(["x", None, "y"]), "b": [0.5, np.nan, 1.0]})
    result = coded(frame)
    assert result["a"].tolist() == [0, -1, 1]
    assert result["a"].dtype == np.int32
    assert frame["a"].dtype == "category"


@pytest.mark.parametrize("codes", [[-1, 0, 9], [10, 99], [100, 4321], [12345, 1048575]])
def test_category_hashes_equal_the_library(tmp_path, codes):
    column = np.repeat(codes, 20)
    target = np.repeat(np.arange(len(codes)) % 2, 20)
    model = catboost.CatBoostClassifier(
        iterations=1, one_hot_max_size=9, logging_level="Silent", allow_writing_files=False
    )
    model.fit(catboost.Pool(column[:, None], target, cat_features=[0]))
    model.save_model(str(tmp_path / "model.json"), format="json")
    saved = json.loads((tmp_path / "model.json").read_text())
    results = set(saved["features_info"]["categorical_features"][0]["values"])
    assert results
    assert results <= {category_hash(c) for c in codes}


def test_codes_are_recovered_from_hashes():
    assert codes_of(set()) == {}
    assert codes_of({category_hash(c) for c in (-1, 7, 300)}) == {
        category_hash(c): c for c in (-1, 7, 300)
    }


def test_the_ranker_trains_on_queries_and_exports_its_trees():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 3))
    y = np.clip(np.round(table[:, 0] + 1.0), 0, 3)
    group = np.tile([10, 20], 4)
    adapter = REGISTRY.algorithm("catboost.ranking").adapter(
        Spec(Task.RANKING, {"n_estimators": 5}, 3, 1, 0)
    )
    adapter.fit(adapter.prepare(table, y, None, group))
    given = {"n_estimators": 5, "boosting_type": "Plain", "random_seed": 3, "thread_count": 1}
    direct = catboost.CatBoostRanker(**given, logging_level="Silent", allow_writing_files=False)
    direct.fit(table, y, group_id=np.repeat(np.arange(8), group))
    np.testing.assert_allclose(adapter.predict(table), direct.predict(table))
    np.testing.assert_allclose(adapter.export_trees().raw(table)[:, 0], adapter.predict(table))
