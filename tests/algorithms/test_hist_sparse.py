"""Sparse X and bundles in the histogram booster: the same models as of dense X, to the bit."""

import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from algorithms import (
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
)

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
    """Return a table of every kind of column that is mostly zeros, or not."""
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
@settings(max_examples=25, deadline=None)
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
    ]
    assert len({digest(model) for model in models}) == 1
    wanted = models[0].predict(X)
    for model in models[1:]:
        assert np.array_equal(model.predict(form(X)), wanted)
    np.testing.assert_array_equal(models[0].ensemble_.predict(form(X)), wanted)


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
@settings(max_examples=25, deadline=None)
def test_absent_entries_are_missing_values_to_second_order_boosting(seed, params, n):
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
