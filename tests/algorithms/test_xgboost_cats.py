"""Tests of the category section of XGBoost files: writing, reading, refusals."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost

from algorithms import (
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from algorithms.estimator.library_versions import read_series
from algorithms.model_io.errors import ModelFileError

WORDS = ["z", "", "yes", "w"]  # in no order
SHORT = ["i1", "u1", "i2", "i4", "i8"]  # whole numbers that XGBoost 3.2 can train on


def codes(n=400):
    """Return codes of four categories, and a target of them."""
    rng = np.random.default_rng(0)
    result = rng.integers(0, 4, n)
    return result, np.array([0.0, 5.0, 1.0, 3.0])[result] + 0.01 * rng.normal(size=n)


def column(categories, missing=0.0):
    """Return a categorical column with missing values."""
    result = np.where(np.random.default_rng(1).random(400) < missing, -1, codes()[0])
    return pd.Categorical.from_codes(result, categories=pd.Index(categories))


def frame(missing=0.1):
    """Return a frame of text, numbers, and two integer dtypes."""
    return pd.DataFrame(
        {
            "word": column(WORDS, missing),
            "x": np.arange(400.0) % 7,
            "short": column(np.array([7, -1, 5, 3], "i2"), missing),
            "long": column([2**40, 5, -3, 0]),
        }
    )


def with_reversed_categories(table):
    """Return a frame with reversed order of categories."""
    kinds = {n: pd.CategoricalDtype(table[n].cat.categories[::-1]) for n in table if n != "x"}
    return table.astype(kinds)


def section(path):
    """Return the category section of an XGBoost file."""
    learner = json.loads(path.read_text())["learner"]
    booster = learner["gradient_booster"]
    return booster.get("gbtree", booster)["model"]["cats"]


def theirs(X, **params):
    return xgboost.XGBRegressor(
        n_estimators=20, max_cat_to_onehot=1, n_jobs=1, enable_categorical=True, **params
    ).fit(X, codes()[1])


# ------------------------------------------------------------------ written


@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, HistogramBoostingRegressor])
def test_xgboost_predicts_frames_by_category_names(kind, tmp_path):
    X, path = frame(), tmp_path / "model.json"
    model = kind(n_estimators=20).fit(X, codes()[1])
    model.save_model(path, format="xgboost")
    library = xgboost.XGBRegressor()
    library.load_model(path)
    some = X[(X["word"] == "w").to_numpy()].head(3)
    some = some.assign(word=some["word"].cat.remove_unused_categories())
    for requested in (X, with_reversed_categories(X), with_reversed_categories(X).head(1), some):
        assert np.allclose(library.predict(requested), model.predict(requested), atol=1e-5)
        result = library.apply(
            with_reversed_categories(requested)
        )  # by DMatrix, which needs the types of columns
        assert np.array_equal(result, library.apply(requested))
    assert np.ptp(library.predict(X)) > 4.0


def test_xgboost_predicts_polars_categories(tmp_path):
    words = pd.Series(column(["été", "z", "ß", "a"])).astype(str).to_list()
    kind = pl.Enum(["z", "ß", "été", "a"])
    X = pl.DataFrame({"word": pl.Series(words, dtype=kind), "x": np.arange(400.0)})
    model = NewtonBoostingClassifier(n_estimators=10).fit(X, codes()[0])
    model.save_model(tmp_path / "model.json")
    library = xgboost.XGBClassifier()
    library.load_model(tmp_path / "model.json")
    kinds = [kind, pl.Enum(["a", "été", "z", "ß"])]
    if read_series(xgboost.__version__) < (3, 4):  # 3.4 refuses polars.Categorical
        kinds.append(pl.Categorical)
    for own in kinds:
        requested = X.with_columns(pl.col("word").cast(pl.String).cast(own))
        assert np.array_equal(library.predict(requested), model.predict(X))


@pytest.mark.parametrize("kind", [*SHORT, "text"])
def test_category_section_equals_xgboost(kind, tmp_path):
    own = WORDS if kind == "text" else np.array([7, 1, 5, 3], kind)
    X = pd.DataFrame({"x": 0.0, "word": column(own), "y": 1.0})
    theirs(X).save_model(tmp_path / "theirs.json")
    NewtonBoostingRegressor(n_estimators=2).fit(X, codes()[1]).save_model(tmp_path / "ours.json")
    assert section(tmp_path / "ours.json") == section(tmp_path / "theirs.json")
    types = json.loads((tmp_path / "ours.json").read_text())["learner"]["feature_types"]
    assert types == ["float", "c", "float"]


def test_category_section_of_non_ascii_text_equals_arrow(tmp_path):
    names = ["z", "été", "", "ß"]  # XGBoost 3.2 counts bytes right in frames of Arrow and polars
    words = pl.Series(np.array(names)[codes()[0]].tolist(), dtype=pl.Enum(names))
    X = pl.DataFrame({"word": words, "x": np.zeros(400)})
    theirs(X).save_model(tmp_path / "theirs.json")
    NewtonBoostingRegressor(n_estimators=2).fit(X, codes()[1]).save_model(tmp_path / "ours.json")
    assert section(tmp_path / "ours.json") == section(tmp_path / "theirs.json")


def test_model_without_categories_has_no_section(tmp_path):
    for X in (np.zeros((400, 2)), pd.DataFrame({"none": pd.Categorical([None] * 400), "x": 0.0})):
        model = NewtonBoostingRegressor(n_estimators=2).fit(X, codes()[1])
        model.save_model(tmp_path / "model.json")
        assert section(tmp_path / "model.json") == {
            "enc": [],
            "feature_segments": [],
            "sorted_idx": [],
        }
        xgboost.Booster(model_file=tmp_path / "model.json")


@pytest.mark.parametrize(
    "own", [[True, False], [1.5, 10.0, 2.5, 0.0], ["a", 1, 2.5, 3]], ids=["bool", "float", "mixed"]
)
def test_types_unknown_to_xgboost_are_stored_as_text(own, tmp_path):
    word = pd.Categorical.from_codes(codes()[0] % len(own), categories=pd.Index(own))
    X = pd.DataFrame({"word": word, "x": np.arange(400.0)})
    model = NewtonBoostingRegressor(n_estimators=20).fit(X, codes()[1])
    model.save_model(tmp_path / "model.json")
    again = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    library = xgboost.XGBRegressor()
    library.load_model(tmp_path / "model.json")
    with pytest.raises((TypeError, xgboost.core.XGBoostError)):
        library.predict(X)
    text = X.assign(word=X["word"].astype(str).astype("category"))
    assert np.array_equal(library.predict(text), model.predict(X).astype(np.float32))


def test_categories_equal_as_text_are_refused(tmp_path):
    X = pd.DataFrame({"word": column(["1", 1, 2, 3])})
    model = NewtonBoostingRegressor(n_estimators=2).fit(X, codes()[1])
    with pytest.raises(ModelFileError, match="two are the same"):
        model.save_model(tmp_path / "model.json")
    model.save_model(tmp_path / "model.json", format="harness")


@pytest.mark.parametrize("form", ["xgboost", "harness"])
@pytest.mark.parametrize("unit", ["ns", "s"])
def test_dates_of_any_unit_are_refused(unit, form, tmp_path):
    X = pd.DataFrame({"day": column(pd.date_range("2020", periods=4, unit=unit))})
    model = NewtonBoostingRegressor(n_estimators=2).fit(X, codes()[1])
    with pytest.raises(ModelFileError, match="text or numbers"):
        model.save_model(tmp_path / "model.json", format=form)


# ------------------------------------------------------------------ read


@pytest.mark.filterwarnings("ignore:.*`booster=dart` is deprecated:UserWarning")  # since 3.4
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, HistogramBoostingRegressor])
def test_frames_are_predicted_by_the_names_in_xgboost_files(kind, booster, tmp_path):
    X = frame()
    library = theirs(X, booster=booster)
    library.save_model(tmp_path / "theirs.json")
    model = kind().load_model(tmp_path / "theirs.json")
    model.save_model(tmp_path / "kept.json", format="xgboost")
    model.save_model(tmp_path / "own.json", format="harness")
    assert section(tmp_path / "kept.json") == section(tmp_path / "theirs.json")
    served = xgboost.XGBRegressor()
    served.load_model(tmp_path / "kept.json")
    kept, own = (kind().load_model(tmp_path / f"{name}.json") for name in ("kept", "own"))
    expected = library.predict(X)
    for requested in (X, with_reversed_categories(X)):
        for one in (model, served, kept, own):
            np.testing.assert_allclose(one.predict(requested), expected, rtol=1e-6, atol=1e-6)
    numbers = X.assign(**{n: X[n].cat.codes.replace(-1, np.nan) for n in X if n != "x"})
    assert np.array_equal(
        model.predict(with_reversed_categories(X)), model.ensemble_.predict(numbers.to_numpy())
    )


def test_categories_unseen_by_xgboost_are_missing(tmp_path):
    X = frame()
    theirs(X).save_model(tmp_path / "model.json")
    model = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    new = X.assign(word=pd.Categorical(["new"] * 400))
    assert np.array_equal(model.predict(new), model.predict(X.assign(word=np.nan)))


def test_training_continues_with_xgboost_codes(tmp_path):
    X, y = frame(missing=0.0), codes()[1]
    library = theirs(X)
    library.save_model(tmp_path / "model.json")
    more = NewtonBoostingRegressor(n_estimators=3)
    more.fit(with_reversed_categories(X), y, xgb_model=str(tmp_path / "model.json"))
    assert more.categories_["word"].tolist() == WORDS
    assert (
        np.abs(more.predict(with_reversed_categories(X)) - y).max()
        < np.abs(library.predict(X) - y).max() + 0.05
    )


@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, HistogramBoostingRegressor])
def test_frames_with_non_string_names_are_matched_by_position(kind, tmp_path):
    X = pd.DataFrame({0: column([5, 0, -1, 3]), 1: np.zeros(400)})
    library = theirs(X)
    library.save_model(tmp_path / "model.json")  # it calls them "0" and "1"
    model = kind().load_model(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="valid feature names"):
        predictions = model.predict(X)
    assert np.array_equal(predictions.astype(np.float32), library.predict(X))


def test_xgboost_continues_from_our_file(tmp_path):
    X, path = frame(), tmp_path / "model.json"
    model = NewtonBoostingRegressor(n_estimators=5).fit(X, codes()[1])
    model.save_model(path)
    more = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True, n_jobs=1)
    more.fit(with_reversed_categories(X), codes()[1], xgb_model=str(path))
    predictions = more.predict(X, iteration_range=(0, 5))
    assert np.array_equal(predictions, model.predict(X).astype(np.float32))
    more.save_model(path)
    again = NewtonBoostingRegressor().load_model(path)
    assert np.array_equal(again.predict(with_reversed_categories(X)), more.predict(X))
    assert again.categories_["short"].dtype == np.int16


def test_columns_without_names_have_categories_too(tmp_path):
    X, path = frame(), tmp_path / "model.json"
    library = theirs(X)
    library.get_booster().feature_names = None
    library.save_model(path)
    model = NewtonBoostingRegressor().load_model(path)
    assert list(model.categories_) == [0, 2, 3]
    with pytest.warns(UserWarning, match="fitted without feature names"):
        predictions = model.predict(with_reversed_categories(X))
    assert np.array_equal(predictions, library.predict(X))


def test_names_truncated_by_xgboost_are_not_used(tmp_path):
    own = ["automne", "hiver", "printemps", "été"]  # XGBoost 3.2 writes "ét", which appears valid
    X = pd.DataFrame({"season": column(own)})
    library = theirs(X)
    library.save_model(tmp_path / "model.json")
    is_truncated = read_series(xgboost.__version__) < (3, 4)
    end = 24 if is_truncated else 26
    assert section(tmp_path / "model.json")["enc"][0]["offsets"][-2:] == [21, end]
    model = NewtonBoostingRegressor().load_model(tmp_path / "model.json")
    if not is_truncated:
        assert np.array_equal(model.predict(X).astype(np.float32), library.predict(X))
        return
    with pytest.raises(ValueError, match="does not name its categories"):
        model.predict(X)
    numbers = pd.DataFrame({"season": X["season"].cat.codes})
    assert np.array_equal(model.predict(numbers).astype(np.float32), library.predict(X))


def rewritten(path, change):
    """Change the document of a model file."""
    document = json.loads(path.read_text())
    change(document, document["learner"]["gradient_booster"]["model"]["cats"])
    path.write_text(json.dumps(document))


def test_names_are_used_from_the_fixed_version_on(tmp_path):
    path, names = tmp_path / "model.json", ["z", "été", "", "ß"]
    words = pl.Series(np.array(names)[codes()[0]].tolist(), dtype=pl.Enum(names))
    X = pl.DataFrame({"word": words})
    library = theirs(X)
    library.save_model(path)
    rewritten(path, lambda document, _: document.update(version=[3, 4, 0]))
    model = NewtonBoostingRegressor().load_model(path)
    assert model.categories_["word"].tolist() == names
    assert np.array_equal(model.predict(X).astype(np.float32), library.predict(X))

    def cut(_, cats):
        cats["enc"][0]["offsets"][1:3] = [2, 5]  # within a letter

    rewritten(path, cut)
    with pytest.raises(ValueError, match="does not name its categories"):
        NewtonBoostingRegressor().load_model(path).predict(X)


@pytest.mark.parametrize(
    "broken",
    [
        lambda cats: cats["enc"].pop(),
        lambda cats: cats["enc"][0].update(offsets=[0, 9, 1, 1, 2]),
        lambda cats: cats["enc"][0].update(offsets=[0, 1, 2, 3, 99]),
        lambda cats: cats["enc"][0].update(offsets=[-1, 1, 2, 3, 4]),
        lambda cats: cats["enc"][0].update(values=["a"]),
        lambda cats: cats["enc"][0].update(offsets=[0, 1, 1, 1, 2]),  # two empty names
        lambda cats: cats["enc"].__setitem__(0, {"type": 15, "values": [3, 3]}),
        lambda cats: cats["enc"].__setitem__(0, {"type": 8, "values": [1, 2]}),
        lambda cats: cats["enc"].__setitem__(0, {"type": 9, "values": [300]}),
        lambda cats: cats["enc"].__setitem__(0, [1]),
        lambda cats: cats.update(enc=3),
    ],
)
def test_invalid_section_is_refused(broken, tmp_path):
    path = tmp_path / "model.json"
    theirs(frame()).save_model(path)
    rewritten(path, lambda _, cats: broken(cats))
    with pytest.raises(ModelFileError, match="cannot be read as a model"):
        NewtonBoostingRegressor().load_model(path)
