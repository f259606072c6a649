"""Tests that a table gives the same model and predictions in every input form."""

import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

from algorithms import (
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    SymmetricBoostingRegressor,
    VotingRegressor,
    serve,
)
from algorithms.compat.lightgbm import LGBMRegressor
from algorithms.compat.xgboost import XGBRegressor

NAMES = ["a", "b", "c", "d"]
N_ROWS = 90
SMALL = {"n_estimators": 2, "random_state": 0}
MEMBERS = [
    ("a", HistogramBoostingRegressor(**SMALL)),
    ("b", DecisionTreeRegressor(max_depth=3, random_state=0)),
]
MODELS = {
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "tree of classes": DecisionTreeClassifier(max_depth=4, random_state=0),
    "bagging": BaggingRegressor(**SMALL),
    "forest": RandomForestRegressor(max_depth=4, **SMALL),
    "AdaBoost": AdaBoostRegressor(**SMALL),
    "gradient boosting": GradientBoostingRegressor(**SMALL),
    "histogram": HistogramBoostingRegressor(**SMALL),
    "histogram of classes": HistogramBoostingClassifier(**SMALL),
    "histogram like LightGBM": HistogramBoostingRegressor(parity="lightgbm", **SMALL),
    "Newton": NewtonBoostingRegressor(**SMALL),
    "Newton of classes": NewtonBoostingClassifier(**SMALL),
    "Newton, exact": NewtonBoostingRegressor(tree_method="exact", **SMALL),
    "Newton, 3 is missing": NewtonBoostingRegressor(missing=3.0, **SMALL),
    "Newton like XGBoost": NewtonBoostingRegressor(parity="xgboost", **SMALL),
    "voting": VotingRegressor(MEMBERS),
    "stacking": StackingRegressor(MEMBERS, cv=2),
}
NO_GAPS = ("AdaBoost", "gradient boosting")  # take no missing values, as scikit-learn's
WRAPPED = ("voting", "stacking", "bagging")  # hand X to their members as scikit-learn's do
NO_GAPS_SPARSE = ("tree", "tree of classes", "forest", "bagging", "voting", "stacking")
ABSENT_IS_MISSING = "Newton"  # of a scipy matrix, as in XGBoost


def frame(X):
    """Return a pandas frame of float64 columns."""
    return pd.DataFrame(X, columns=NAMES)


def as_type(kind):
    """Return a function that makes a pandas frame of one dtype."""
    return lambda X: frame(X).astype(kind)


def objects(missing):
    """Return a function that makes a pandas object frame with one kind of missing value."""
    return lambda X: frame(X).astype(object).where(~np.isnan(X), missing)


def strided(X):
    """Return a view of every second row and column."""
    whole = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    whole[::2, ::2] = X
    return whole[::2, ::2]


def read_only(X):
    """Return a read-only copy."""
    result = X.copy()
    result.flags.writeable = False
    return result


def memory_mapped(X):
    """Return a memory-mapped array."""
    file = io.BytesIO()
    np.save(file, X)
    return np.frombuffer(file.getvalue()[-X.nbytes :], X.dtype).reshape(X.shape)


def mixed(X):
    """Return a pandas frame with a different dtype for each column."""
    kinds = ("Float64", pd.SparseDtype("float64", 0.0), "double[pyarrow]", "float32")
    return frame(X).astype(dict(zip(NAMES, kinds, strict=True)))


def polars(X):
    """Return a polars frame, null where missing."""
    return pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)}).fill_nan(None)


ARRAYS = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "of a buffer": memory_mapped,
    "big-endian": lambda X: X.astype(">f8"),
    "big-endian float32": lambda X: X.astype(">f4"),
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "objects, None": lambda X: np.where(np.isnan(X), None, X.astype(object)),
    "objects, pd.NA": lambda X: np.where(np.isnan(X), pd.NA, X.astype(object)),
}
FRAMES = {
    "frame": frame,
    "frame of float32": as_type("float32"),
    "Float64": as_type("Float64"),
    "Float32": as_type("Float32"),
    "Int64": as_type("Int64"),
    "double[pyarrow]": as_type("double[pyarrow]"),
    "int64[pyarrow]": lambda X: frame(X).astype("Int64").astype("int64[pyarrow]"),
    "sparse": as_type(pd.SparseDtype("float64", 0.0)),
    "sparse float32": as_type(pd.SparseDtype("float32", 0.0)),
    "sparse, 1 omitted": as_type(pd.SparseDtype("float64", 1.0)),
    "sparse, NaN omitted": as_type(pd.SparseDtype("float64", np.nan)),
    "frame of objects": objects(np.nan),
    "frame of objects, None": objects(None),
    "frame of objects, pd.NA": objects(pd.NA),
    "mixed": mixed,
    "polars": polars,
    "polars float32": lambda X: polars(X).cast(pl.Float32),
    "polars integers": lambda X: polars(X).cast(pl.Int64),
}
WHOLE = {
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "uint16": lambda X: X.astype(np.uint16),
    "big-endian int32": lambda X: X.astype(">i4"),
}
LOGICAL = {
    "bool": lambda X: X.astype(bool),
    "frame of bool": as_type(bool),
    "boolean": as_type("boolean"),
    "bool[pyarrow]": as_type("bool[pyarrow]"),
    "polars bool": lambda X: polars(X).cast(pl.Boolean),
    "sparse bool": lambda X: frame(X).astype(bool).astype(pd.SparseDtype(bool, False)),
}
MATRICES = {
    f"{kind}_{form}": getattr(sparse, f"{kind}_{form}")
    for kind in ("csr", "csc", "coo")
    for form in ("matrix", "array")
}


def draw_table(kind, seed=0):
    """Return a table of small integers: "whole", with "gaps", or "logical"."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (N_ROWS, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = 0.0
    if kind == "gaps":
        X[rng.random(X.shape) < 0.15] = np.nan
    return (X > 2).astype(float) if kind == "logical" else X


def target_of(model, X):
    """Return labels or values."""
    filled = np.nan_to_num(X, nan=2.5)
    score = filled[:, 0] + filled[:, 1] * filled[:, 2] / 3 + np.sin(np.arange(len(X)))
    return (score > score.mean()).astype(int) if is_classifier(model) else score


def outputs(model, X):
    """Return predictions; column names may be those of training or none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names")
        return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def forms_of(kind, name):
    """Return the forms of a table that an estimator accepts, and whether columns have names."""
    results = {**ARRAYS, **FRAMES}
    if kind != "gaps":
        results |= WHOLE
    if kind == "logical":
        results |= LOGICAL
    takes_gaps = kind != "gaps" or name not in NO_GAPS_SPARSE
    if takes_gaps and not name.startswith(ABSENT_IS_MISSING):
        results |= MATRICES
    if name in WRAPPED:
        results.pop("list")
    return results


MANY_FITS = {"stacking", "voting"}  # each fits several estimators
CASES = [
    pytest.param(name, kind, marks=[pytest.mark.slow] if name in MANY_FITS else [])
    for name in MODELS
    for kind in ("whole", "gaps", "logical")
    if not (kind == "gaps" and name in NO_GAPS)
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_fit_and_predict_do_not_depend_on_the_input_form(name, kind):
    model, X = MODELS[name], draw_table(kind)
    y = target_of(model, X)
    plain = {False: X, True: frame(X)}  # without and with names of columns
    trained = {has_names: clone(model).fit(table, y) for has_names, table in plain.items()}
    expected = outputs(trained[False], X)
    wrong = []
    for form, make in forms_of(kind, name).items():
        table = make(X)
        has_names = hasattr(table, "columns")
        results = {
            "fitted and predicted": outputs(model.fit(table, y), table),
            "fitted": outputs(model, plain[has_names]),
            "predicted": outputs(trained[has_names], table),
        }
        wrong += [
            (form, what) for what, own in results.items() if not predictions_equal(own, expected)
        ]
    assert not wrong


def predictions_equal(first, second):
    """Return True if predictions are equal up to float32 rounding."""
    return np.allclose(first, second, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", MATRICES)
def test_newton_boosting_treats_absent_matrix_entries_as_missing(kind):
    X = draw_table("whole")
    y = target_of(MODELS["Newton"], X)
    gaps = np.where(X == 0.0, np.nan, X)
    model = MODELS["Newton"].fit(gaps, y)
    assert np.array_equal(model.predict(MATRICES[kind](X)), model.predict(gaps))
    expected = model.predict(gaps)
    assert np.array_equal(model.fit(MATRICES[kind](X), y).predict(gaps), expected)


def test_trees_read_every_form_of_a_frame():
    X = draw_table("gaps")
    model = MODELS["Newton"].fit(X, target_of(MODELS["Newton"], X))
    for form, make in {**ARRAYS, **FRAMES}.items():
        assert predictions_equal(serve(model.ensemble_).predict(make(X)), model.predict(X)), form


LETTERS = ["u", "v", None, "w"]
WORDS = {
    "category": lambda c: pd.Series(c, dtype="category"),
    "of strings": lambda c: pd.Series(c, dtype="string").astype("category"),
    "of Arrow strings": lambda c: pd.Series(c, dtype="string[pyarrow]").astype("category"),
    "string": lambda c: pd.Series(c, dtype="string"),
    "Arrow string": lambda c: pd.Series(c, dtype="string[pyarrow]"),
    "object": lambda c: pd.Series(c, dtype=object),
    "object, pd.NA": lambda c: pd.Series(c, dtype=object).where(pd.Series(c).notna(), pd.NA),
    "object, NaN": lambda c: pd.Series(c, dtype=object).where(pd.Series(c).notna(), np.nan),
}


@pytest.mark.parametrize("name", ["histogram", "Newton"])
def test_categories_are_the_same_in_every_form(name):
    X = draw_table("gaps")
    letters = [LETTERS[int(one)] for one in np.arange(N_ROWS) * 7 % 11 % 4]
    y = np.array([{"u": 0.0, "v": 3.0, "w": 1.0}.get(one, 2.0) for one in letters])
    tables = {form: frame(X).assign(a=make(letters)) for form, make in WORDS.items()}
    trained = [form for form in tables if tables[form]["a"].dtype == "category"]
    model = MODELS[name]
    expected = model.fit(tables["category"], y).predict(tables["category"])
    for fitted in trained:
        model.fit(tables[fitted], y)
        for form, table in tables.items():
            assert np.array_equal(model.predict(table), expected), (fitted, form)
    theirs = pl.DataFrame({**{n: X[:, j] for j, n in enumerate(NAMES)}, "a": letters})
    model.fit(theirs.with_columns(pl.col("a").cast(pl.Categorical)), y)
    assert np.array_equal(model.predict(tables["category"]), expected)


BAD = {
    "text": pd.Series(["x", "1", None] * 10, dtype=object),
    "string": pd.Series(["x", "1", None] * 10, dtype="string"),
    "Arrow string": pd.Series(["x", "1", None] * 10, dtype="string[pyarrow]"),
    "dates": pd.Series(pd.date_range("2020", periods=30)),
    "spans of time": pd.Series(pd.to_timedelta(np.arange(30), unit="h")),
    "periods": pd.Series(pd.period_range("2020", periods=30)),
    "lists": pd.Series([[1], [2], None] * 10),
}
REFUSED = {form: pd.DataFrame({"good": np.arange(30.0), "bad": bad}) for form, bad in BAD.items()}
REFUSED["only dates"] = REFUSED["dates"][["bad"]]
for _form in ("string", "dates", "spans of time"):
    REFUSED[f"{_form} of polars"] = pl.from_pandas(REFUSED[_form])
    REFUSED[f"{_form} of pyarrow"] = pa.Table.from_pandas(REFUSED[_form])
READERS = {
    **{name: model for name, model in MODELS.items() if name not in ("voting", "stacking")},
    "HistGradientBoosting": HistGradientBoostingRegressor(max_iter=2),
    "HistGradientBoosting, no categories": HistGradientBoostingRegressor(
        max_iter=2, categorical_features=None
    ),
    "symmetric": SymmetricBoostingRegressor(**SMALL),
    "LightGBM's interface": LGBMRegressor(**SMALL),
    "XGBoost's interface": XGBRegressor(**SMALL),
}


def is_category_of_symmetric(form):
    """Return whether a form is categorical in symmetric boosting, as in CatBoost."""
    return any(kind in form for kind in ("text", "string", "lists"))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name in READERS
        for form in REFUSED
        if not (name == "symmetric" and is_category_of_symmetric(form))
    ],
)
def test_non_numeric_column_is_named(name, form):
    target = np.arange(30.0) if not is_classifier(READERS[name]) else np.arange(30) % 2
    with pytest.raises(ValueError, match="column 'bad' holds"):
        clone(READERS[name]).fit(REFUSED[form], target)


@pytest.mark.parametrize("name", READERS)
def test_array_of_dates_is_refused(name):
    X = np.full((30, 2), np.datetime64("2020-01-01"))
    target = np.arange(30.0) if not is_classifier(READERS[name]) else np.arange(30) % 2
    with pytest.raises(ValueError, match="X holds dates"):
        clone(READERS[name]).fit(X, target)


@pytest.mark.parametrize("name", ["tree", "forest", "bagging", "AdaBoost", "gradient boosting"])
def test_categorical_column_is_named_where_there_are_no_categories(name):
    for words in (["u", "v"], [pd.Interval(0, 1), pd.Interval(1, 2)]):
        X = pd.DataFrame({"good": np.arange(30.0), "bad": pd.Categorical(words * 15)})
        with pytest.raises(ValueError, match="column 'bad' holds") as caught:
            clone(MODELS[name]).fit(X, np.arange(30.0))
        assert "give it the dtype category" not in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_arrow_tables_and_lazy_frames_are_read(name):
    X = draw_table("dense")
    y = target_of(READERS[name], X)
    expected = clone(READERS[name]).fit(frame(X), y).predict(frame(X))
    table = pa.Table.from_pandas(frame(X))
    for same in (table, table.to_batches()[0], pl.from_pandas(frame(X)).lazy()):
        found = clone(READERS[name]).fit(same, y).predict(same)
        assert np.array_equal(found, expected), type(same)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("name", READERS)
def test_missing_target_among_objects_is_refused(name, missing):
    y = np.arange(N_ROWS) % 2
    for values in (y.astype(object), np.where(y, "u", "v").astype(object)):
        values[3] = missing
        with pytest.raises(ValueError, match="y contains NaN"):
            clone(READERS[name]).fit(draw_table("dense"), values)


@pytest.mark.parametrize("name", READERS)
def test_numbers_among_objects_are_targets(name):
    X = draw_table("dense")
    y = target_of(READERS[name], X)
    expected = clone(READERS[name]).fit(X, y).predict(X)
    found = clone(READERS[name]).fit(X, y.astype(object)).predict(X)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", [n for n in READERS if not is_classifier(READERS[n])])
def test_regressor_names_a_target_that_is_text(name):
    with pytest.raises(ValueError, match="y holds 'cheap', which is not a number"):
        clone(READERS[name]).fit(draw_table("dense"), ["1.5", "cheap"] * (N_ROWS // 2))
    with pytest.raises(ValueError, match="y holds dates"):
        clone(READERS[name]).fit(draw_table("dense"), pd.date_range("2020", periods=N_ROWS))


def test_ada_boost_takes_nullable_weights():
    X = frame(draw_table("dense"))
    y, weight = X["a"] + X["b"], pd.Series(np.arange(N_ROWS) % 3, dtype="Int64")
    found = MODELS["AdaBoost"].fit(X, y, sample_weight=weight).predict(X)
    assert np.array_equal(found, MODELS["AdaBoost"].fit(X, y, weight.astype(float)).predict(X))


@pytest.mark.parametrize("kind", [LGBMRegressor, XGBRegressor, HistogramBoostingRegressor])
def test_column_names_of_mixed_types_become_text(kind):
    X = pd.DataFrame(draw_table("dense"), columns=["a", 1, "c", 2])
    model = kind(**SMALL).fit(X, X["a"], eval_set=[(X, X["a"])])
    assert model.feature_names_in_.tolist() == ["a", "1", "c", "2"]
    expected = kind(**SMALL).fit(X.to_numpy(), X["a"]).predict(X.to_numpy())
    assert np.array_equal(model.predict(X), expected)


@pytest.mark.parametrize("kind", [NewtonBoostingRegressor, SymmetricBoostingRegressor])
def test_frames_with_names_of_mixed_types_are_predicted(kind):
    X = pd.DataFrame(draw_table("dense"), columns=["a", 1, "c", 2])
    model = kind(random_state=0).fit(X, X["a"])
    np.testing.assert_array_equal(model.predict(X), model.predict(X.set_axis(list("a1c2"), axis=1)))
