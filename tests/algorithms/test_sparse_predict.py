"""Tests that sparse rows predict like dense rows, although only some columns are expanded."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix

from algorithms import HistogramBoostingRegressor, NewtonBoostingRegressor
from algorithms.prediction import sparse_predict
from algorithms.prediction.predictor import FastPredictor

MODELS = [HistogramBoostingRegressor, NewtonBoostingRegressor]


def rows(n, columns=40, share=0.1):
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, columns)) < share, rng.normal(size=(n, columns)), 0.0)
    return X, X[:, 3] - 2.0 * X[:, 17] + rng.normal(size=n)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("form", [csr_matrix, csc_matrix, csr_array])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("share", [0, 1 << 40])  # by walks, and by masks
def test_absent_entries_are_read_by_the_meaning_of_absent(model, form, threads, share, monkeypatch):
    monkeypatch.setattr(sparse_predict, "VALUES", 60)  # a few rows a block
    monkeypatch.setattr("algorithms.prediction.predictor.FEW_STEPS", 0)
    X, y = rows(301)
    fitted = model(n_estimators=5, random_state=0).fit(csr_matrix(X), y)
    ensemble = fitted.ensemble_
    monkeypatch.setattr("algorithms.prediction.predictor.SPLITS_PER_STEP", share)
    dense = np.where(X == 0.0, np.nan, X) if ensemble.absent == "nan" else X
    scores = FastPredictor(ensemble).raw(form(X), threads)
    monkeypatch.setattr("algorithms.prediction.predictor.SPLITS_PER_STEP", 0)
    assert np.array_equal(scores, FastPredictor(ensemble).raw(dense))
    assert len(np.unique(scores)) > 5


def test_stored_zeros_and_nans_are_values():
    X, y = rows(200)
    fitted = NewtonBoostingRegressor(n_estimators=5, random_state=0).fit(csr_matrix(X), y)
    sparse = csr_matrix(X)
    sparse.data[::3] = 0.0
    sparse.data[1::3] = np.nan
    dense = np.full(X.shape, np.nan)
    at = sparse.tocoo()
    dense[at.row, at.col] = at.data
    predictor = FastPredictor(fitted.ensemble_)
    assert np.array_equal(predictor.raw(sparse), predictor.raw(dense))


def test_only_columns_used_by_splits_are_expanded():
    X, y = rows(300, columns=500, share=0.02)
    ensemble = HistogramBoostingRegressor(n_estimators=3, random_state=0).fit(X, y).ensemble_
    narrow, place = sparse_predict.narrowed(ensemble)
    requested = np.unique(ensemble.feature[ensemble.left >= 0])
    assert narrow.n_features == len(requested) + 1
    assert np.array_equal(np.flatnonzero(place < len(requested)), requested)
    seen = []
    sparse = csr_matrix(X)
    columns = sparse_predict.UsedColumns(place, "zero")
    width = len(requested) + 1

    def keep(at, part):
        seen.append((at, part[: (at.stop - at.start) * width].reshape(-1, width).copy()))

    columns.each_block(sparse, 1, keep)
    assert columns.is_one_block(sparse)
    assert np.array_equal(columns.lay_out(sparse), np.concatenate([part for _, part in seen]))
    result = np.concatenate([part for _, part in seen])
    assert np.array_equal(result[:, :-1], X[:, requested])
    assert [at.start for at, _ in seen] == sorted(at.start for at, _ in seen)


def test_no_rows_and_trees_without_a_split():
    X, _ = rows(50)
    flat = HistogramBoostingRegressor(n_estimators=2, random_state=0).fit(X, np.ones(50))
    predictor = FastPredictor(flat.ensemble_)
    assert predictor.raw(csr_matrix(X)).tolist() == predictor.raw(X).tolist()
    assert predictor.raw(csr_matrix(X)[:0]).shape == (0, 1)
