"""Tests of frames in the boosters: non-string names, masks, categories of an init model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from algorithms.gbdt.input_table import read_table

CLASSIFIERS = [HistogramBoostingClassifier, NewtonBoostingClassifier]
REGRESSORS = [HistogramBoostingRegressor, NewtonBoostingRegressor]


def frame(names, n=200):
    """Return a frame of a categorical column and a number, and a target of both."""
    rng = np.random.default_rng(0)
    letters, number = rng.choice(list("abcdef"), n), rng.normal(size=n)
    table = pd.DataFrame({names[0]: pd.Categorical(letters), names[1]: number})
    return table, np.isin(letters, ["a", "d", "e"]) * 2.0 + (number > 0)


def rounds(kind, **params):
    return kind(n_estimators=5, random_state=0, **params)


@pytest.mark.parametrize("n", [3, 3000])
@pytest.mark.parametrize("nullable", [False, True])  # of pandas' own kind: not laid out at once
def test_numeric_columns_of_any_dtype_are_stacked(n, nullable):
    rng = np.random.default_rng(1)
    codes, whole = rng.integers(-1, 3, n), rng.integers(0, 99, n)
    table = pd.DataFrame(
        {
            "whole": pd.Series(whole, dtype="Int64" if nullable else np.int64),
            "letter": pd.Categorical.from_codes(codes, list("abc")),
            "single": rng.normal(size=n).astype(np.float32),
            "yes": rng.random(n) < 0.5,
        }
    )
    kept = table.copy()
    model = HistogramBoostingRegressor()
    X, _ = read_table(model, table, y=np.zeros(n), reset=True)
    columns = [whole, np.where(codes < 0, np.nan, codes), table["single"], table["yes"]]
    assert np.array_equal(X, np.column_stack(columns).astype(float), equal_nan=True)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert X.flags.writeable
    assert list(model.feature_names_in_) == list(table)
    pd.testing.assert_frame_equal(table, kept)


# ------------------------------------------------------------------ non-string names


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("names", [(0, 1), (7, 3), ((1, "a"), (2, "b"))])
def test_non_string_column_names_are_accepted(kind, names):
    X, y = frame(("c", "x"))
    named = rounds(kind).fit(X, y).predict(X)
    other, _ = frame(names)
    model = rounds(kind).fit(other, y)
    assert np.array_equal(model.predict(other), named)
    assert list(model.categories_) == [0]
    assert len(model.ensemble_.set_codes)
    assert isinstance(other.iloc[:, 0].dtype, pd.CategoricalDtype)  # the user's frame is unchanged


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_are_predicted_from_frames_with_non_string_names(kind):
    X, y = frame((0, 1))
    assert (rounds(kind).fit(X, y).predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("suffix", ["json", "txt"])
def test_files_keep_column_positions_without_string_names(suffix, tmp_path):
    X, y = frame((0, 1))
    model = rounds(HistogramBoostingRegressor).fit(X, y)
    model.save_model(tmp_path / f"model.{suffix}")
    again = HistogramBoostingRegressor().load_model(tmp_path / f"model.{suffix}")
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_numbers_in_place_of_text_are_refused(kind):
    X, y = frame(("c", "x"))
    model = rounds(kind).fit(X, y)
    for numbers in (X["c"].cat.codes, X["c"].cat.codes.astype(float)):
        with pytest.raises(ValueError, match="column 'c' holds numbers, its categories are text"):
            model.predict(X.assign(c=numbers))
    gone = X.assign(c=pd.Categorical([None] * len(X)))
    assert np.array_equal(model.predict(X.assign(c=np.nan)), model.predict(gone))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_frame_categories_without_names_are_found_by_position(kind):
    X, y = frame(("c", "x"))
    model = rounds(kind).fit(X, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        predictions = model.predict(X.set_axis([0, 1], axis=1))
    assert np.array_equal(predictions, model.predict(X))


# ------------------------------------------------------------------ columns that hold no numbers


DAYS = pd.date_range("2024", periods=60)
NON_NUMERIC = {
    "text": (["1", "y"] * 30, "holds text, such as 'y': give it the dtype category"),
    "dates": (DAYS, "holds dates or times: turn them into numbers"),
    "dates of a zone": (DAYS.tz_localize("UTC"), "holds dates or times"),
    "durations": (DAYS - DAYS[0], "holds dates or times"),
    "periods": (DAYS.to_period("D"), "holds dates or times"),
    "lists": ([[1, 2]] * 60, "holds a value of type list, which is not a number"),
}


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("bad", NON_NUMERIC)
def test_non_numeric_columns_are_named(kind, bad):
    values, message = NON_NUMERIC[bad]
    numbers = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60) % 7, "c": np.ones(60)})
    X, y = numbers.assign(c=values), numbers["a"]
    with pytest.raises(ValueError, match=f"^column 'c' {message}"):
        rounds(kind).fit(X, y)
    model = rounds(kind).fit(numbers, y)
    with pytest.raises(ValueError, match=f"^column 'c' {message.split(':')[0]}"):
        model.predict(X)
    with pytest.raises(ValueError, match="The feature names should match"):
        model.predict(X.rename(columns={"a": "z"}))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_errors_about_y_refer_to_y(kind):
    X = pd.DataFrame({"a": np.arange(60.0)})
    with pytest.raises(ValueError, match="y holds 'y', which is not a number"):
        rounds(kind).fit(X, ["y"] * 60)


# ------------------------------------------------------------------ which columns are categories


def test_boolean_mask_selects_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 3)).astype(float)
    y = np.isin(X[:, 1], [1, 4]) + X[:, 0] / 6
    listed = rounds(HistogramBoostingRegressor, categorical_feature=[1]).fit(X, y)
    for mask in ([False, True, False], np.array([False, True, False])):
        masked = rounds(HistogramBoostingRegressor, categorical_feature=mask).fit(X, y)
        assert masked._is_categorical.tolist() == [False, True, False]
        assert np.array_equal(masked.predict(X), listed.predict(X))
    none = rounds(HistogramBoostingRegressor, categorical_feature=[False] * 3).fit(X, y)
    assert not none._is_categorical.any()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([False, True], "mask of 2; X has 3 columns"),
        ([False, 1], "names False, which is not a column"),
        ([3], "names 3, which is not a column"),
    ],
)
def test_boolean_mask_of_wrong_length_is_an_error(expected, message):
    X, y = np.zeros((30, 3)), np.arange(30.0)
    with pytest.raises(ValueError, match=message):
        rounds(HistogramBoostingRegressor, categorical_feature=expected).fit(X, y)


# ------------------------------------------------------------------ continued training


def batches():
    """Return two tables whose categories are in different order, some in only one of them."""
    rng = np.random.default_rng(1)
    effect = dict(zip("abcdefgh", [3.0, -2.0, 1.0, 0.0, 2.0, -1.0, 5.0, -4.0], strict=True))
    results = []
    for letters in ("fedcba", "hgca"):
        drawn = rng.choice(list(letters), 300)
        X = pd.DataFrame({"c": pd.Categorical(drawn, categories=list(letters)), "x": 0.0})
        results.append((X, np.array([effect[c] for c in drawn])))
    return results


def continue_training(model, X, y):
    """Return a model that continues from another with negligible new rounds."""
    more = type(model)(n_estimators=1, learning_rate=1e-9, random_state=0)
    how = "init_model" if hasattr(more, "num_leaves") else "xgb_model"
    return more.fit(X, y, **{how: model})


@pytest.mark.parametrize("kind", REGRESSORS)
def test_categories_keep_the_codes_of_the_init_model(kind):
    (X, y), (X2, y2) = batches()
    first = kind(n_estimators=30, random_state=0).fit(X, y)
    more = continue_training(first, X2, y2)
    np.testing.assert_allclose(more.predict(X), first.predict(X), rtol=1e-5, atol=1e-5)
    assert more.categories_["c"].tolist() == [*"fedcba", *"hg"]
    how = "init_model" if kind is HistogramBoostingRegressor else "xgb_model"
    learned = kind(n_estimators=60, random_state=0).fit(X2, y2, **{how: first})
    assert np.abs(learned.predict(X2) - y2).max() < 0.1  # the new categories too


def test_warm_start_reads_the_next_table_with_the_same_codes():
    (X, y), (X2, y2) = batches()
    model = NewtonBoostingRegressor(n_estimators=30, warm_start=True).fit(X, y)
    before = model.predict(X)
    model.set_params(n_estimators=31, learning_rate=1e-9).fit(X2, y2)
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("suffix", ["json", "txt"])
def test_files_contain_category_codes(suffix, tmp_path):
    (X, y), (X2, y2) = batches()
    first = rounds(HistogramBoostingRegressor).fit(X, y)
    first.save_model(tmp_path / f"model.{suffix}")
    more = HistogramBoostingRegressor(n_estimators=1, learning_rate=1e-9)
    more.fit(X2, y2, init_model=tmp_path / f"model.{suffix}")
    np.testing.assert_allclose(more.predict(X), first.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_columns_other_than_the_init_model_are_refused(kind):
    (X, y), _ = batches()
    first = rounds(kind).fit(X, y)
    with pytest.raises(ValueError, match=r"categories in the columns \[\], the model to go on"):
        continue_training(first, X.assign(c=1.0), y)
    with pytest.raises(ValueError, match=r"X has the columns \['x', 'c'\]"):
        continue_training(first, X[["x", "c"]], y)
    if kind is HistogramBoostingRegressor:
        with pytest.raises(ValueError, match="a TreeEnsemble does not store"):
            rounds(kind).fit(X, y, init_model=first.ensemble_)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("labels", [["p", "q", "r"], [3, 5, 9]])
def test_labels_keep_the_codes_of_the_init_model(kind, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    code = np.digitize(X[:, 0], [-0.5, 0.5])
    y = np.array(labels)[code]
    first = rounds(kind).fit(X, y)
    some = code > 0  # a batch that lacks a class
    more = continue_training(first, X[some], y[some])
    assert more.classes_.tolist() == labels
    np.testing.assert_allclose(more.predict_proba(X), first.predict_proba(X), atol=1e-6)
    other = np.array([*labels[:2], labels[2] * 2])[code]  # as many labels, another one
    with pytest.raises(ValueError, match="which the model to continue from does not have"):
        continue_training(first, X, other)


def test_init_model_with_another_link_is_refused():
    X, y = np.arange(60.0)[:, None], np.arange(60) + 1.0
    counts = NewtonBoostingRegressor(n_estimators=2, objective="count:poisson").fit(X, y)
    with pytest.raises(ValueError, match="predicts by 'exp', this one by 'identity'"):
        continue_training(counts, X, y)
    values = rounds(NewtonBoostingRegressor).fit(X, y)
    with pytest.raises(ValueError, match="predicts by 'identity', this one by 'sigmoid'"):
        NewtonBoostingClassifier().fit(X, y > 9, xgb_model=values)


# ------------------------------------------------------------------ polars


def test_numeric_looking_polars_categories_stay_categories():
    X = pl.DataFrame({"c": pl.Series(["1", "2", "3"] * 50, dtype=pl.Categorical)})
    model = HistogramBoostingRegressor(n_estimators=1).fit(X, [0.0, 1.0, 0.0] * 50)
    assert list(model.categories_) == ["c"]
