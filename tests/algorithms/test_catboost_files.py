"""CatBoost's JSON model files: equal predictions in both directions, and damaged files."""

import json
import tracemalloc

import catboost
import numpy as np
import pandas as pd
import pytest
from ensembles import random_ensemble, random_symmetric_ensemble

from algorithms import (
    HistogramBoostingRegressor,
    SymmetricBoostingClassifier,
    SymmetricBoostingRegressor,
    read_model,
    serve,
    write_model,
)
from algorithms.model_io.catboost_writer import exact_text, read_digits, write
from algorithms.model_io.errors import ModelFileError

LOSSES = ["RMSE", "Poisson", "Quantile:alpha=0.3", "Logloss", "MultiClass"]
QUIET = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}


def tables(loss):
    """Return training rows, their targets, and other rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    X[::7, 1] = np.nan
    X[:, 2] = X[:, 2] > 0
    score = np.nansum(X, axis=1)
    y = {
        "Poisson": np.floor(np.exp(score / 3)),
        "Logloss": np.where(score > 0, 7, 3),
        "MultiClass": np.array(["a", "b", "c"])[np.digitize(score, [-1, 1])],
    }.get(loss, score)
    new = rng.normal(size=(400, 4)).astype(np.float32)
    new[rng.random(new.shape) < 0.2] = np.nan
    return X, y, new


def classes_of(loss):
    """Return our class and CatBoost's."""
    if loss in ("Logloss", "MultiClass"):
        return SymmetricBoostingClassifier, catboost.CatBoostClassifier
    return SymmetricBoostingRegressor, catboost.CatBoostRegressor


CASES = [(loss, {"nan_mode": mode}) for loss in LOSSES for mode in ("Min", "Max")]
CASES += [
    ("RMSE", {"grow_policy": "Depthwise"}),
    ("Logloss", {"grow_policy": "Lossguide", "max_leaves": 7, "nan_mode": "Max"}),
    ("MultiClass", {"grow_policy": "Lossguide"}),
]


@pytest.mark.parametrize(("loss", "params"), CASES)
def test_catboosts_files_are_read(loss, params, tmp_path):
    (X, y, new), (ours, theirs) = tables(loss), classes_of(loss)
    given = {"iterations": 12, "loss_function": loss, **params}
    library = theirs(**given, **QUIET).fit(X, y)
    library.save_model(str(tmp_path / "model.json"), format="json")
    raw = library.predict(new, prediction_type="RawFormulaVal")
    model = ours().load_model(tmp_path / "model.json")
    trees = read_model(tmp_path / "model.json")
    for one in (model._raw(new), trees.raw(new), serve(trees).raw(new)):
        np.testing.assert_array_equal(one.reshape(raw.shape), raw)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict(new), library.predict(new).ravel())
        np.testing.assert_allclose(model.predict_proba(new), library.predict_proba(new), rtol=1e-13)
    else:
        np.testing.assert_allclose(model.predict(new), library.predict(new), rtol=1e-13)
    write_model(trees, tmp_path / "again.json", format="catboost")
    np.testing.assert_array_equal(read_model(tmp_path / "again.json").raw(new), trees.raw(new))


@pytest.mark.parametrize(("loss", "params"), CASES)
def test_catboost_reads_our_files(loss, params, tmp_path):
    (X, y, new), (ours, theirs) = tables(loss), classes_of(loss)
    model = ours(iterations=12, loss_function=loss, thread_count=1, **params).fit(X, y)
    model.save_model(tmp_path / "model.json", format="json")
    library = theirs().load_model(str(tmp_path / "model.json"), format="json")
    raw = library.predict(new, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(model._raw(new).reshape(raw.shape), raw, rtol=0, atol=1e-15)
    expected = model.predict(new)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(library.predict(new).ravel(), expected)
    else:
        np.testing.assert_allclose(library.predict(new), expected, rtol=1e-13)
    library.save_model(str(tmp_path / "by_catboost.json"), format="json")
    for name in ("model.json", "by_catboost.json"):
        loaded = ours().load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict(new) == expected, True)
        assert loaded.get_params() == model.get_params()


def test_catboost_reads_nearly_all_leaf_values_exactly(tmp_path):
    depth = 13
    rng = np.random.default_rng(1)
    model = SymmetricBoostingRegressor(iterations=1, depth=depth, thread_count=1)
    model.fit(rng.normal(size=(50, depth)), rng.normal(size=50))
    saved = json.loads(write(model.ensemble_))
    splits = [{"split_index": i, "split_type": "FloatFeature"} for i in range(depth)]
    values = rng.normal(size=1 << depth)
    borders = {"borders": [float(i) for i in range(depth)], "has_nans": False}
    feature = {**saved["features_info"]["float_features"][0], **borders}
    text = json.dumps(
        {
            **saved,
            "features_info": {"float_features": [feature]},
            "oblivious_trees": [{"leaf_values": ["VALUES"], "splits": splits}],
        }
    ).replace('"VALUES"', ",".join(exact_text(value) for value in values.tolist()))
    (tmp_path / "model.json").write_text(text)
    library = catboost.CatBoostRegressor().load_model(str(tmp_path / "model.json"), format="json")
    differs = library.get_leaf_values() != values
    assert np.count_nonzero(differs) <= len(values) // 2000
    trees = read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(np.sort(trees.value[trees.left < 0, 0]), np.sort(values))


@pytest.mark.parametrize("value", [0.1, -0.1, 1 / 3, -2.5e-300, 5e-324, 1e22, 123.0, -0.48107908])
def test_texts_of_numbers_are_exact_for_a_correct_reader(value):
    text = exact_text(value)
    assert float(text) == value
    digits, _, exponent = text.lstrip("-").partition("e-")
    if len(digits) > 15 and "." not in digits:
        read = read_digits(digits, is_negative=value < 0) / float(10 ** int(exponent))
        assert read == abs(value)


def test_labels_and_names_are_kept(tmp_path):
    X, y, _ = tables("Logloss")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for labels in (y > 3, y.astype(float), np.array(["no", "yes"])[(y > 3).astype(int)]):
        model = SymmetricBoostingClassifier(iterations=3, thread_count=1).fit(frame, labels)
        model.save_model(tmp_path / "model.json", format="json")
        loaded = SymmetricBoostingClassifier().load_model(tmp_path / "model.json")
        assert loaded.classes_.tolist() == model.classes_.tolist()
        assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        library = catboost.CatBoostClassifier()
        library.load_model(str(tmp_path / "model.json"), format="json")
        assert [str(one) for one in library.classes_] == [str(one) for one in model.classes_]


def first_tree(**changes):
    """Return a function that changes the first tree of a document."""
    return lambda document: document["oblivious_trees"][0].update(changes)


LEAVES = {"left": {"value": 1.0}, "right": {"value": 2.0}}


def nested(root):
    """Return a function that replaces the trees of a document by one of nested nodes."""

    def change(document):
        del document["oblivious_trees"]
        document["trees"] = [root]

    return change


def first_feature(**changes):
    """Return a function that changes the first column of a document."""
    return lambda document: document["features_info"]["float_features"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["features_info"].update(categorical_features=[{}]),
            "malformed",
        ),
        (lambda d: d["features_info"].update(ctrs=[{}]), "has ctrs"),
        (lambda d: d.pop("oblivious_trees"), "has no trees"),
        (nested({"value": [1.0, 2.0]}), "a leaf has 2 values; the model has 1 scores"),
        (nested({"split": {"split_index": 999}, **LEAVES}), "split_index"),
        (
            nested({"split": {"split_index": 0, "split_type": "OneHotFeature"}, **LEAVES}),
            "another split_type",
        ),
        (nested({"split": {"split_index": 0}, "left": {"value": 1.0}}), "right"),
        (lambda d: d["model_info"].pop("params"), "loss_function is not stored"),
        (lambda d: d["model_info"]["params"]["loss_function"].update(type="Lq"), "'Lq' is not"),
        (first_tree(leaf_values=[1.0] * 5), "has 5 leaf values"),
        (first_tree(leaf_weights=[1.0] * 5), "has 5 leaf weights"),
        (first_tree(splits=[{"split_index": 0}] * 17), "17 splits"),
        (first_tree(splits=[{"split_index": -1}]), "value -1"),
        (
            first_tree(splits=[{"split_index": 1 << 31}]),
            "split_index",
        ),
        (first_tree(splits=[{"split_index": 1 << 64}]), "64-bit"),
        (
            first_feature(flat_feature_index=1 << 40),
            "flat_feature_index has the value",
        ),
        (
            first_feature(flat_feature_index=1),
            "same flat_feature_index",
        ),
        (nested({"value": float("inf")}), "infinite or missing"),
        (lambda d: d.update(scale_and_bias=[1.0, []]), "bias is not a list"),
        (lambda d: d.update(scale_and_bias=[1.0, [float("nan")]]), "infinite or missing"),
        (lambda d: d.update(scale_and_bias=[1.0, [0.0, 0.0]]), "leaf values"),
        (first_feature(borders=[[1]]), "borders"),
    ],
)
def test_damaged_files_are_refused(change, message, tmp_path):
    document = json.loads(write(random_symmetric_ensemble(np.random.default_rng(0))))
    change(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message):
        read_model(tmp_path / "model.json", format="catboost")


def test_a_large_number_of_columns_needs_no_memory(tmp_path):
    document = json.loads(write(random_symmetric_ensemble(np.random.default_rng(0))))
    document["features_info"]["float_features"][3]["flat_feature_index"] = (1 << 30) - 2
    (tmp_path / "model.json").write_text(json.dumps(document))
    tracemalloc.start()
    trees = read_model(tmp_path / "model.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert trees.n_features == (1 << 30) - 1
    assert peak < 1 << 24


def test_other_models_are_refused(tmp_path):
    path = tmp_path / "model.json"
    with pytest.raises(ModelFileError, match="other rules"):
        write_model(random_ensemble(np.random.default_rng(0)), path, format="catboost")
    trained = HistogramBoostingRegressor(n_estimators=2, n_jobs=1)
    trained.fit(np.arange(100.0)[:, None], np.arange(100.0) ** 2)
    with pytest.raises(ModelFileError, match="CatBoost's format"):
        trained.save_model(path, format="catboost")
    with pytest.raises(ModelFileError, match="binary format"):
        SymmetricBoostingRegressor(iterations=1).fit([[1.0], [2.0]], [1.0, 2.0]).save_model(
            tmp_path / "model.cbm", format="cbm"
        )
    assert list(tmp_path.iterdir()) == []


def test_catboosts_binary_files_are_named(tmp_path):
    X, y, _ = tables("RMSE")
    path = tmp_path / "model.cbm"
    catboost.CatBoostRegressor(iterations=1, **QUIET).fit(X, y).save_model(str(path))
    with pytest.raises(ModelFileError, match="binary format"):
        read_model(path)
