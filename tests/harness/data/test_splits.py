"""Tests of splits: every row once, reproducible, with classes and groups respected."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from harness.core.errors import DataError
from harness.core.model import Dataset, Split, Table, Task
from harness.data import (
    default_splits,
    drawn_apart,
    drawn_splits,
    duplicates_across,
    split_notes,
    split_rows,
    splits,
)
from harness.data.safe_names import count
from harness.data.splits import HOLDOUT_ROWS


def table_of(y, group=None, test_rows=None, classes=()):
    y = np.asarray(y)
    names = classes or (() if y.dtype.kind == "f" else tuple(map(str, range(y.max() + 1))))
    X = pd.DataFrame({"a": np.arange(len(y), dtype=float)})
    return Table(X, y, names, group=group, test_rows=test_rows)


def dataset_of(rows, **facts):
    return Dataset("d", Task.REGRESSION, lambda: None, "x", rows=rows, columns=1, **facts)


def folds_of(table, task, folds=5, repeat=0, seed=0):
    splits = [Split("kfold", folds, f, repeat, seed) for f in range(folds)]
    return [split_rows(s, table, task) for s in splits]


@given(
    st.lists(st.integers(0, 3), min_size=10, max_size=80),
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["classes", "values", "groups"]),
)
def test_every_row_is_tested_once_per_repeat(labels, folds, seed, kind):
    labels = np.unique(labels, return_inverse=True)[1]
    group = np.arange(len(labels)) // 2 if kind == "groups" else None
    if kind == "groups" and len(np.unique(group)) < folds:
        return
    y, task = (labels, Task.MULTICLASS) if kind != "values" else (labels + 0.5, Task.REGRESSION)
    table = table_of(y, group)
    tested = []
    for train, test in folds_of(table, task, folds, seed=seed):
        assert train.dtype == test.dtype == np.int64
        assert len(test)
        assert sorted([*train, *test]) == list(range(len(y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        if group is not None:
            assert not set(group[train]) & set(group[test])
        tested += test.tolist()
    assert sorted(tested) == list(range(len(y)))


def test_folds_are_stratified():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    for _, test in folds_of(table_of(y), Task.MULTICLASS):
        assert np.bincount(y[test]).tolist() == [12, 6, 2]


def test_splits_are_reproducible_and_differ_between_seeds():
    table = table_of(np.arange(100) % 2)
    a, again = (folds_of(table, Task.BINARY)[0][1] for _ in range(2))
    other_repeat = folds_of(table, Task.BINARY, repeat=1)[0][1]
    other_seed = folds_of(table, Task.BINARY, seed=1)[0][1]
    np.testing.assert_array_equal(a, again)
    assert a.tolist() != other_repeat.tolist()
    assert a.tolist() != other_seed.tolist()
    assert other_repeat.tolist() != other_seed.tolist()


def test_split_does_not_depend_on_the_columns():
    y = np.arange(50) % 2
    wide = Table(pd.DataFrame(np.random.default_rng(0).random((50, 9))), y, ("0", "1"))
    thin = table_of(y)
    for a, b in zip(folds_of(wide, Task.BINARY), folds_of(thin, Task.BINARY), strict=True):
        np.testing.assert_array_equal(a[1], b[1])


def test_small_classes_are_reported_and_do_not_stop_the_split():
    y = np.repeat([0, 1, 2], [40, 8, 2])
    table = table_of(y, classes=("a", "b", "rare"))
    assert len(folds_of(table, Task.MULTICLASS)) == 5
    (note,) = split_notes(Split("kfold", 5), table, Task.MULTICLASS)
    assert note == "1 class with fewer than 5 rows, absent in a part of the split: 'rare'"
    assert split_notes(Split("kfold", 2), table, Task.MULTICLASS) == []
    assert split_notes(Split("holdout", 1), table, Task.MULTICLASS) == []


def test_folds_are_not_stratified_if_every_class_is_small():
    table = table_of(np.arange(8) % 4)
    assert len(folds_of(table, Task.MULTICLASS, folds=5)) == 5


@pytest.mark.parametrize("counts", [[800, 190, 10], [900, 99, 1], [1, 1, 1, 1, 6]])
def test_holdout_is_stratified_and_single_rows_train(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    train, test = split_rows(Split("holdout", 1, test_share=0.2), table_of(y), Task.MULTICLASS)
    assert len(train) + len(test) == len(y)
    if len(y) > 100:
        for label, count in enumerate(counts):
            assert (y[test] == label).sum() == (0 if count == 1 else round(count * 0.2))


def test_holdout_keeps_groups_together():
    group = np.repeat(np.arange(20), 5)
    train, test = split_rows(
        Split("holdout", 1), table_of(np.arange(100.0), group), Task.REGRESSION
    )
    assert not set(group[train]) & set(group[test])
    assert len(test) == 25


def test_holdouts_of_repeats_differ():
    table = table_of(np.arange(100.0))
    a, b = (split_rows(Split("holdout", 1, 0, r), table, Task.REGRESSION)[1] for r in (0, 1))
    assert a.tolist() != b.tolist()


def test_given_test_rows():
    mask = np.arange(10) >= 7
    train, test = split_rows(
        Split("given", 1), table_of(np.arange(10.0), test_rows=mask), Task.REGRESSION
    )
    assert (train.tolist(), test.tolist()) == (list(range(7)), [7, 8, 9])


@pytest.mark.parametrize(
    ("split", "table", "message"),
    [
        (Split("given"), table_of(np.arange(9.0)), "names no test rows"),
        (Split("given"), table_of(np.arange(9.0), test_rows=np.ones(9, bool)), "no row to train"),
        (Split("kfold", 10), table_of(np.arange(9.0)), "9 rows cannot be divided into 10"),
        (Split("kfold", 4), table_of(np.arange(9.0), np.arange(9) % 3), "3 groups cannot"),
        (Split("holdout"), table_of(np.arange(9.0), np.zeros(9, int)), "1 groups cannot"),
    ],
)
def test_invalid_splits(split, table, message):
    with pytest.raises(DataError, match=message):
        split_rows(split, table, Task.REGRESSION)


def test_default_splits():
    assert [s.label for s in default_splits(dataset_of(500), 3, 2, 7)] == [
        f"kfold3-s7-r{r}-f{f}" for r in (0, 1) for f in (0, 1, 2)
    ]
    large = default_splits(dataset_of(HOLDOUT_ROWS), 3, 2, 7)
    assert [s.label for s in large] == [f"holdout0.25-s7-r{r}" for r in range(6)]
    assert [s.label for s in default_splits(dataset_of(500, given_test=True), 5, 3, 0)] == ["given"]
    assert len(default_splits(dataset_of(3), 5, 1, 0)) == 3


@given(
    rows=st.integers(8, 200),
    sets=st.integers(2, 6),
    size=st.integers(2, 40),
    seed=st.integers(0, 2**32 - 1),
    given_test=st.booleans(),
)
def test_training_sets_share_test_rows_and_are_disjoint_if_possible(
    rows, sets, size, seed, given_test
):
    named = np.arange(rows) >= rows - 3 if given_test else None
    table = table_of(np.arange(float(rows)), test_rows=named)
    splits = drawn_splits(dataset_of(rows), sets, [size], seed)
    tested = {tuple(_test_of(split, table)) for split in splits if size <= rows * 0.5}
    if not tested:
        return
    (test,) = tested
    results = [split_rows(split, table, Task.REGRESSION)[0] for split in splits]
    assert test == tuple(range(rows - 3, rows)) or not given_test
    pool = rows - len(test)
    for train in results:
        assert len(set(train.tolist())) == size
        assert (np.diff(train) > 0).all()
        assert not set(train.tolist()) & set(test)
    shared = sum(map(len, results)) - len(set(np.concatenate(results).tolist()))
    assert (shared == 0) == drawn_apart(splits[0], pool)


def _test_of(split, table):
    return split_rows(split, table, Task.REGRESSION)[1].tolist()


def test_training_sets_are_named_by_their_dependencies():
    splits = drawn_splits(dataset_of(10_000), 2, [50, 100], 7)
    assert [s.label for s in splits] == [
        f"draw2x{n}-holdout0.2-s7-r{r}" for n in (50, 100) for r in (0, 1)
    ]
    table = table_of(np.arange(10_000.0))
    rows = {tuple(split_rows(s, table, Task.REGRESSION)[0]) for s in splits}
    assert len(rows) == 4
    again = {tuple(split_rows(s, table, Task.REGRESSION)[0]) for s in splits}
    assert rows == again


def test_training_set_larger_than_the_rest_is_refused():
    (split, _) = drawn_splits(dataset_of(100), 2, [76], 0)
    with pytest.raises(DataError, match="76 rows cannot be drawn from 75"):
        split_rows(split, table_of(np.arange(100.0)), Task.REGRESSION)


def naive_duplicates(X, train, test):
    rows = [tuple("missing" if np.isnan(v) else v + 0.0 for v in row) for row in X]
    seen = {rows[i] for i in train}
    return sum(rows[i] in seen for i in test)


cells = st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan])


@given(st.lists(st.tuples(cells, cells, cells), min_size=4, max_size=30))
def test_duplicate_count_equals_a_set_of_rows(rows):
    X = np.array(rows)
    train, test = np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)
    expected = naive_duplicates(X, train, test)
    y = np.zeros(len(rows))
    frame = pd.DataFrame(X)
    assert duplicates_across(Table(frame, y), train, test) == expected
    text = frame.map(lambda v: None if np.isnan(v) else f"v{v + 0.0}").astype("category")
    assert duplicates_across(Table(text, y), train, test) == expected
    table = Table(sparse.csr_matrix(X), y)
    assert duplicates_across(table, train, test) == expected


def test_columns_in_another_order_are_no_duplicates():
    table = Table(pd.DataFrame([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2))
    assert duplicates_across(table, np.array([0]), np.array([1])) == 0


def test_row_hashes_do_not_depend_on_chunk_size(monkeypatch):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 2, (200, 6)).astype(float))
    X.insert(2, "text", pd.Categorical(random.choice(["u", "v"], 200)))
    X.iloc[0, 0], X.iloc[1, 0] = np.nan, -0.0
    whole = splits.row_hashes(X)
    rows = pd.Series([tuple(map(str, row)) for row in X.replace(-0.0, 0.0).to_numpy()])
    assert len(np.unique(whole)) == rows.nunique()
    for cells in (1, 500):
        monkeypatch.setattr(splits, "_CELLS", cells)
        np.testing.assert_array_equal(splits.row_hashes(X), whole)


@given(
    times=st.lists(st.integers(0, 12), min_size=4, max_size=60),
    folds=st.integers(2, 6),
)
def test_blocks_of_time_keep_equal_times_together(times, folds):
    times = np.array(times)
    order = np.searchsorted(np.sort(times), times)
    table = Table(pd.DataFrame({"a": times}), times + 0.5, order=order)
    blocks = [Split("ordered", folds, fold) for fold in range(folds)]
    if len(np.unique(times)) <= folds:
        with pytest.raises(DataError, match=f"need {folds + 1} different times"):
            split_rows(blocks[0], table, Task.REGRESSION)
        return
    tested = []
    for block in blocks:
        train, test = split_rows(block, table, Task.REGRESSION)
        assert times[train].max() < times[test].min()
        assert sorted(train) == np.flatnonzero(times < times[test].min()).tolist()
        tested += test.tolist()
    assert len(set(tested)) == len(tested)
    assert set(times[tested]) == set(times[times >= times[tested].min()])


@given(
    groups=st.lists(st.integers(0, 8), min_size=20, max_size=60),
    folds=st.integers(2, 5),
)
def test_fold_in_time_trains_on_earlier_rows_of_other_groups(groups, folds):
    groups, times = np.array(groups), np.arange(len(groups))
    table = Table(pd.DataFrame({"a": times}), times + 0.5, order=times, group=groups)
    for fold in range(folds):
        split = Split("ordered", folds, fold)
        expected_test = split_rows(split, replace(table, group=None), Task.REGRESSION)[1]
        earlier = times < times[expected_test].min()
        expected = np.flatnonzero(earlier & ~np.isin(groups, groups[expected_test]))
        if not len(expected):
            with pytest.raises(DataError, match="no earlier row of another group"):
                split_rows(split, table, Task.REGRESSION)
            continue
        train, test = split_rows(split, table, Task.REGRESSION)
        assert train.tolist() == expected.tolist()
        assert test.tolist() == expected_test.tolist()
        left_out = earlier.sum() - len(train)
        notes = split_notes(replace(split, train_rows=1), table, Task.REGRESSION)
        assert notes == (
            [f"{left_out} of {count(earlier.sum(), 'earlier row')} left out: their group is tested"]
            if left_out
            else []
        )


def test_blocks_of_different_times_have_equal_sizes():
    table = Table(pd.DataFrame({"a": np.zeros(60)}), np.zeros(60), order=np.arange(60))
    tested = [split_rows(Split("ordered", 5, f), table, Task.REGRESSION)[1] for f in range(5)]
    assert [rows.tolist() for rows in tested] == [
        list(range(start, start + 10)) for start in range(10, 60, 10)
    ]
