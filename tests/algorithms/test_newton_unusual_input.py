"""Tests of unusual tables and targets with every tree method of the Newton booster."""

import numpy as np
import pytest
from scipy import sparse

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor

WAYS = {
    "hist": {},
    "hist, drawn": {"colsample_bynode": 0.9},
    "exact": {"tree_method": "exact"},
    "exact, lists": {"tree_method": "exact", "max_depth": 0},
    "global": {"tree_method": "approx"},
    "local": {"tree_method": "approx", "proposal": "local"},
    "random": {"tree_method": "approx", "proposal": "random"},
    "parity, hist": {"parity": "xgboost"},
    "parity, exact": {"parity": "xgboost", "tree_method": "exact", "max_depth": 6},
    "parity, approx": {"parity": "xgboost", "tree_method": "approx"},
}
PARITY = [way for way in WAYS if way.startswith("parity")]
KINDS = {"regressor": NewtonBoostingRegressor, "classifier": NewtonBoostingClassifier}


def sparse_with_missing(X):
    """Return a CSR matrix whose absent entries are the missing values; zeros are entries."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


FORMS = {"dense": np.asarray, "sparse": sparse_with_missing}
every_way = pytest.mark.parametrize("way", WAYS)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_form = pytest.mark.parametrize("form", FORMS)


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, X[:, 0] + 0.5 * X[:, 1]


def model_of(kind, way, **params):
    return KINDS[kind](**({"n_estimators": 10, "random_state": 0} | WAYS[way] | params))


def target_of(kind, y):
    return np.where(y > 0, "high", "low") if kind == "classifier" else y


def predictions_of(model, X):
    """Return predictions, or probabilities of classes."""
    return getattr(model, "predict_proba", model.predict)(X)


@every_way
@every_kind
@every_form
@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_infinite_value_is_refused(value, form, kind, way):
    X, y = table(60)
    X = X.astype(np.float64)
    X[7, 2] = value
    model = model_of(kind, way, n_estimators=1)
    with pytest.raises(ValueError, match="infinity or a value too large"):
        model.fit(FORMS[form](X), target_of(kind, y))
    model.fit(X[10:], target_of(kind, y[10:]))
    for rows in (X, X[5:9]):  # few rows are read another way
        with pytest.raises(ValueError, match="infinity or a value too large"):
            model.predict(FORMS[form](rows))


@every_way
@every_kind
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_nonfinite_target_is_refused(value, kind, way):
    X, y = table(60)
    y = (y > 0).astype(float) if kind == "classifier" else y
    y[3] = value
    with pytest.raises(ValueError, match=r"(?i)infinity|NaN"):
        model_of(kind, way).fit(X, y)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "hist, drawn"])
@every_kind
@every_form
def test_all_missing_column_changes_nothing(form, kind, way):
    X, y = table()
    more = np.column_stack([X, np.full(len(X), np.nan, np.float32)])
    one, other = (
        model_of(kind, way).fit(FORMS[form](rows), target_of(kind, y)) for rows in (X, more)
    )
    assert other.ensemble_.feature.max() < 4
    assert np.array_equal(predictions_of(one, X), predictions_of(other, more))
    more[:, 4] = 1.0  # there it is at last
    assert np.isfinite(predictions_of(other, more)).all()


@every_way
@every_kind
@every_form
def test_table_without_values_predicts_from_the_target_only(form, kind, way):
    X, y = np.full((50, 2), np.nan), table(50)[1]
    model = model_of(kind, way, n_estimators=3).fit(FORMS[form](X), target_of(kind, y))
    expected = [(y > 0).mean(), (y <= 0).mean()] if kind == "classifier" else y.mean()
    np.testing.assert_allclose(predictions_of(model, X[:1])[0], expected, rtol=1e-5)


@every_way
@every_form
def test_single_row_predicts_its_target(form, way):
    X, y = table(1)
    model = model_of("regressor", way).fit(FORMS[form](X), y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)


@every_way
@every_form
def test_constant_target_is_predicted(form, way):
    X, _ = table()
    predictions = model_of("regressor", way).fit(FORMS[form](X), np.full(200, 7.5)).predict(X)
    np.testing.assert_allclose(predictions, 7.5, rtol=1e-6)


@every_way
@every_form
@pytest.mark.parametrize("n", [1, 200])
def test_classifier_with_one_class_is_an_error(n, form, way):
    X, _ = table(n)
    with pytest.raises(ValueError, match="one class"):
        model_of("classifier", way).fit(FORMS[form](X), ["all"] * n)


@every_way
@every_kind
@every_form
def test_values_as_large_as_31_bits_are_split(form, kind, way):
    X, y = table()
    scale = 2.0**31
    near, far = (
        model_of(kind, way, n_estimators=30).fit(FORMS[form](X * s), target_of(kind, y))
        for s in (1.0, scale)
    )
    assert np.array_equal(near.ensemble_.feature, far.ensemble_.feature)
    np.testing.assert_allclose(predictions_of(far, X * scale), predictions_of(near, X), rtol=1e-5)


@every_way
def test_target_as_large_as_31_bits_is_predicted(way):
    X, y = table()
    large = 2.0**31 * (1.0 + y)
    predictions = model_of("regressor", way, n_estimators=30).fit(X, large).predict(X)
    assert np.corrcoef(predictions, large)[0, 1] > 0.98


@pytest.mark.parametrize("way", [way for way in WAYS if way not in PARITY])
@every_kind
@every_form
@pytest.mark.parametrize("which", ["gradients", "hessians"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_objective_with_nonfinite_result_is_reported(value, which, form, kind, way):
    X, y = table(60)

    def spoiled(y, score):
        results = {"gradients": score - 0.5, "hessians": np.ones_like(score)}
        results[which][5] = value
        return results["gradients"], results["hessians"]

    with pytest.raises(ValueError, match=f"{which} of the loss are not finite"):
        model_of(kind, way, objective=spoiled).fit(FORMS[form](X), target_of(kind, y))


@pytest.mark.parametrize("way", PARITY)
@every_kind
def test_parity_mode_refuses_custom_objectives(kind, way):
    X, y = table(60)
    with pytest.raises(ValueError, match="objective"):
        model_of(kind, way, objective=lambda y, s: (s, s)).fit(X, target_of(kind, y))
