"""Tests of rankings: files with queries, their splits and their metrics."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from harness.core.errors import DataError
from harness.core.model import Predicted, Split, Table, Task
from harness.data.files import dataset_from_file, dataset_from_mapping, describe
from harness.data.loading import table_of
from harness.data.queries import numbered
from harness.data.splits import default_splits, split_rows
from harness.plugins.metrics import mean_average_precision, ndcg_at_10

SIZES = [3, 1, 4, 2, 5, 3]
GRADES = np.resize([0, 2, 1, 0, 1], sum(SIZES))


def svmlight(path, *, qid, first=1):
    """Write rows of the queries of ``SIZES``, with or without qid."""
    queries = np.repeat(np.arange(len(SIZES)) + first, SIZES)
    lines = [
        f"{grade} {f'qid:{query} ' if qid else ''}1:{row + 1} 3:0.5"
        for row, (grade, query) in enumerate(zip(GRADES, queries, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def sizes_of(group):
    """Return the lengths of the runs of equal codes."""
    return [len(list(run)) for _, run in itertools.groupby(group)]


@pytest.mark.parametrize("kind", ["qid", "query", "group", "csv"])
def test_file_with_queries_is_a_ranking(tmp_path, kind):
    options = {}
    if kind == "csv":
        queries = np.repeat([*"abcdef"], SIZES)
        rows = [f"{x},{q},{y}" for x, (q, y) in enumerate(zip(queries, GRADES, strict=True))]
        path = tmp_path / "rank.csv"
        path.write_text("x,query,grade\n" + "\n".join(rows) + "\n")
        options = {"target": "grade", "group": "query", "task": "ranking"}
    else:
        path = svmlight(tmp_path / "rank.svm", qid=kind == "qid")
        if kind != "qid":
            (tmp_path / f"rank.svm.{kind}").write_text("\n".join(map(str, SIZES)))
    dataset = dataset_from_file(path, **options)
    assert (dataset.task, dataset.grouped, dataset.n_classes) == (Task.RANKING, True, 0)
    again = dataset_from_mapping(dataset.file)
    for one in (dataset, again):
        table = one.load()
        assert sizes_of(table.group) == SIZES
        np.testing.assert_array_equal(table.y, GRADES.astype(float))
    if kind != "csv":
        assert "6 queries; rows of one query are never in both parts" in describe(dataset)


def test_queries_of_further_files_and_of_a_test_file_are_others(tmp_path):
    paths = [svmlight(tmp_path / f"{name}.svm", qid=True) for name in "ab"]
    dataset = dataset_from_file(paths[0], test=paths[1])
    table = table_of(dataset)
    assert sizes_of(table.group) == SIZES * 2
    assert len(np.unique(table.group)) == 2 * len(SIZES)
    train, test = split_rows(default_splits(dataset, 5, 1, 0)[0], table, Task.RANKING)
    assert len(train) == len(test) == sum(SIZES)
    np.testing.assert_array_equal(numbered([np.array([7, 7, 3]), np.array([3])]), [1, 1, 0, 2])


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ("1 2", "queries of 3 rows; "),
        ("0 18", "not above 0"),
        ("a", "cannot be read as a file of query lengths"),
    ],
)
def test_invalid_query_lengths(tmp_path, lengths, words):
    path = svmlight(tmp_path / "rank.svm", qid=False)
    (tmp_path / "rank.svm.query").write_text(lengths)
    with pytest.raises(DataError, match=words):
        dataset_from_file(path)


def test_query_lengths_of_one_of_two_files_are_an_error(tmp_path):
    paths = [svmlight(tmp_path / f"{name}.svm", qid=False) for name in "ab"]
    (tmp_path / "b.svm.query").write_text("18")
    with pytest.raises(DataError, match="some other file has none"):
        dataset_from_file(paths)


@pytest.mark.parametrize("train_rows", [0, 10, 1])
def test_splits_consist_of_whole_queries(train_rows):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    n = len(group)
    table = Table(np.zeros((n, 1)), rng.integers(0, 3, n).astype(float), group=group)
    tested = []
    for fold in range(5):
        split = Split("kfold", 5, fold, seed=3, train_rows=train_rows)
        train, test = split_rows(split, table, Task.RANKING)
        whole = [np.isin(group, group[rows]).sum() == len(rows) for rows in (train, test)]
        assert all(whole)
        assert not np.isin(group[train], group[test]).any()
        if train_rows == 10:
            assert 1 <= len(train) <= 10
        elif train_rows:
            assert len(np.unique(group[train])) == 1
        tested.append(test)
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.arange(n))


# ------------------------------------------------------------------ metrics


def predicted(seed, *, ties=False, weighted=False):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 25, 20)
    group = np.repeat(rng.permutation(20), sizes)
    y = rng.integers(0, 4, len(group)).astype(float)
    y[group == 3] = 0.0  # a query without a relevant row
    output = rng.normal(size=len(y))
    weight = rng.uniform(0.5, 2.0, 20)[group] if weighted else None
    return Predicted(y, np.round(output) if ties else output, weight, 1.0, group)


def by_query(p, score):
    """Return the weighted mean of a score over queries with a relevant row."""
    values, weights = [], []
    for query in np.unique(p.group):
        rows = p.group == query
        if p.y[rows].any():
            values.append(score(p.y[rows], p.output[rows]))
            weights.append(1.0 if p.weight is None else p.weight[rows][0])
    return np.average(values, weights=weights)


def ndcg_of_query(y, output):
    if len(y) == 1:  # scikit-learn refuses one document
        return 1.0
    return ndcg_score([2.0**y - 1.0], [output], k=10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_ndcg_is_the_mean_of_scikit_learns_over_queries(ties, weighted):
    p = predicted(1, ties=ties, weighted=weighted)
    assert ndcg_at_10(p) == pytest.approx(by_query(p, ndcg_of_query), rel=1e-12)


def precision_of_orders(y, output):
    """Return the mean average precision of all orders of equal predictions."""
    ties = [np.flatnonzero(output == value) for value in np.unique(output)]
    precisions = []
    for orders in itertools.product(*map(itertools.permutations, ties)):
        rank = np.argsort([*itertools.chain(*orders)])
        precisions.append(average_precision_score(y > 0, rank))
    return np.mean(precisions)


def test_average_precision_is_scikit_learns_and_of_ties_the_expected_value():
    p = predicted(2, weighted=True)
    wanted = by_query(p, lambda y, output: average_precision_score(y > 0, output))
    assert mean_average_precision(p) == pytest.approx(wanted, rel=1e-12)
    y, output = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 0.0]), np.array([2.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    tied = Predicted(y, output, None, 1.0, np.zeros(6, np.int64))
    assert mean_average_precision(tied) == pytest.approx(precision_of_orders(y, output), rel=1e-12)


@pytest.mark.parametrize("metric", [ndcg_at_10, mean_average_precision])
def test_ranking_without_a_relevant_row_is_undefined(metric):
    nothing = Predicted(np.zeros(4), np.arange(4.0), None, 1.0, np.array([0, 0, 1, 1]))
    assert np.isnan(metric(nothing))
