"""Tests of LightGBM's text format, which lists categories without naming their columns."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest

from algorithms import HistogramBoostingRegressor
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.lightgbm_reader import categories_of

N = 400
NO_ORDER = [4, 3, 2, 1, 0]  # codes are not what the categories are


def columns(seed=0):
    """Return codes below 4 and below 5, and a y that depends on both."""
    rng = np.random.default_rng(seed)
    k, o = rng.integers(0, 4, N), rng.integers(0, 5, N)
    return k, o, np.array([3.0, -1, 2, 0])[k] + o


def cases():
    """Return frames, each with LightGBM's categorical setting."""
    k, o, _ = columns()
    words, number = np.array(list("zwyx"))[k], np.random.default_rng(1).integers(0, 6, N)
    ordered = pd.Categorical(o, categories=NO_ORDER, ordered=True)
    constant = pd.Categorical([7] * N, categories=[7, 3, 2, 1, 0])
    missing = pd.Categorical([None] * N)
    word = pd.Categorical(words)
    return {
        "ordered, and codes of whole numbers": ({"o": ordered, "k": k}, ["k"]),
        "constant, and codes of whole numbers": ({"c": constant, "o": o, "k": k}, ["k"]),
        "ordered alone": ({"o": ordered, "n": number}, "auto"),
        "ordered and not": ({"o": ordered, "k": word}, "auto"),
        "constant and not": ({"c": constant, "o": ordered, "k": word}, "auto"),
        "all missing": ({"m": missing, "o": o, "k": word}, "auto"),
        "category and codes": ({"k": word, "o": o}, ["k", "o"]),
        "a category that is not named": ({"k": word, "o": o}, ["o"]),
        "plain": ({"n": number, "k": word}, "auto"),
    }


def trained_by_lightgbm(frame, named, y):
    params = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1, "min_data_per_group": 1}
    data = lightgbm.Dataset(frame, y, categorical_feature=named)
    return lightgbm.train(params, data, 5)


def saved_by_lightgbm(case, path):
    """Return LightGBM's saved model of a case, the frame and the target."""
    columns_of, named = cases()[case]
    frame, y = pd.DataFrame(columns_of), columns()[2]
    booster = trained_by_lightgbm(frame, named, y)
    booster.save_model(path)
    return booster, frame, y


@pytest.mark.parametrize("case", cases())
def test_model_of_a_frame_predicts_like_lightgbm(case, tmp_path):
    booster, frame, _ = saved_by_lightgbm(case, tmp_path / "model.txt")
    model = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    expected = booster.predict(frame)
    assert np.array_equal(model.predict(frame), expected)
    few = frame.iloc[:5].copy()
    for name in few.columns[few.dtypes == "category"]:  # other categories, in another order
        few[name] = few[name].cat.remove_unused_categories().cat.add_categories([-1])
        few[name] = few[name].cat.reorder_categories(few[name].cat.categories[::-1])
    assert np.array_equal(model.predict(few), expected[:5])
    codes = frame.apply(lambda one: one.cat.codes if one.dtype == "category" else one)
    codes = codes.to_numpy(np.float64)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(model.predict(np.where(codes < 0, np.nan, codes)), expected)
    listed = booster.pandas_categorical
    for name in ("again.json", "again.txt"):
        model.save_model(tmp_path / name)
        again = HistogramBoostingRegressor().load_model(tmp_path / name)
        assert np.array_equal(again.predict(frame), expected)
        assert np.array_equal(again.predict(few), expected[:5])
    theirs = lightgbm.Booster(model_file=tmp_path / "again.txt")
    assert np.array_equal(theirs.predict(frame), expected)
    assert theirs.pandas_categorical == listed
    theirs.save_model(tmp_path / "theirs.txt")  # what is theirs keeps no lines of ours
    again = HistogramBoostingRegressor().load_model(tmp_path / "theirs.txt")
    assert np.array_equal(again.predict(frame), expected)


@pytest.mark.parametrize("case", cases())
def test_boosting_continues_from_a_model_of_a_frame(case, tmp_path):
    booster, frame, y = saved_by_lightgbm(case, tmp_path / "model.txt")
    turned = frame.copy()
    for name in turned.columns[turned.dtypes == "category"]:
        turned[name] = turned[name].cat.reorder_categories(turned[name].cat.categories[::-1])
    model = HistogramBoostingRegressor(n_estimators=1, learning_rate=1e-12)
    model.fit(turned, y, init_model=tmp_path / "model.txt")
    np.testing.assert_allclose(model.predict(turned), booster.predict(frame), atol=1e-9)


def open_model(tmp_path):
    """Return a loaded model whose file does not name the column of its list, and its frame."""
    k, o, y = columns()
    ordered = pd.Categorical(o, categories=NO_ORDER, ordered=True)
    frame = pd.DataFrame({"o": ordered, "k": k})
    path = tmp_path / "model.txt"
    trained_by_lightgbm(frame, ["k"], y).save_model(path)
    return HistogramBoostingRegressor().load_model(path), frame


def test_frame_with_another_number_of_categorical_columns_is_refused(tmp_path):
    model, frame = open_model(tmp_path)
    assert isinstance(model.categories_, list)
    both = frame.astype({"k": "category"})
    numbers = frame.astype(np.float64)  # of categories, not codes
    for invalid, message in (
        (both, r"\['o', 'k'\]"),
        (numbers, r"\[\]"),
        (numbers.astype(int), r"\[\]"),
    ):
        with pytest.raises(
            ValueError, match=rf"in the columns {message}, but the model file has 1 list\(s\)"
        ):
            model.predict(invalid)
        with pytest.raises(ValueError, match=f"in the columns {message}; .* to go on from are 1"):
            HistogramBoostingRegressor(n_estimators=1).fit(invalid, columns()[2], init_model=model)


def test_xgboost_format_keeps_the_category_lists(tmp_path):
    model, frame = open_model(tmp_path)
    model.save_model(tmp_path / "model.json", format="xgboost")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.json")
    assert [own.tolist() for own in again.categories_] == [NO_ORDER]
    np.testing.assert_allclose(again.predict(frame), model.predict(frame), atol=1e-5)


def test_text_columns_are_categorical_for_frames_of_other_libraries(tmp_path):
    k, o, y = columns()
    frame = pd.DataFrame({"m": pd.Categorical(["u"] * N), "k": np.array(list("zwyx"))[k], "o": o})
    coded = frame.astype({"k": "category"})
    booster = trained_by_lightgbm(coded, "auto", y)
    booster.save_model(tmp_path / "model.txt")
    model = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    assert np.array_equal(model.predict(frame), booster.predict(coded))
    assert np.array_equal(model.predict(frame.astype({"m": str})), booster.predict(coded))


def test_our_files_name_the_categorical_columns(tmp_path):
    k, o, y = columns()
    ordered = pd.Categorical(o, categories=NO_ORDER, ordered=True)
    frame = pd.DataFrame({"unused": np.zeros(N), "o": ordered, "k": k})
    params = {"n_estimators": 5, "categorical_feature": ["k"], "min_child_samples": 1}
    model = HistogramBoostingRegressor(**params).fit(frame, y)
    model.save_model(tmp_path / "model.txt")
    again = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    assert {name: own.tolist() for name, own in again.categories_.items()} == {"o": NO_ORDER}
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert np.array_equal(again.predict(frame.astype({"o": int})), model.predict(frame))


@pytest.mark.parametrize(
    ("infos", "sizes", "expected"),
    [
        ("0:1:2 [0.5:3]", [3], ["a"]),
        ("0:1:2 [0:3]", [3], ["a"]),
        ("0:1:2 [-1:1]", [3], ["a"]),
        ("0:1:2 [0:2]", [3], None),
        ("0:1:2 none", [3], None),
        ("none none", [0, 2], ["a", "b"]),
        ("0:3 0:1:4", [5], None),
        ("0:3 0:1:4", [4], ["a"]),
        ("[-1:1] [0.5:2]", [3], None),
        ("0:1 [0.1:2] none 1:0:2", [2, 3], None),
        ("0:1 [0.1:2] 1:0:2", [2, 3], ["a", "c"]),
    ],
)
def test_categorical_columns_are_inferred_if_unambiguous(infos, sizes, expected):
    lists = [list(range(size)) for size in sizes]
    names = list("abcd"[: infos.count(" ") + 1])
    result = categories_of({"feature_infos": infos}, names, lists)
    assert result == (lists if expected is None else dict(zip(expected, lists, strict=True)))


@pytest.mark.parametrize("line", ['"abc"', "[1]", '{"a": [1]}', "5"])
def test_invalid_category_lists_are_refused(line, tmp_path):
    open_model(tmp_path)
    text = (tmp_path / "model.txt").read_text()
    text = text.replace(json.dumps([NO_ORDER]), line)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(ModelFileError, match="its categories are not lists"):
        HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
