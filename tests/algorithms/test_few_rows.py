"""Tests that the fast path for few rows predicts like the general path."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import validate_data

from algorithms.bagging import BaggingClassifier
from algorithms.decision_tree import DecisionTreeClassifier
from algorithms.estimator import fast_validation
from algorithms.estimator.fast_validation import (
    is_plain,
    plain_frame,
    plain_rows,
    plain_sparse_rows,
)
from algorithms.gradient_boosting import GradientBoostingRegressor
from algorithms.histogram_boosting import HistogramBoostingClassifier
from algorithms.newton import fitted_model as newton_fitted
from algorithms.newton_boosting import NewtonBoostingClassifier
from algorithms.random_forest import RandomForestClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
MODELS = (
    BaggingClassifier(n_estimators=3, random_state=0),
    DecisionTreeClassifier(random_state=0),
    GradientBoostingRegressor(n_estimators=3, random_state=0),
    HistogramBoostingClassifier(n_estimators=3),
    NewtonBoostingClassifier(n_estimators=3),
    RandomForestClassifier(n_estimators=3, random_state=0),
)


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return request.param.fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_row_predicts_like_many(model, dtype, monkeypatch):
    monkeypatch.setattr(fast_validation, "MAX_VALUES", 1 << 12)
    given = X.astype(dtype)
    one_by_one = [model.predict(given[[i]])[0] for i in range(len(X))]
    assert np.array_equal(one_by_one, model.predict(given))
    assert plain_rows(model, given) is not None
    assert plain_rows(model, np.zeros((1 << 10, 4), dtype)) is not None
    assert plain_rows(model, np.zeros(((1 << 10) + 1, 4), dtype)) is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((1, 4), np.inf), "infinity"),
        (np.full((1, 4), -np.inf), "infinity"),
        (np.ones((1, 5)), "5 features"),
        (np.ones((0, 4)), "minimum of 1 is required"),
        (np.ones(4), "Expected 2D array"),
        (np.ones((1, 2, 2)), "dim 3"),
        (np.full((1, 4), "a"), "could not convert|dtype"),
    ],
)
def test_invalid_rows_raise_scikit_learn_errors(model, rows, message):
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


def test_value_beyond_float32_is_refused_by_float32_models():
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="too large"):
        model.predict(np.full((1, 4), 1e39))


def test_missing_values_are_refused_by_models_without_them():
    model = GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 4), np.nan))


def test_column_names_are_still_checked(model):
    named = model.fit(pd.DataFrame(X, columns=list("abcd")), Y)
    with pytest.warns(UserWarning, match="feature names"):
        named.predict(X[:1])


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_wide_rows_in_column_major_order_predict_alike(kind):
    wide = np.asfortranarray(RNG.normal(size=(200, 600)))
    model = kind(n_estimators=5).fit(wide, Y)
    expected = model.predict_proba(np.ascontiguousarray(wide))
    assert np.array_equal(model.predict_proba(wide), expected)
    assert model._walker._narrow[1].width < 300  # the fast path was taken
    unused = np.setdiff1d(np.arange(600), model.ensemble_.feature)[0]
    wide[3, unused] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(wide)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_one_sparse_row_predicts_like_many(form, dtype, kind, monkeypatch):
    monkeypatch.setattr(fast_validation, "MAX_VALUES", 1 << 12)
    given = form(np.where(RNG.random(X.shape) < 0.5, X, 0.0).astype(dtype))
    model = kind(n_estimators=3).fit(given, Y)
    one_by_one = [model.predict_proba(given[[i]])[0] for i in range(given.shape[0])]
    assert np.array_equal(one_by_one, model.predict_proba(given))
    assert plain_sparse_rows(model, given) is not None
    assert plain_sparse_rows(model, form(np.ones(((1 << 10) + 1, 4), dtype))) is None
    assert plain_sparse_rows(model, given.tocsc()) is None
    assert plain_sparse_rows(model, given.astype(int)) is None


def test_sparse_value_beyond_float32_is_refused_by_float32_models():
    model = NewtonBoostingClassifier(n_estimators=2).fit(X, Y)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="too large"):
        model.predict(sparse.csr_array(np.full((1, 4), 1e39)))


def test_unusual_sparse_rows_use_the_general_path():
    model = HistogramBoostingClassifier(n_estimators=3).fit(X, Y)
    for bad, message in ((np.full((1, 4), np.inf), "infinity"), (np.ones((1, 5)), "5 features")):
        with pytest.raises(ValueError, match=message):
            model.predict(sparse.csr_array(bad))
    halves = [X[0, 0] / 2.0] * 2, [0, 0], [0, 2]
    twice = sparse.csr_array(halves, shape=(1, 4))
    assert plain_sparse_rows(model, twice) is None
    alone = sparse.csr_array(twice.toarray())
    assert np.array_equal(model.predict_proba(twice), model.predict_proba(alone))


def test_column_names_are_still_checked_for_sparse_rows():
    named = HistogramBoostingClassifier(n_estimators=3).fit(
        pd.DataFrame(X, columns=list("abcd")), Y
    )
    with pytest.warns(UserWarning, match="feature names"):
        named.predict(sparse.csr_array(X[:1]))


def frame(rows=200, order="abc"):
    """Return a frame of numbers and two categorical columns, one with missing values."""
    letters = pd.Categorical(np.array(list("abc"))[np.arange(rows) % 3], categories=list(order))
    numbers = pd.Categorical.from_codes(np.arange(rows) % 5 - 1, categories=[3, 1, 2, 0])
    columns = {"x": X[:rows, 0], "letter": letters, "number": numbers, "z": X[:rows, 1]}
    return pd.DataFrame(columns)


def grown_on_frame(kind):
    own = {"enable_categorical": True} if kind is NewtonBoostingClassifier else {}
    target = (X[:, 0] + np.arange(len(X)) % 3 > 1.0).astype(int)
    return kind(n_estimators=5, **own).fit(frame(), target)


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_one_frame_row_predicts_like_the_general_path(kind, monkeypatch):
    model, given = grown_on_frame(kind), frame()
    one_by_one = [model.predict_proba(given[i : i + 1])[0] for i in range(60)]
    again = pickle.loads(pickle.dumps(model))  # its categories are equal, and not the same object
    assert plain_frame(again, given) is not None
    assert np.array_equal(again.predict_proba(given)[:60], one_by_one)
    monkeypatch.setattr(fast_validation, "MAX_VALUES", 0)
    assert plain_frame(model, given) is None
    assert np.array_equal(model.predict_proba(given)[:60], one_by_one)
    assert len(np.unique(one_by_one)) > 5


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_unusual_frames_use_the_general_path(kind):
    model = grown_on_frame(kind)
    named = frame(order="cab")  # the same categories in another order: other codes
    assert plain_frame(model, named) is None
    plain = frame()
    plain["letter"] = named["letter"].cat.set_categories(list("abc"))
    assert np.array_equal(model.predict_proba(named), model.predict_proba(plain))
    wholes = frame().assign(x=1)
    for rows in (wholes, wholes[:3]):
        assert plain_frame(model, rows) is not None
        assert np.array_equal(model.predict_proba(rows), model.predict_proba(rows.assign(x=1.0)))
    assert plain_frame(model, frame().assign(x="1")) is None
    for bad, message in (
        (frame().rename(columns={"x": "y"}), "feature names"),
        (frame()[["z", "x", "letter", "number"]], "feature names"),
        (frame().assign(x=np.inf), "infinity"),
        (frame()[:0], "minimum of 1 is required"),
    ):
        assert plain_frame(model, bad) is None
        with pytest.raises(ValueError, match=message):
            model.predict_proba(bad)


def test_frame_beyond_float32_is_refused_by_float32_models():
    model = grown_on_frame(NewtonBoostingClassifier)
    with pytest.raises(ValueError, match="too large"):
        model.predict(frame().assign(x=1e39))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_infinity_is_distinguished_from_large_and_missing_values(dtype):
    largest = np.finfo(dtype).max
    for values in ([], [1.0], [largest, largest], [np.nan, largest], [np.nan]):
        assert is_plain(np.array(values, dtype))
    for values in ([np.inf], [-np.inf, np.inf], [np.nan, np.inf]):
        assert not is_plain(np.array(values, dtype))
    for values in ([], [1.0], [largest, largest]):
        assert is_plain(np.array(values, dtype), allow_nan=False)
    for values in ([np.nan, largest], [np.nan], [np.inf], [-np.inf, np.inf]):
        assert not is_plain(np.array(values, dtype), allow_nan=False)


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_pickle_does_not_contain_predicted_data(kind):
    model = kind(n_estimators=3).fit(X, Y)
    before = pickle.dumps(model)
    model.predict(sparse.csr_array(X))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_tree_walk_reports_out_of_range_values(kind, dtype, monkeypatch):
    model = kind(n_estimators=20, n_jobs=2, random_state=0).fit(X, Y)
    many = np.tile(X.astype(dtype), (60, 1))
    many[5, 1] = np.nan
    expected = model.ensemble_.predict(many)
    with monkeypatch.context() as patch:
        patch.setattr(kind, "_read_rows", None)  # only the tree walk reads X
        patch.setattr(newton_fitted, "read_rows", None)
        assert_allclose(model.predict_proba(many), expected, rtol=1e-14)
    outside = [np.inf, -np.inf] + ([1e39] if kind is NewtonBoostingClassifier else [])
    for place in (0, 7000, len(many) - 1):
        for value in outside:
            bad = many.copy()
            with np.errstate(over="ignore"):
                bad[place, 2] = value
                with pytest.raises(ValueError, match=r"infinity|too large"):
                    model.predict(bad)


def test_float32_range_check_on_doubles_equals_rounding():
    model = NewtonBoostingClassifier(n_estimators=20).fit(X, Y)
    near = np.nextafter(np.float32(X), np.float32(np.inf)).astype(float)
    between = np.concatenate([X, (np.float32(X) + near) / 2.0, near])
    assert np.array_equal(
        model.predict_proba(between), model.predict_proba(between.astype(np.float32))
    )


@pytest.mark.parametrize(
    ("kinds", "is_read"),
    [
        (["f8"], True),
        (["f4"], True),
        (["i8", "f8"], True),
        (["i4"], True),
        (["u8", "i1"], True),
        (["f4", "f8"], False),  # scikit-learn decides which attributes are pickled
        (["?", "f8"], False),
        (["Float64", "f8"], False),
        (["O", "f8"], False),
    ],
)
def test_numeric_frames_are_read_like_scikit_learn(kinds, is_read):
    values = np.random.default_rng(0).integers(0, 100, (50, 4))
    frame = pd.DataFrame({f"c{j}": values[:, j] for j in range(4)})
    frame = frame.astype({f"c{j}": kinds[j % len(kinds)] for j in range(4)})
    model = HistogramBoostingClassifier(n_estimators=3).fit(frame, np.arange(50) % 2)
    result = plain_frame(model, frame)
    assert (result is not None) == is_read
    if is_read:
        requested = {"dtype": [np.float64, np.float32], "order": "C", "reset": False}
        expected = validate_data(model, frame, **requested)
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
        assert result.flags.c_contiguous
        assert not np.shares_memory(result, frame.to_numpy())
    before = frame.copy()
    alone = [model.predict_proba(frame.iloc[[i]])[0] for i in range(len(frame))]
    assert np.array_equal(alone, model.predict_proba(frame))
    pd.testing.assert_frame_equal(frame, before)
