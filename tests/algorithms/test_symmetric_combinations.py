"""Tests of feature combinations.

Target statistics and scores are compared with the code of ordered boosting and integer histograms.
"""

import numpy as np
import pandas as pd
import pytest
from kernels import callable_kernel

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric import combination_search
from algorithms.symmetric.category_grower import CategoryGrower
from algorithms.symmetric.combination_search import CombinationSearch
from algorithms.symmetric.kernels.base_categories import (
    BaseCategories,
    divide_categories,
    reorder_categories,
    start_categories,
)
from algorithms.symmetric.kernels.category_tree import ADDED, LISTED
from algorithms.symmetric.kernels.combinations import LevelRows, order_records
from algorithms.symmetric.kernels.split_scores import scan_features
from algorithms.symmetric.statistic_codes import MAX_CODES, N_SMALL, code_tables, sort_codes

CTRS = [
    "Borders,Counter",
    "BinarizedTargetMeanValue:TargetBorderCount=3,Buckets:Prior=-0.5:Prior=2,Counter",
    "Counter:CtrBorderCount=20,Borders:TargetBorderCount=4",
]


def table(n_rows=300, seed=0):
    """Return a frame with a number and text, and a target that needs both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.choice(["x", "y", "z"], n_rows),
            "c": rng.integers(0, 30, n_rows).astype(str),
            "d": rng.choice(["left", "right"], n_rows),
            "e": rng.integers(0, 200, n_rows).astype(str),
        }
    )
    X.loc[::9, "a"] = np.nan
    effect = rng.normal(size=30)[X["c"].astype(int)] + (X["b"] == "y") * (X["d"] == "left") * 3
    return X, (X["a"].fillna(0.0) + effect + rng.normal(size=n_rows)).to_numpy()


def listed(search):
    """Return the combinations of a level: list of (projection, slot)."""
    own = search.tree.search
    numbers = own.listed[: own.state[LISTED]].tolist()
    return [
        (search.read_key(own.keys[number].tolist()), int(own.known.slots[number]))
        for number in numbers
    ]


def bins_of(search, slot):
    """Return the bins of the statistics in a slot of the cache, uint8 (n_statistics, n_rows)."""
    sets = zip(search.codes.bins, search.codes.set_of, strict=True)
    return np.array([bins[search.tree.cache.codes[slot, own]] for bins, own in sets])


def check_statistics(search):
    """Compare the bins of a level's combinations with those of the table's other code."""
    cache = search.tree.cache
    for projection, slot in listed(search):
        expected = search.data.bins(projection, search.permutation)
        np.testing.assert_array_equal(bins_of(search, slot), expected.rows.T)
        assert cache.n_levels[slot] == expected.n_levels


def check_scores(search, records, groups, scoring):
    """Compare the best splits of a level with those of integer histograms."""
    (scoring, seed), candidates = scoring, search.tree.candidates
    for number, (_, slot) in enumerate(listed(search)):
        rows = bins_of(search, slot).T.astype(np.int64)
        count, stride = rows.shape[1], search.stride
        planes = np.zeros((groups.n_leaves, len(records), 2, count * stride), np.int64)
        for leaf in range(groups.n_leaves):
            own = groups.rows[groups.starts[leaf] : groups.ends[leaf]]
            for k, record in enumerate(records[:, own]):
                for s in range(count):
                    np.add.at(planes[leaf, k, 0], s * stride + rows[own, s], record >> 32)
                    np.add.at(planes[leaf, k, 1], s * stride + rows[own, s], record & (2**32 - 1))
        score, split = np.empty(count), np.empty(count, np.int64)
        own_seed = np.uint32(seed_of(seed, number))
        scan_features(
            planes, groups.n_leaves, search.n_bins, 0, count, stride, scoring.l2, scoring.step,
            scoring.kind, scoring.noise, own_seed, np.empty((4, stride)), score, split,
        )  # fmt: skip
        np.testing.assert_array_equal(candidates.score[number], score)
        np.testing.assert_array_equal(candidates.bin[number], split)


def fit(n_classes, ctrs, **others):
    """Return a model of `table`."""
    X, y = table()
    params = {"iterations": 2, "max_ctr_complexity": 4, "combinations_ctr": ctrs}
    params |= {"model_size_reg": 0, "depth": 5} | others
    params |= {"cat_features": ["b", "c", "d", "e"], "thread_count": 1, "random_seed": 1}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        return SymmetricBoostingClassifier(**params).fit(X, y)
    return SymmetricBoostingRegressor(**params).fit(X, y)


@pytest.mark.parametrize(("n_classes", "ctrs"), list(zip([0, 2, 3], CTRS, strict=True)))
@pytest.mark.parametrize(
    ("shift", "max_sums"),
    [
        (0, combination_search.MAX_SUMS),
        (10, combination_search.MAX_SUMS),  # sums of large leaves need several chunks
        (0, 0),  # the sums of no combination are kept
    ],
)
def test_levels_have_the_statistics_and_scores_of_the_other_code(
    n_classes, ctrs, shift, max_sums, monkeypatch
):
    original, seen, is_narrow = CombinationSearch.scan, [], []
    monkeypatch.setattr(combination_search, "MAX_SUMS", max_sums)

    def scan(search, level, records, groups, scoring):
        records = records << shift
        original(search, level, records, groups, scoring)
        splits = [search.make_split(number) for number in range(level)]
        columns = [
            search.data.counted[place]
            for place in search.tree.search.added[: search.tree.search.state[ADDED]]
        ]
        found = [projection for projection, _ in listed(search)]
        assert found == search.data.combinations(splits, columns)
        check_statistics(search)
        check_scores(search, records, groups, scoring)
        is_narrow.extend(search.tree.is_narrow[0, : groups.n_leaves].tolist())
        seen.extend(found)

    monkeypatch.setattr(CombinationSearch, "scan", scan)
    monkeypatch.setattr(CategoryGrower, "grows_alone", False)
    fit(n_classes, ctrs)
    assert max(one.complexity for one in seen) >= 3
    assert any(one.borders for one in seen) or shift  # then statistics have the best scores
    assert any(is_narrow)
    assert all(is_narrow) == (shift == 0)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize(
    "params",
    [
        {"model_size_reg": 2.0, "rsm": 0.5},
        {"one_hot_max_size": 3, "depth": 6, "max_ctr_complexity": 2},
        {"has_time": True, "random_strength": 0.0},
    ],
)
def test_one_call_and_levels_grow_the_same_trees(n_classes, params, monkeypatch):
    monkeypatch.setattr(combination_search, "FIRST_CAPACITY", 8)  # it grows several times
    monkeypatch.setattr(combination_search, "KEPT", 3)
    params = {"iterations": 12, "model_size_reg": 0.5} | params
    trees = fit(n_classes, CTRS[0], **params)._trees
    monkeypatch.setattr(CategoryGrower, "grows_alone", False)
    expected = fit(n_classes, CTRS[0], **params)._trees
    assert len(trees) == len(expected) == 12
    for tree, other in zip(trees, expected, strict=True):
        for field in ("features", "borders", "values", "weights"):
            np.testing.assert_array_equal(getattr(tree, field), getattr(other, field))


def test_exemptions_outlive_a_larger_table_of_projections():
    used = combination_search.empty_projections(4, 3, 2)
    used.keys[:], used.is_exempt[:] = np.arange(12).reshape(4, 3), True
    grown = combination_search.grow_projections(used, 4)
    assert sorted(grown.buckets[grown.buckets >= 0].tolist()) == [0, 1, 2, 3]
    np.testing.assert_array_equal(grown.keys[:4], used.keys)
    assert grown.is_exempt.sum() == 8


def grouped(bases, number):
    """Return the rows of each category of a base, list of lists."""
    ends = bases.ends[number, : bases.sizes[number]].astype(int)
    return [one.tolist() for one in np.split(bases.rows[number], ends)[:-1]]


def test_categories_of_bases_keep_the_order_of_the_permutation():
    rng, n_rows = np.random.default_rng(0), 1000
    first, second = rng.integers(0, 40, (2, n_rows)).astype(np.int32)
    order, other = (rng.permutation(n_rows).astype(np.uint32) for _ in range(2))
    bases = BaseCategories(np.empty((3, n_rows), np.uint32), np.empty((3, n_rows), np.uint32),
                           *np.empty((2, 3), np.int64))  # fmt: skip
    counts = np.empty(80, np.int32)
    callable_kernel(start_categories)(bases, 0, order)
    assert grouped(bases, 0) == [order.tolist()]
    divide = callable_kernel(divide_categories)
    divide(bases, 0, first, 40, counts, 1)
    divide(bases, 1, second, 40, counts, 2)
    out, scratch = np.empty(n_rows, np.uint32), np.empty((2, n_rows), np.int32)
    callable_kernel(reorder_categories)(bases, 2, other, *scratch, out)
    for permutation, found in ((order, bases.rows[2]), (other, out)):
        expected = {}
        for row in permutation.tolist():
            expected.setdefault((first[row], second[row]), []).append(row)
        singles = [rows for rows in expected.values() if len(rows) == 1]
        assert len(singles) == bases.n_single_row_categories[2] > 0
        own = grouped(bases._replace(rows=np.array([found] * 3)), 2)
        assert sorted(own) == sorted(rows for rows in expected.values() if len(rows) > 1)


@pytest.mark.parametrize(("priors", "n_borders"), [((0.0, 0.5, 1.0), 15), ((1.0, 0.25), 20)])
def test_codes_stand_for_the_bins_of_all_priors(priors, n_borders):
    n_codes, code_by_counts, code_by_bins, bins = code_tables(
        tuple((prior, 0.0, 1.0) for prior in priors), n_borders
    )
    totals = [np.arange(2 * N_SMALL), np.random.default_rng(0).integers(0, 10**6, 300)]
    for total in np.concatenate(totals).tolist():
        numerator = np.unique(np.linspace(0, total, 400).astype(np.int64)).astype(np.float32)
        expected = np.array(
            [(numerator + np.float32(prior)) / np.float32(total + 1) for prior in priors]
        )
        expected = (expected * np.float32(n_borders)).astype(np.uint8)
        codes = code_by_bins[np.ravel_multi_index(expected, (n_borders + 1,) * len(priors))]
        assert codes.max() < n_codes <= 256
        np.testing.assert_array_equal(bins[:, codes], expected)
        if total < N_SMALL:
            np.testing.assert_array_equal(code_by_counts[total, numerator.astype(int)], codes)


def test_codes_are_sorted_by_the_bins_of_each_statistic():
    bins = np.random.default_rng(0).integers(0, 7, (3, MAX_CODES)).astype(np.uint8)
    n_codes = np.array([256, 100, 3])
    order, ends = sort_codes(bins, n_codes, 8)
    for own, count, codes, own_ends in zip(bins, n_codes.tolist(), order, ends, strict=True):
        for b in range(8):
            found = codes[own_ends[b - 1] if b else 0 : own_ends[b]]
            np.testing.assert_array_equal(found, np.flatnonzero(own[:count] == b))


def test_too_many_tuples_of_bins_have_no_common_code():
    assert code_tables(tuple((prior, 0.0, 1.0) for prior in (0.0, 0.5, 1.0)), 50) is None


def test_chunks_of_a_leaf_fit_into_packed_sums():
    rng, n_rows = np.random.default_rng(0), 40
    g, w = rng.integers(-(2**30), 2**30, (2, n_rows)), rng.integers(0, 2**30, (2, n_rows))
    records = g * 2**32 + w
    rows = rng.permutation(n_rows).astype(np.uint32)
    starts, ends = np.array([0, 25, 10, 25]), np.array([10, 40, 25, 25])
    scratch = np.empty((2, n_rows), np.int64), np.empty(n_rows, np.uint32)
    level_rows = LevelRows(rows, starts, ends, *scratch, np.array([[True, False, True, True]] * 2))
    order_records(records, level_rows, 4)
    np.testing.assert_array_equal(level_rows.records, records[:, rows])
    chunks = iter(level_rows.chunks.tolist())
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        at = start
        while at < end:
            last = next(chunks)
            own = rows[at:last]
            assert at < last <= end
            assert np.abs(g[:, own]).sum(axis=1).max() < 2**31
            assert w[:, own].sum(axis=1).max() < 2**32
            at = last
