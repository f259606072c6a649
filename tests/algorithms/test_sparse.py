"""Tests that sparse X gives bitwise the models of dense X."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import algorithms
from algorithms import DecisionTreeClassifier, DecisionTreeRegressor
from algorithms.trees import presorted_table

KINDS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(random_state=0, parity="scikit-learn"),
    DecisionTreeRegressor(random_state=0, max_features=1),
    algorithms.RandomForestClassifier(5, random_state=0, oob_score=True),
    algorithms.RandomForestRegressor(5, random_state=0),
    algorithms.BaggingClassifier(n_estimators=5, random_state=0),
    algorithms.BaggingRegressor(n_estimators=5, random_state=0, oob_score=True, max_features=0.5),
    algorithms.AdaBoostClassifier(n_estimators=5, random_state=0),
    algorithms.AdaBoostRegressor(n_estimators=5, random_state=0),
    algorithms.GradientBoostingClassifier(n_estimators=5, random_state=0),
    algorithms.GradientBoostingRegressor(n_estimators=5, random_state=0, subsample=0.5),
]


def rows():
    """Return X, mostly zeros, and labels."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((120, 6)) < 0.7, 0.0, np.round(rng.normal(size=(120, 6)), 1))
    return X, (X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=120) > 0.0).astype(int)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("model", KINDS, ids=lambda model: type(model).__name__)
def test_sparse_and_dense_rows_train_and_predict_equally(model, form, monkeypatch):
    monkeypatch.setattr(presorted_table, "BLOCK_VALUES", 60)
    X, y = rows()
    expected = model.fit(X, y).predict(X)
    score = getattr(model, "oob_score_", None)
    probability = model.predict_proba(X) if is_classifier(model) else None
    model.fit(form(X), y)
    assert np.array_equal(model.predict(form(X)), expected)
    assert np.array_equal(model.predict(X), expected)
    assert getattr(model, "oob_score_", None) == score
    if probability is not None:
        assert np.array_equal(model.predict_proba(form(X)), probability)
    if hasattr(model, "apply"):
        assert np.array_equal(model.apply(form(X)), model.apply(X))


def test_duplicate_entries_are_summed():
    data, at = [1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 0])
    twice = sparse.csc_matrix((data, at[0], [0, 3]), shape=(3, 1))
    assert not twice.has_canonical_format
    result = presorted_table.fill_columns(twice, "test")
    assert result.tolist() == [[3.0, 5.0, 0.0]]
    assert twice.nnz == 3


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_entries_are_refused(value):
    X, y = rows()
    X[3, 2] = value
    for model in (DecisionTreeClassifier(), algorithms.RandomForestClassifier(2)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(sparse.csr_array(X), y)


def test_int64_indices_are_refused_as_by_scikit_learn():
    X, y = rows()
    wide = sparse.csc_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    with pytest.raises(ValueError, match=r"No support for np\.int64 index based sparse matrices"):
        DecisionTreeClassifier().fit(wide, y)
