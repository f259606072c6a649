"""How the boosters read frames: names of columns that are no text, masks, categories gone on."""

import numpy as np
import pandas as pd
import pytest

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

CLASSIFIERS = [HistogramBoostingClassifier, NewtonBoostingClassifier]
REGRESSORS = [HistogramBoostingRegressor, NewtonBoostingRegressor]


def frame(names, n=200):
    """Return a frame of a column of categories and a number, and what both say."""
    rng = np.random.default_rng(0)
    letters, number = rng.choice(list("abcdef"), n), rng.normal(size=n)
    table = pd.DataFrame({names[0]: pd.Categorical(letters), names[1]: number})
    return table, np.isin(letters, ["a", "d", "e"]) * 2.0 + (number > 0)


def rounds(kind, **params):
    return kind(n_estimators=5, random_state=0, **params)


# ------------------------------------------------------------------ names that are no text


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("names", [(0, 1), (7, 3), ((1, "a"), (2, "b"))])
def test_columns_whose_names_are_no_text_are_read_as_named_ones_are(kind, names):
    X, y = frame(("c", "x"))
    named = rounds(kind).fit(X, y).predict(X)
    other, _ = frame(names)
    model = rounds(kind).fit(other, y)
    assert np.array_equal(model.predict(other), named)
    assert list(model.categories_) == [0]
    assert len(model.ensemble_.set_codes)
    assert isinstance(other.iloc[:, 0].dtype, pd.CategoricalDtype)  # the user's frame stays


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_are_told_from_such_a_frame(kind):
    X, y = frame((0, 1))
    assert (rounds(kind).fit(X, y).predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("suffix", ["json", "txt"])
def test_files_keep_the_places_of_such_columns(suffix, tmp_path):
    X, y = frame((0, 1))
    model = rounds(HistogramBoostingRegressor).fit(X, y)
    model.save_model(tmp_path / f"model.{suffix}")
    again = HistogramBoostingRegressor().load_model(tmp_path / f"model.{suffix}")
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


# ------------------------------------------------------------------ which columns are categories


def test_a_mask_names_the_columns_where_it_is_true():
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
    ("wanted", "message"),
    [
        ([False, True], "mask of 2; X has 3 columns"),
        ([False, 1], "names False, which is no column"),
        ([3], "names 3, which is no column"),
    ],
)
def test_a_mask_of_another_length_is_an_error(wanted, message):
    X, y = np.zeros((30, 3)), np.arange(30.0)
    with pytest.raises(ValueError, match=message):
        rounds(HistogramBoostingRegressor, categorical_feature=wanted).fit(X, y)
