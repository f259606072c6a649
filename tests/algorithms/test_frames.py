"""Tests that every estimator reads categorical polars columns like those of pandas."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from algorithms import (
    DecisionTreeRegressor,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

REGRESSORS = [HistogramBoostingRegressor, NewtonBoostingRegressor]
GOES_ON = {HistogramBoostingRegressor: "init_model", NewtonBoostingRegressor: "xgb_model"}
ORDER = ["z", "x", "unused", "w", "y"]


def table(n=400, names="wxyz"):
    """Return letters, some missing, numbers, and a target of both."""
    rng = np.random.default_rng(0)
    letters, number = rng.choice(list(names), n), rng.normal(size=n).astype(np.float32)
    y = np.isin(letters, ["w", "z"]) * 2.0 + (number > 0)
    return [None if rng.random() < 0.1 else one for one in letters], number, y


def frames(enum, **options):
    """Return a polars frame, the equal pandas frame, and y."""
    letters, number, y = table(**options)
    kind = pl.Enum(ORDER) if enum else pl.Categorical
    whole = [None, *range(len(y) - 1)]
    ours = {"letter": pl.Series(letters, dtype=kind), "number": number, "whole": pl.Series(whole)}
    word = pd.Categorical(letters, categories=ORDER if enum else None)
    theirs = {"letter": word, "number": number, "whole": np.array(whole, float)}
    return pl.DataFrame(ours), pd.DataFrame(theirs), y


@pytest.mark.parametrize("enum", [False, True])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_polars_categories_equal_pandas(kind, enum):
    X, same, y = frames(enum)
    model = kind(n_estimators=5, random_state=0).fit(X, y)
    pandas_model = kind(n_estimators=5, random_state=0).fit(same, y)
    assert model.categories_["letter"].tolist() == (ORDER if enum else list("wxyz"))
    assert len(model.ensemble_.set_codes)
    for requested in (X, same, X[:1], X.with_columns(pl.col("letter").cast(pl.String))):
        assert np.array_equal(
            model.predict(requested), pandas_model.predict(same)[: len(requested)]
        )
    assert np.array_equal(model.predict_contributions(X), pandas_model.predict_contributions(same))
    assert list(model.feature_names_in_) == ["letter", "number", "whole"]
    assert X["letter"].dtype in (pl.Enum, pl.Categorical)  # the user's frame is unchanged


@pytest.mark.parametrize("enum", [False, True])
@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_classes_are_read_from_polars_frames(kind, enum):
    X, same, y = frames(enum)
    model = kind(n_estimators=5, random_state=0).fit(X, pl.Series(y > 1))
    pandas_model = kind(n_estimators=5, random_state=0).fit(same, y > 1)
    assert np.array_equal(model.predict_proba(X), pandas_model.predict_proba(same))


@pytest.mark.parametrize("enum", [False, True])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_polars_frames_work_for_evaluation_and_init_model(kind, enum):
    X, same, y = frames(enum)
    results, expected = [], []
    for frame, kept in ((X, results), (same, expected)):
        first = kind(n_estimators=3, random_state=0).fit(frame, y, eval_set=[(frame[:99], y[:99])])
        more = kind(n_estimators=3, random_state=0).fit(frame, y, **{GOES_ON[kind]: first})
        histories = getattr(first, "evals_result_", None) or first.evals_result()
        kept += [more.predict(frame), *(v for t in histories.values() for v in t.values())]
    assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))


def test_warm_start_works_with_polars_frames():
    X, same, y = frames(enum=False)
    new, _, _ = frames(enum=False, names="abwxyz")
    model = NewtonBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6).fit(new, y)
    assert model.categories_["letter"].tolist() == [*"wxyz", *"ab"]
    model.set_params(n_estimators=8).fit(X, y)
    assert np.array_equal(model.predict(X), model.predict(same))
    assert np.array_equal(model.apply(X), model.apply(same))
    assert np.array_equal(list(model.staged_predict(X)), list(model.staged_predict(same)))


def test_categories_without_opt_in_are_refused():
    X, _, y = frames(enum=False)
    with pytest.raises(ValueError, match=r"columns \['letter'\] are categorical: set enable"):
        NewtonBoostingRegressor(enable_categorical=False).fit(X, y)


def test_column_name_check_can_be_disabled():
    X, _, y = frames(enum=True)
    model = NewtonBoostingRegressor(n_estimators=5).fit(X, y)
    other = X.rename({"letter": "a", "number": "b", "whole": "c"})
    assert np.array_equal(model.predict(other, validate_features=False), model.predict(X))


def test_lightgbm_mode_reads_an_enum_as_categories():
    X, same, y = frames(enum=True)
    params = {"n_estimators": 5, "parity": "lightgbm"}
    result, expected = (HistogramBoostingRegressor(**params).fit(one, y) for one in (X, same))
    assert np.array_equal(result.predict(X), expected.predict(same))


def test_text_that_is_not_categorical_is_refused():
    X, _, y = frames(enum=False)
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match=r"column 'letter' holds text, such as '\w': give it"):
            kind().fit(X.with_columns(pl.col("letter").cast(pl.String)), y)


@pytest.mark.parametrize("enum", [False, True])
def test_trees_read_an_enum_in_its_declared_order(enum):
    X, same, y = frames(enum)
    X, same = X.drop("whole"), same.drop(columns="whole")
    model = DecisionTreeRegressor(categorical_features="from_dtype").fit(X, y)
    assert model.categories_[0].tolist() == (ORDER if enum else list("wxyz"))
    pandas_model = DecisionTreeRegressor(categorical_features="from_dtype").fit(same, y)
    assert np.array_equal(model.predict(X), pandas_model.predict(same))
