"""Tests of columns with more categories than bins: shared bins and predictions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from ranks_kit import digest_of
from sklearn.metrics import log_loss

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt.high_cardinality import (
    HighCardinalityColumn,
    assign_bins,
    find_frequent,
    sum_by_category,
)
from algorithms.gbdt.kernels.booster_arrays import HALF
from algorithms.gbdt.kernels.category_codes import ALONE
from algorithms.runtime.threads import Workers

few = settings(max_examples=50)


def table(rows=4000, levels=600, seed=0):
    """Return X, whose first column holds categories, and y, which depends mostly on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[:, 0] = rng.integers(0, levels, rows)
    X[rng.random(rows) < 0.02, 0] = np.nan
    effect = np.append(rng.normal(size=levels), 0.0)
    y = effect[np.nan_to_num(X[:, 0], nan=levels).astype(int)]
    return X, y + X[:, 1] * 0.3 + rng.normal(size=rows) * 0.3


@given(st.integers(0, 2**32 - 1), st.integers(1, 255), st.integers(1, 600), st.booleans())
@few
def test_neighboring_categories_share_bins_and_extremes_stand_alone(seed, room, more, heavy):
    rng = np.random.default_rng(seed)
    sums = np.empty((room + more, 2), np.int64)
    sums[:, 0] = rng.integers(-(1 << 40), 1 << 40, len(sums))
    sums[:, 1] = rng.integers(0, 1 << 20, len(sums)) ** (2 if heavy else 1)
    bins = assign_bins(sums, np.ones(len(sums), bool), 5.0, room)
    slope = sums[:, 0] / (sums[:, 1] + 5.0)
    order = np.argsort(slope, kind="stable")
    assert (np.diff(bins[order].astype(int)) >= 0).all()
    assert bins.max() < room
    alone, counts = int(room * ALONE), np.bincount(bins, minlength=room)
    assert (counts[:alone] == 1).all()
    assert (counts[room - alone :] == 1).all()
    middle = order[alone : len(order) - alone]
    weight = np.bincount(bins[middle], sums[middle, 1], minlength=room)
    mean = sums[middle, 1].sum() / (room - 2 * alone)
    assert weight.max() <= mean + sums[middle, 1].max() + 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 255), st.integers(1, 600), st.integers(0, 99))
@few
def test_rare_categories_have_no_bin(seed, room, more, percent):
    rng = np.random.default_rng(seed)
    n_codes = room + more
    sums = np.stack([rng.integers(-99, 99, n_codes), rng.integers(0, 99, n_codes)], axis=1)
    is_frequent = rng.integers(0, 100, n_codes) < percent
    bins = assign_bins(sums, is_frequent, 5.0, room)
    assert (bins[~is_frequent] == room).all()
    assert (bins[is_frequent] < room).all()
    alone = assign_bins(sums[is_frequent], np.ones(is_frequent.sum(), bool), 5.0, room)
    assert np.array_equal(bins[is_frequent], alone)


def test_row_count_of_a_category_is_estimated_from_its_hessians():
    sums = np.array([[5, 20], [-5, 19], [3, 0], [7, 0], [0, 61]])  # the last one: missing values
    assert find_frequent(sums, 50, 10.0).tolist() == [True, True, False, False]  # 10 and 9.5 rows
    assert find_frequent(sums, 50, 10.1).tolist() == [True, False, False, False]
    assert find_frequent(sums, 50, 0.0).tolist() == [True, True, False, False]


def bins_of_numpy(sums, is_frequent, smooth, room):
    """Return the result of `assign_bins`, computed with NumPy."""
    bins = np.full(len(sums), room, np.uint8)
    kept = np.flatnonzero(is_frequent)
    below = sums[kept, 1] + smooth
    slope = np.divide(sums[kept, 0], below, out=np.zeros(len(kept)), where=below > 0.0)
    order = kept[np.argsort(slope, kind="stable")]
    if len(order) <= room:
        bins[order] = np.arange(len(order))
        return bins
    alone = int(room * ALONE)
    middle = order[alone : len(order) - alone]
    weight, parts = sums[middle, 1], room - 2 * alone
    share = (np.cumsum(weight) - weight) / max(int(weight.sum()), 1) * parts
    bins[order[:alone]] = np.arange(alone)
    bins[middle] = alone + np.minimum(share.astype(np.int64), parts - 1)
    bins[order[len(order) - alone :]] = np.arange(room - alone, room)
    return bins


@given(
    st.integers(0, 2**32 - 1), st.integers(0, 700), st.integers(1, 254), st.sampled_from([0.0, 5.0])
)
@few
def test_bins_equal_those_of_a_stable_sort(seed, n_codes, room, smooth):
    rng = np.random.default_rng(seed)
    sums = np.stack([rng.integers(-9, 9, n_codes), rng.integers(0, 4, n_codes)], axis=1)
    is_frequent = rng.random(n_codes) < 0.9
    expected = bins_of_numpy(sums, is_frequent, smooth, room)
    assert np.array_equal(assign_bins(sums, is_frequent, smooth, room), expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_equal_those_of_the_rows_of_each_category(threads):
    rng = np.random.default_rng(1)
    g, h = rng.integers(-(1 << 30), 1 << 30, 5000), rng.integers(0, 1 << 30, 5000)
    codes = rng.integers(0, 301, 5000).astype(np.uint16)
    column = HighCardinalityColumn(0, np.arange(300), codes, 10)
    with Workers(threads) as workers:
        (sums,) = sum_by_category([column], (g << HALF) + h, workers)
    for code in range(301):
        assert sums[code].tolist() == [g[codes == code].sum(), h[codes == code].sum()]


CASES = {
    "plain": {},
    "few bins": {"max_bin": 16},
    "bags": {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.7},
    "one side": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "drops": {"boosting_type": "dart", "drop_rate": 0.5},
    "corners": {"objective": "quantile"},
}


@pytest.mark.parametrize("name", CASES)
def test_models_do_not_depend_on_threads_and_predict_training_scores(name):
    X, y = table(30_000)
    params = {"n_estimators": 8, "random_state": 0, "categorical_feature": [0], **CASES[name]}
    one, two = (HistogramBoostingRegressor(n_jobs=n, **params).fit(X, y) for n in (1, 2))
    assert digest_of(one.ensemble_) == digest_of(two.ensemble_)
    assert np.array_equal(one.predict(X), one.ensemble_.predict(X))
    codes = one.ensemble_.set_codes
    assert len(np.unique(codes)) > CASES[name].get("max_bin", 255)  # not always the same ones


def test_training_scores_equal_model_scores():
    X, y = table()
    heard = []
    model = HistogramBoostingRegressor(n_estimators=12, categorical_feature=[0])

    def listen(y, raw):
        heard.append(raw.copy())
        return raw - y, np.ones(len(y))

    model.set_params(objective=listen).fit(X, y)
    for number, raw in enumerate(model.staged_predict(X)):
        if number + 1 < len(heard):
            np.testing.assert_allclose(raw, heard[number + 1], atol=1e-12)


def test_many_categories_are_distinguished_with_few_bins():
    X, y = table(40_000, 1000)
    pooled = X.copy()
    pooled[X[:, 0] >= 254, 0] = np.nan  # the most categories that the bins distinguish
    params = {"n_estimators": 60, "categorical_feature": [0], "cat_smooth": 1.0}
    errors = []
    for own in (X, pooled):
        model = HistogramBoostingRegressor(**params).fit(own[::2], y[::2])
        errors.append(np.mean((model.predict(own[1::2]) - y[1::2]) ** 2))
    assert errors[0] < 0.5 * errors[1]


def test_high_cardinality_columns_do_not_depend_on_bundles_or_ranks():
    X, y = table(12_000, 500)
    X = np.hstack([X, np.arange(len(X))[:, None] % 40 == np.arange(30)])
    X[::2, 0] = 0.0  # mostly one code, as columns that are bundled are mostly 0
    params = {"n_estimators": 9, "categorical_feature": [0], "cat_smooth": 1.0, "random_state": 0}
    expected, other = (
        HistogramBoostingRegressor(enable_bundle=bundle, **params).fit(X, y).ensemble_
        for bundle in (True, False)
    )
    assert digest_of(expected) == digest_of(other)
    assert len(np.unique(expected.set_codes)) > 254


def test_frames_with_many_and_unseen_categories():
    X, y = table(5000, 400)
    frame = pd.DataFrame({"a": pd.Categorical([f"c{v}" for v in X[:, 0]]), "b": X[:, 1]})
    model = HistogramBoostingClassifier(n_estimators=10).fit(frame, y > 0.0)
    other = frame.assign(a=pd.Categorical(["unheard of"] * len(frame)))
    missing = frame.assign(a=pd.Categorical([None] * len(frame), categories=["c1"]))
    assert np.array_equal(model.predict_proba(other), model.predict_proba(missing))
    assert model.score(frame, y > 0.0) > 0.75


def access_log(seed, rows=24_000):
    """Return a frame of codes like a log of granted accesses, and y, of which about 6 % is 1.

    Frequencies of codes fall as a power of their rank. Codes have effects of their own, and so
    have pairs of codes. Each manager has a department, each title a description.
    """
    rng = np.random.default_rng(seed)

    def draw(levels, power):
        share = np.arange(1, levels + 1) ** -power
        return rng.permutation(levels)[rng.choice(levels, rows, p=share / share.sum())]

    resource, manager, title = draw(7500, 0.6), draw(4200, 0.5), draw(340, 1.1)
    department = rng.integers(0, 450, 4200)[manager]
    description = np.where(
        rng.random(rows) < 0.3, draw(2300, 1.0), rng.integers(0, 2300, 340)[title]
    )
    columns = resource, manager, title, department, description
    score = np.zeros(rows)
    for codes, scale in zip(columns, (1.2, 1.2, 0.5, 0.6, 0.7), strict=True):
        score += rng.normal(0.0, scale, 7500)[codes]
    pairs = resource * 450 + department
    score += rng.normal(0.0, 0.7, pairs.max() + 1)[pairs] - 4.5
    frame = pd.DataFrame({f"c{j}": pd.Categorical(codes) for j, codes in enumerate(columns)})
    return frame, (rng.random(rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def test_rare_categories_raise_the_loss_no_more_than_in_lightgbm():
    losses = []
    for seed in range(2):
        X, y = access_log(seed)
        params = {"n_estimators": 60, "random_state": seed, "n_jobs": 1}
        models = HistogramBoostingClassifier(**params), LGBMClassifier(verbose=-1, **params)
        fitted = [model.fit(X[:18_000], y[:18_000]) for model in models]
        losses.append([log_loss(y[18_000:], m.predict_proba(X[18_000:])) for m in fitted])
    ours, reference = np.mean(losses, axis=0)
    assert ours <= 1.01 * reference
