"""Tests that sparse X and bundles give bitwise the models of dense X in the histogram booster."""

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import log_loss

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)
from algorithms.estimator.constraints import all_free
from algorithms.gbdt import split_table as hist_parts
from algorithms.gbdt.binning import bin_table
from algorithms.gbdt.bundles import Layout
from algorithms.gbdt.split_table import split_columns
from algorithms.runtime.threads import Workers

FORMS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_matrix]


def digest(model):
    names = ("feature", "threshold", "left", "default_left", "value", "gain", "cover")
    arrays = [np.ascontiguousarray(getattr(model.ensemble_, name)) for name in names]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


def one_hot(rng, n, widths):
    """Return one-hot columns of fields, some levels rare."""
    blocks = []
    for width in widths:
        level = (width * rng.random(n) ** 3).astype(int)
        blocks.append(level[:, None] == np.arange(width))
    return np.hstack(blocks).astype(float)


def mixed(rng, n):
    """Return a table with every kind of column, mostly zero or not."""
    hot = one_hot(rng, n, [5, 12, 2])
    sparse_values = np.where(rng.random((n, 4)) < 0.9, 0.0, np.round(rng.normal(size=(n, 4)), 1))
    sparse_values[rng.random((n, 4)) < 0.02] = np.nan
    negative = -2.0 * one_hot(rng, n, [4])
    return np.hstack(
        [hot, sparse_values, negative, rng.normal(size=(n, 2)), np.zeros((n, 1)), np.ones((n, 1))]
    )


def fit(X, y, kind=HistogramBoostingRegressor, **params):
    given_params = {"n_estimators": 4, "num_leaves": 8, "min_child_samples": 3, "random_state": 0}
    return kind(**{**given_params, **params}).fit(X, y)


PARAMS = [
    {},
    {"reg_lambda": 1.5, "max_bin": 4},
    {"reg_alpha": 0.1, "path_smooth": 1.0},
    {"extra_trees": True, "colsample_bytree": 0.3},
    {"subsample": 0.5, "subsample_freq": 1, "subsample_for_bin": 60},
    {"bundle_order": "degree", "max_depth": 3},
]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(PARAMS),
    st.sampled_from([np.float32, np.float64]),
    st.integers(20, 400),
    st.sampled_from(FORMS),
)
@settings(max_examples=25)
def test_sparse_dense_and_bundled_tables_grow_the_same_trees(seed, params, dtype, n, form):
    rng = np.random.default_rng(seed)
    X = mixed(rng, n).astype(dtype)
    X = X[:, rng.permutation(X.shape[1])]
    y = X[:, :8].sum(axis=1) + rng.normal(size=n)
    y[np.isnan(y)] = 1.0
    models = [
        fit(X, y, enable_bundle=False, **params),
        fit(X, y, **params),
        fit(form(X), y, **params),
        fit(form(X), y, enable_bundle=False, n_jobs=2, **params),
        fit(form(X), y, enable_bundle=False, is_enable_sparse=False, **params),
        fit(form(X), y, is_enable_sparse=False, n_jobs=2, **params),
    ]
    assert len({digest(model) for model in models}) == 1
    expected = models[0].predict(X)
    for model in models[1:]:
        assert np.array_equal(model.predict(form(X)), expected)
    np.testing.assert_array_equal(models[0].ensemble_.predict(form(X)), expected)


# ------------------------------------------------------------------ second-order boosting


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [
            {"tree_method": "hist"},
            {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
            {"tree_method": "hist", "reg_alpha": 0.3, "colsample_bytree": 0.4, "max_bin": 5},
            {"tree_method": "hist", "colsample_bynode": 0.5},
            {"tree_method": "approx", "max_bin": 7},
            {"tree_method": "approx", "proposal": "random", "sketch_eps": 0.2},
        ]
    ),
    st.integers(20, 300),
)
@settings(max_examples=25)
def test_newton_boosting_treats_absent_entries_as_missing(seed, params, n):
    rng = np.random.default_rng(seed)
    dense = mixed(rng, n)
    X = sparse.csr_array(dense)
    y = (np.nansum(dense[:, :8], axis=1) + rng.normal(size=n) > 0.5).astype(int)
    y[:2] = 0, 1
    dense[dense == 0.0] = np.nan
    one, two = (
        NewtonBoostingClassifier(n_estimators=4, max_depth=3, random_state=0)
        .set_params(**params)
        .fit(table, y)
        for table in (dense, X)
    )
    assert digest(one) == digest(two)
    assert np.array_equal(one.predict_proba(dense), two.predict_proba(X))


def test_dense_one_hot_columns_are_bundled_for_newton_trees(monkeypatch):
    rng = np.random.default_rng(0)
    X = one_hot(rng, 400, [5, 9, 3])
    y = (X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=400) > 0.5).astype(int)
    params = {"n_estimators": 4, "max_depth": 3, "random_state": 0}
    bundled = NewtonBoostingClassifier(**params).fit(X, y)
    assert split_columns(X).sparse.shape[1] == 15  # two levels are in more than half of the rows
    monkeypatch.setattr(hist_parts, "exclusive_columns", lambda *_: np.empty(0, np.int64))
    assert digest(NewtonBoostingClassifier(**params).fit(X, y)) == digest(bundled)


# ------------------------------------------------------------------ forms of sparse matrices


def wide(rng, n=20_000, d=300, entries=6):
    """Return a table with few entries per row, and labels."""
    indices = (d * rng.random((n, entries)) ** 2).astype(np.int32)
    data = np.round(rng.normal(size=indices.shape), 1)
    rows = np.repeat(np.arange(n), entries)
    X = sparse.csr_array(sparse.coo_array((data.ravel(), (rows, indices.ravel())), shape=(n, d)))
    return X, (X[:, :4].sum(axis=1) + rng.normal(size=n) > 0.5).astype(int)


def test_unsorted_and_duplicate_entries_are_read_correctly():
    data, row = [1.0, 2.0, 3.0, np.nan, 5.0, 0.0], [2, 0, 2, 1, 0, 3]
    X = sparse.csr_array((3 * data, (3 * row, 3 * [1, 0, 1, 1, 2, 0])), shape=(4, 3))
    shuffled = sparse.csr_array(
        (np.array([7.0, 1.0, 2.0, 4.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4, 4, 4])),
        shape=(4, 3),
    )
    y = np.arange(4.0)
    for table in (X, shuffled):
        before = table.copy()
        params = {"min_child_samples": 1, "min_data_in_bin": 1}
        one, two = fit(table.toarray(), y, **params), fit(table, y, **params)
        assert digest(one) == digest(two)
        assert np.array_equal(one.predict(table.toarray()), two.predict(table))
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(table, name), getattr(before, name))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("wide_indices", [False, True])
def test_any_dtype_of_values_and_indices(dtype, wide_indices):
    rng = np.random.default_rng(0)
    X = one_hot(rng, 200, [4, 9]).astype(dtype)
    y = X[:, :3].sum(axis=1) + rng.normal(size=200)
    rows = sparse.csr_array(X)
    if wide_indices:
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    assert digest(fit(rows, y)) == digest(fit(X, y))


@pytest.mark.parametrize("n_columns", [1, 5])
def test_all_zero_table_gives_a_constant(n_columns):
    X, y = sparse.csr_array((30, n_columns)), np.arange(30.0)
    for params in ({}, {"enable_bundle": False}, {"colsample_bytree": 0.1}):
        model = fit(X, y, **params)
        np.testing.assert_allclose(model.predict(X), y.mean())
        assert digest(model) == digest(fit(X.toarray(), y, **params))
    newton = NewtonBoostingRegressor(n_estimators=2).fit(X, y)
    np.testing.assert_allclose(newton.predict(X), y.mean(), rtol=1e-6)


def test_sparse_infinity_is_refused():
    X, y = wide(np.random.default_rng(0), 100)
    for place in (0, 1):
        bad = X.copy()
        bad.data[place] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            fit(bad, y)
    twice = sparse.csr_array(
        (np.full(2, 1.5e308), np.array([1, 1]), np.array([0] + [2] * 100)), shape=(100, 3)
    )
    with pytest.raises(ValueError, match="infinity"):
        fit(twice, y)


# ------------------------------------------------------------------ with all the rest


@pytest.mark.parametrize("enable_bundle", [True, False])
def test_sparse_models_do_not_depend_on_threads(enable_bundle):
    X, y = wide(np.random.default_rng(1))
    params = {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.5}
    digests = {
        digest(
            fit(X, y, HistogramBoostingClassifier, n_jobs=n, enable_bundle=enable_bundle, **params)
        )
        for n in (1, 2, 3)
    }
    assert len(digests) == 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_column_sampling_with_sparse_columns_grows_the_dense_trees(share):
    rng = np.random.default_rng(5)
    X, y = wide(rng, 3000)
    often = np.where(rng.random((3000, 8)) < 0.4, np.round(rng.normal(size=(3000, 8)), 1), 0.0)
    y = y + (often[:, 3] + often[:, 6] > 0.3)
    X = sparse.csr_array(sparse.hstack([often, X]))
    params = {"colsample_bytree": share, "n_estimators": 12, "enable_bundle": False}
    dense = fit(X.toarray(), y, HistogramBoostingClassifier, **params)
    for n_jobs in (1, 2):
        fitted = fit(X, y, HistogramBoostingClassifier, n_jobs=n_jobs, **params)
        assert digest(fitted) == digest(dense)


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"categorical_feature": [0, 7], "min_data_per_group": 5},
        {"monotone_constraints": [1, -1] + [0] * 21},
        {"interaction_constraints": [[0, 1, 2, 20], [3, 4, 21]]},
        {"objective": "quantile"},
        {"parity": "lightgbm", "n_jobs": 1},
        {"parity": "scikit-learn"},
    ],
)
@pytest.mark.filterwarnings("ignore:parity=")
def test_sparse_tables_work_with_every_option(params):
    rng = np.random.default_rng(2)
    X = mixed(rng, 300)[:, :23]
    X[:, 0], X[:, 7] = rng.integers(0, 6, 300) * (rng.random(300) < 0.4), rng.integers(-1, 3, 300)
    y = np.nansum(X[:, :6], axis=1) + rng.normal(size=300)
    one, two = fit(X, y, **params), fit(sparse.csc_array(X), y, **params)
    assert digest(one) == digest(two)
    assert np.array_equal(one.predict(X), two.predict(sparse.csr_array(X)))


def test_evaluation_sets_init_models_and_contributions_accept_sparse_rows():
    X, y = wide(np.random.default_rng(3), 2000)
    tables = {"eval_set": [(X[:500], y[:500])], "eval_sample_weight": [np.ones(500)]}
    model = fit(X, y, HistogramBoostingClassifier)
    more = HistogramBoostingClassifier(n_estimators=3, early_stopping_round=2, random_state=0)
    more.fit(X, y, init_model=model, **tables)
    assert len(more.evals_result_["valid_0"]["binary_logloss"]) == 3
    staged = list(more.staged_predict_proba(X[:50]))
    assert np.array_equal(staged[-1], more.predict_proba(X[:50].toarray()))
    total = more.predict_contributions(X[:50]).sum(axis=1)
    np.testing.assert_allclose(total, more.decision_function(X[:50]), rtol=1e-9, atol=1e-12)


def test_conflicts_reduce_columns_and_keep_accuracy():
    X, y = wide(np.random.default_rng(4), entries=3)
    exact = fit(X, y, HistogramBoostingClassifier)
    lossy = fit(X, y, HistogramBoostingClassifier, max_conflict_rate=0.02)
    widths = []
    for rate in (0.0, 0.02):
        with Workers(1) as workers:
            none, binner = np.zeros(X.shape[1], np.int64), exact._binner
            facts = none, all_free(len(none)), workers
            layout = Layout(max_conflict_rate=rate, sparse=False)
            bins = bin_table(split_columns(X), binner, *facts, layout)
        widths.append(len(bins.layout.length))
    assert widths[1] < widths[0]
    assert log_loss(y, lossy.predict_proba(X)) < 1.02 * log_loss(y, exact.predict_proba(X))


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
def test_memory_follows_the_number_of_entries(kind):
    """A dense table would take 320 MB, and its bins 80."""
    X, y = wide(np.random.default_rng(5), 4000, 10_000, 10)
    kind(n_estimators=1).fit(X, y).predict(X)
    tracemalloc.start()
    kind(n_estimators=2).fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
