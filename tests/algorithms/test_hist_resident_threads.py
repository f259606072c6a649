"""Tests of resident threads inside the kernel, and of growing the trees of a round concurrently."""

import threading
import time

import numpy as np
import pytest

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.estimator.constraints import all_free
from algorithms.gbdt import boosting, early_stopping, resident_threads, thread_choice
from algorithms.gbdt import gradient_quantization as hist_records
from algorithms.gbdt import grower as growing
from algorithms.gbdt.binned import Binned
from algorithms.gbdt.binning import bin_table, find_bins
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.grower import Grower, make_growers
from algorithms.gbdt.kernels.booster_arrays import HALF, Scale
from algorithms.gbdt.params import make_rules
from algorithms.runtime import threads
from algorithms.runtime.threads import Workers

STEP = Scale(1.0, 1.0, 1 << 14)
SPIN, SLEEP = 10**6, 0  # spin counts of the resident threads


@pytest.fixture(autouse=True)
def add_rounds_one_by_one(monkeypatch):
    """Disable batches of rounds."""
    monkeypatch.setattr(early_stopping, "can_batch", lambda _: False)


def small_table(n_rows=3000, n_columns=12, seed=0):
    """Return X, and packed gradients that depend on some columns, with h of 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    g = np.round(1000 * (X[:, 0] * X[:, 1] + X[:, 2]) + 100 * rng.normal(size=n_rows))
    return X, (g.astype(np.int64) << HALF) + 1


def make_grower(X, workers, **params):
    """Return a Grower of a table."""
    binner = find_bins(X, np.zeros(X.shape[1], bool), 255, 200_000, 3, workers)
    free = np.zeros(X.shape[1], np.int64), all_free(X.shape[1])
    rules = make_rules(HistogramBoostingRegressor(**params), free[0])
    return Grower(bin_table(X, binner, *free, workers), binner, rules, workers)


def binned_of(grower):
    """Return the `Binned` rows of a grower."""
    return Binned(grower.bins, grower.binner, IN_ORDER, [], grower.rules)


def tree_of(grower, records, **how):
    """Return the content of a tree: nodes, leaves without split fields, the leaf of every row."""
    nodes = grower.grow(records, STEP, 0, **how).nodes
    requested = [
        nodes[name][nodes["left"] >= 0] for name in ("feature", "bin", "missing_left", "gain")
    ]
    messages = [nodes[name] for name in ("left", "right", "value", "count", "h")]
    return [one.tobytes() for one in (*requested, *messages, grower.leaf_of)]


@pytest.mark.parametrize("spin_count", [SPIN, SLEEP])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_resident_threads_grow_the_same_trees(spin_count, size, monkeypatch):
    monkeypatch.setattr(threads, "MAX_SPINS", spin_count)
    for module in (threads, thread_choice):
        monkeypatch.setattr(module, "count_processors", lambda: 8)
    X, records = small_table()
    tables = [records, records * 3, records[::-1].copy()]
    alone = [tree_of(make_grower(X, threads.ALONE), own) for own in tables]
    half = np.arange(0, len(X), 2, dtype=np.uint32)
    of_half = tree_of(make_grower(X, threads.ALONE), records, rows=half)
    with Workers(size) as workers:
        grower = make_grower(X, workers)
        assert grower.size == size
        for _ in range(3):
            for own, expected in zip(tables, alone, strict=True):
                assert tree_of(grower, own) == expected
            assert tree_of(grower, records, rows=half) == of_half
            workers.share(lambda first, last: None, size)  # another job in between
            time.sleep(0.001 if spin_count == SLEEP else 0.0)


@pytest.mark.parametrize("slower", [0.0, 1.0, np.inf])
def test_tree_does_not_depend_on_sharing_between_threads(slower, monkeypatch):
    monkeypatch.setattr(
        resident_threads, "SLOWER", slower
    )  # 0: after each shared tree come some that are not
    monkeypatch.setattr(resident_threads, "MAX_ALONE", 2)
    X, records = small_table()
    expected = tree_of(make_grower(X, threads.ALONE), records)
    with Workers(2) as workers:
        grower = make_grower(X, workers)
        assert all(tree_of(grower, records) == expected for _ in range(200))


@pytest.mark.parametrize(
    ("module", "name", "n_rows"),
    [
        (resident_threads, "post_job", 3000),
        (resident_threads, "grow", 3000),
        (growing, "begin_with", 70_000),
        (hist_records, "write_records", 70_000),
    ],
)
def test_interrupt_of_the_caller_ends_all_resident_threads(module, name, n_rows, monkeypatch):
    monkeypatch.setattr(resident_threads, "SLOWER", np.inf)
    before, calls = set(threading.enumerate()), []
    function = getattr(module, name)

    def interrupted(*given):
        if threading.current_thread() is threading.main_thread():
            calls.append(name)
            if len(calls) == 4:
                if name == "post_job":  # a job is posted and no thread takes it
                    function(*given)
                raise KeyboardInterrupt
        return function(*given)

    monkeypatch.setattr(module, name, interrupted)
    X, _ = small_table(n_rows=n_rows)
    with pytest.raises(KeyboardInterrupt):
        HistogramBoostingRegressor(n_estimators=8, n_jobs=2).fit(X, X[:, 0] * X[:, 1])
    assert set(threading.enumerate()) == before


def test_two_growers_alternate_on_the_same_threads():
    tables = [small_table(seed=seed) for seed in (0, 1)]
    alone = [tree_of(make_grower(X, threads.ALONE), own) for X, own in tables]
    with Workers(2) as workers:
        growers = [make_grower(X, workers) for X, _ in tables]
        for _ in range(3):
            results = [tree_of(g, own) for g, (_, own) in zip(growers, tables, strict=True)]
            assert results == alone


def test_replaced_rules_and_bins_apply_to_the_next_tree():
    X, records = small_table()
    with Workers(2) as workers:
        grower = make_grower(X, workers)
        tree_of(grower, records)
        grower.rules = grower.rules._replace(max_depth=2)
        expected = tree_of(make_grower(X, threads.ALONE, max_depth=2), records)
        assert tree_of(grower, records) == expected
        other = make_grower(X[:, ::-1].copy(), threads.ALONE)
        expected = tree_of(other, records)
        grower.bins, grower.rules = other.bins, other.rules
        assert tree_of(grower, records) == expected


def test_resident_threads_end_with_the_block():
    before = set(threading.enumerate())
    X, records = small_table()
    with Workers(3) as workers:
        tree_of(make_grower(X, workers), records)
        assert len(set(threading.enumerate()) - before) == 2
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(
    ("n_columns", "threads", "n_trees", "n_growers"),
    [(12, 2, 2, 2), (12, 2, 7, 2), (12, 3, 2, 1), (12, 1, 5, 1), (3, 2, 5, 2), (12, 2, 1, 1)],
)
def test_small_trees_of_a_round_have_separate_growers(
    n_columns, threads, n_trees, n_growers, monkeypatch
):
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 8)
    X, _ = small_table(n_columns=n_columns)
    with Workers(threads) as workers:
        one = make_grower(X, workers)
        result = make_growers(binned_of(one), workers, n_trees)
        assert len(result) == n_growers
        assert all(grower.size == 1 for grower in result) or n_growers == 1


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"boosting_type": "dart", "drop_rate": 0.5},
        {"data_sample_strategy": "goss", "learning_rate": 0.5},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5},
        {"extra_trees": True},
        {"objective": "multiclassova"},
    ],
)
def test_concurrent_trees_equal_sequential_trees(params, monkeypatch):
    X, _ = small_table(n_rows=2000)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-1.0, 0.0, 1.0])
    weight = np.random.default_rng(1).random(len(y))

    def fit(n_jobs):
        model = HistogramBoostingClassifier(n_estimators=6, random_state=0, n_jobs=n_jobs, **params)
        return model.fit(X, y, weight).predict_proba(X).tobytes()

    side_by_side = [fit(n_jobs) for n_jobs in (1, 2, 3, 4)]
    monkeypatch.setattr(thread_choice, "FEW_VALUES", 1 << 40)
    assert set(side_by_side) == {fit(2)}


def test_small_tables_use_no_more_threads_than_processors(monkeypatch):
    X, _ = small_table()
    monkeypatch.setattr(thread_choice, "count_processors", lambda: 2)
    with Workers(5) as workers:
        one = make_grower(X, workers)
        assert one.size == 2
        given = binned_of(one), workers, 7
        assert len(make_growers(*given)) == 2
        assert len(make_growers(given[0]._replace(high_cardinality=[None]), *given[1:])) == 1
        monkeypatch.setattr(thread_choice, "MAX_BYTES", 1000)  # of histograms
        assert len(make_growers(*given)) == 1


def test_error_of_one_tree_is_raised(monkeypatch):
    X, _ = small_table(n_rows=2000)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    grow_one = boosting.Booster.grow_one

    def fail_at_one(self, lane, number, k, *given):
        if (number, k) == (2, 1):
            raise ArithmeticError("of one tree")
        return grow_one(self, lane, number, k, *given)

    monkeypatch.setattr(boosting.Booster, "grow_one", fail_at_one)
    with pytest.raises(ArithmeticError, match="of one tree"):
        HistogramBoostingClassifier(n_estimators=4, n_jobs=2).fit(X, y)


def test_model_does_not_depend_on_rows_per_thread(monkeypatch):
    X, _ = small_table(n_rows=5000)
    y = X[:, 0] * X[:, 1] + X[:, 2]

    def fit(n_jobs):
        model = HistogramBoostingRegressor(n_estimators=8, random_state=0, n_jobs=n_jobs)
        return model.fit(X, y).predict(X).tobytes()

    results = [fit(n_jobs) for n_jobs in (1, 2, 3)]
    for module in (growing, thread_choice):
        monkeypatch.setattr(module, "ROWS_TO_MARK", 1)
    monkeypatch.setattr(boosting, "ROWS_TO_PACK", 1)
    assert set(results) == {fit(2)}
