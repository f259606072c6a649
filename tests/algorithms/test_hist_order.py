"""Tests that rows reordered by leaf give the same models."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from kernels import callable_kernel
from ranks_kit import digest_of, train_ranks
from scipy import sparse
from sklearn.base import clone

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt import base as base_histogram
from algorithms.gbdt import row_order as hist_order
from algorithms.gbdt.gradient_quantization import pack_rows
from algorithms.gbdt.kernels.booster_arrays import NODE
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.row_order import places_of_leaves
from algorithms.gbdt.sampling import draw_share
from algorithms.runtime.exact_sum_kernels import add_sizes, add_sizes_at
from algorithms.runtime.threads import Workers

add_sizes_at = callable_kernel(add_sizes_at)
N = 17_000  # the mean |g| is taken of every eighth row


def table(n_classes=0):
    """Return X with missing values and steps, and a target or classes."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 5))
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=N)
    if n_classes:
        edges = np.quantile(y, np.arange(1, n_classes) / n_classes)
        return X, np.searchsorted(edges, y)
    return X, y


def digest(model):
    """Return a digest of all fields of the model's trees."""
    arrays = model.ensemble_.to_arrays()
    messages = [np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays)]
    return hashlib.sha256(b"".join(messages)).hexdigest()


@pytest.fixture
def reorder_small_tables(monkeypatch):
    """Reorder small tables too; return a list that grows with every reordering."""
    results, find = [], hist_order.find_order

    def note(*given):
        order = find(*given)
        results.append(order)
        return order

    for name in ("MIN_VALUES_TO_REORDER", "MIN_TREES", "MIN_LEAVES"):
        monkeypatch.setattr(hist_order, name, 1)
    monkeypatch.setattr(hist_order, "SAMPLE", 2000)
    monkeypatch.setattr(base_histogram, "find_order", note)
    return results


CASES = {
    "squared": (0, {}),
    "huber": (0, {"objective": "huber"}),
    "two classes": (2, {}),
    "four classes": (4, {}),
    "one against all": (4, {"objective": "multiclassova"}),
    "monotone": (0, {"monotone_constraints": [1, 0, 0, 0, 0]}),
    "sets": (0, {"categorical_feature": [1]}),
    "columns": (2, {"colsample_bytree": 0.5}),
    "extra": (2, {"extra_trees": True}),
    "bags": (0, {"subsample": 0.4, "subsample_freq": 2}),
    "one-side": (4, {"data_sample_strategy": "goss", "learning_rate": 0.8}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_model_does_not_depend_on_row_reordering(case, weighted, reorder_small_tables, monkeypatch):
    n_classes, params = CASES[case]
    X, y = table(n_classes)
    if case == "sets":
        X[:, 1] = np.abs(X[:, 1])
    kind = HistogramBoostingClassifier if n_classes else HistogramBoostingRegressor
    weight = np.random.default_rng(2).random(N) if weighted else None
    models = [
        kind(n_estimators=4, random_state=0, n_jobs=jobs, **params).fit(X, y, weight)
        for jobs in (1, 2)
    ]
    assert len(reorder_small_tables) == len(models)
    order = reorder_small_tables[0][0]
    assert np.array_equal(np.sort(order), np.arange(N))
    assert not np.array_equal(order, np.arange(N))
    monkeypatch.setattr(base_histogram, "is_worth_it", lambda *_: False)
    models.append(kind(n_estimators=4, random_state=0, **params).fit(X, y, weight))
    assert len({digest(model) for model in models}) == 1


@pytest.mark.parametrize("n_classes", [0, 4])
def test_init_scores_are_reordered_with_their_rows(n_classes, reorder_small_tables, monkeypatch):
    X, y = table(n_classes)
    first = np.random.default_rng(3).normal(size=(N, max(n_classes, 1)))
    kind = HistogramBoostingClassifier if n_classes else HistogramBoostingRegressor
    model = kind(n_estimators=3, random_state=0)
    reordered = digest(model.fit(X, y, init_score=first))
    further = digest(model.fit(X, y, init_model=clone(model).fit(X, y)))
    assert len(reorder_small_tables) == 3
    monkeypatch.setattr(base_histogram, "is_worth_it", lambda *_: False)
    assert digest(model.fit(X, y, init_score=first)) == reordered
    assert digest(model.fit(X, y, init_model=clone(model).fit(X, y))) == further


def test_bag_without_rows_gets_the_first_row():
    order = np.array([3, 1, 0, 2], np.uint32)
    assert draw_share(0, 4, 1e-9, order).tolist() == [2]
    assert draw_share(0, 4, 1e-9).tolist() == [0]


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_tables_are_copied_for_enough_values_and_trees(share, reorder_small_tables, monkeypatch):
    X, y = table()
    monkeypatch.setattr(hist_order, "MIN_VALUES_TO_REORDER", int(0.2 * X.size))
    HistogramBoostingRegressor(n_estimators=2, subsample=share, subsample_freq=1).fit(X, y)
    goss = {"data_sample_strategy": "goss", "top_rate": share / 2, "other_rate": share / 2}
    HistogramBoostingRegressor(n_estimators=2, **goss).fit(X, y)
    assert len(reorder_small_tables) == (2 if share > 0.2 else 0)


@pytest.mark.parametrize("kind", ["float32", "frame", "zero weights", "class weights"])
def test_tables_of_all_kinds_are_reordered(kind, reorder_small_tables, monkeypatch):
    X, y = table(2)
    params, weight = {}, None
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
        X["b"] = pd.Categorical(X["b"])
    elif kind == "zero weights":
        weight = np.random.default_rng(2).integers(0, 3, N).astype(float)
    else:
        params = {"class_weight": {0: 1.0, 1: 3.0}}
    model = HistogramBoostingClassifier(n_estimators=3, random_state=0, **params)
    reordered = digest(model.fit(X, y, weight))
    n_used = N if weight is None else np.count_nonzero(weight)  # rows of weight 0 are left out
    assert len(reorder_small_tables[0][0]) == n_used
    monkeypatch.setattr(base_histogram, "is_worth_it", lambda *_: False)
    assert digest(model.fit(X, y, weight)) == reordered


def test_reordered_model_equals_model_on_two_ranks(reorder_small_tables):
    X, y = table()
    model = HistogramBoostingRegressor(n_estimators=2, random_state=0).fit(X, y)
    assert len(reorder_small_tables[0][0]) == N
    result = train_ranks(model, X, y, parts=[(0, 9000), (1, N - 9000)], size=2)[0]
    actual = join_trees(result.rounds, result.binner, result.base, "identity", None)
    assert digest_of(actual) == digest_of(model.ensemble_)


def test_kernel_tables_are_row_major(reorder_small_tables, monkeypatch):
    made, booster = [], base_histogram.Booster

    def note(*given):
        made.append(booster(*given))
        return made[-1]

    monkeypatch.setattr(base_histogram, "Booster", note)
    X, y = table(4)
    first = np.random.default_rng(3).normal(size=(N, 4))
    model = HistogramBoostingClassifier(n_estimators=1, objective="multiclassova")
    model.fit(X, y, init_score=first)
    assert reorder_small_tables
    assert made[0].target.y.flags.c_contiguous
    assert made[0].score.flags.c_contiguous


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "dart"},
        {"objective": "regression_l1"},
        {"objective": lambda y, raw: (raw - y, np.ones_like(y))},
    ],
)
def test_rows_are_not_reordered_where_positions_matter(params, reorder_small_tables):
    X, y = table()
    HistogramBoostingRegressor(n_estimators=2, **params).fit(X, y)
    assert not reorder_small_tables


@pytest.mark.parametrize(
    ("name", "bound"), [("MIN_VALUES_TO_REORDER", 5 * N + 1), ("MAX_COLUMNS", 4), ("MIN_TREES", 3)]
)
def test_small_wide_and_short_fits_do_not_reorder_rows(
    name, bound, reorder_small_tables, monkeypatch
):
    X, y = table()
    monkeypatch.setattr(hist_order, name, bound)
    HistogramBoostingRegressor(n_estimators=2).fit(X, y)
    assert not reorder_small_tables


def test_rows_of_sparse_columns_are_not_reordered(reorder_small_tables):
    _, y = table()
    one_hot = np.eye(6)[np.random.default_rng(6).integers(0, 6, N)]
    for given in (sparse.csr_array(one_hot), one_hot):
        HistogramBoostingRegressor(n_estimators=2).fit(given, y)
    assert not reorder_small_tables


@pytest.mark.parametrize("least", [1, 10])
def test_target_without_a_split_is_no_error(least, reorder_small_tables, monkeypatch):
    X, _ = table()
    monkeypatch.setattr(hist_order, "MIN_LEAVES", least)
    model = HistogramBoostingRegressor(n_estimators=2).fit(X, np.full(N, 3.0))
    assert np.all(model.predict(X) == 3.0)
    assert reorder_small_tables


def test_rows_are_not_reordered_for_very_unbalanced_trees(reorder_small_tables, monkeypatch):
    X, _ = table()
    monkeypatch.setattr(hist_order, "MIN_LEAVES", 10)
    few = np.nan_to_num(X[:, 0]) > 2.2
    HistogramBoostingClassifier(n_estimators=2).fit(X, few)
    HistogramBoostingRegressor(n_estimators=2).fit(X, few * 1e30)
    assert [len(order[0]) for order in reorder_small_tables] == [0, 0]


def test_leaves_are_numbered_depth_first():
    nodes = np.zeros(7, NODE)
    nodes["left"], nodes["right"] = -1, -1
    nodes["left"][[0, 2, 3]], nodes["right"][[0, 2, 3]] = [1, 3, 5], [2, 4, 6]
    # 0: (1, 2: (3: (5, 6), 4))
    assert places_of_leaves(nodes)[[1, 5, 6, 4]].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("with_h", [False, True])
def test_rounding_depends_on_original_row_numbers(with_h):
    rng = np.random.default_rng(9)
    n = 40_000  # the mean is taken of every eighth row
    g = (rng.standard_cauchy(n) * 7.0).astype(np.float32)
    h = rng.random(n if with_h else 0).astype(np.float32)
    number = rng.permutation(n).astype(np.uint32)
    sized = np.flatnonzero(number % 8 == 0).astype(np.uint32)
    in_order, laid = np.empty((2, n), np.int64)
    with Workers(3) as workers:
        scale = pack_rows(g, h, np.uint32(5), in_order, workers)
        given = g[number], h[number] if with_h else h, np.uint32(5), laid, workers
        assert pack_rows(*given, (number, sized)) == scale
    assert np.array_equal(laid, in_order[number])


def test_sizes_of_sampled_positions_are_correct():
    rng = np.random.default_rng(5)
    values = (rng.standard_cauchy(5000) * 2.0 ** rng.integers(-130, 90, 5000)).astype(np.float32)
    by_stride, by_place = np.zeros((2, 257), np.int64)
    add_sizes(values, 0, 0, 5000, 8, by_stride)
    add_sizes(values, 5000, 0, 5000, 8, by_place)  # the largest alone
    for first, last in ((0, 100), (100, 625)):
        add_sizes_at(values, np.arange(0, 5000, 8, dtype=np.uint32), first, last, by_place)
    assert np.array_equal(by_stride, by_place)
