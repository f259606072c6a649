"""Tests of feature combinations.

Target statistics and scores are compared with the code of ordered boosting and integer histograms.
"""

import numpy as np
import pandas as pd
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.combination_search import CombinationSearch
from algorithms.symmetric.kernels.combinations import KeyScratch, combine_codes
from algorithms.symmetric.kernels.split_scores import scan_features

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


def check_statistics(search):
    """Compare the bins of a level's combinations with those of the table's other code."""
    data, permutation = search.data, search.permutation
    for one in search.listed:
        expected = data.bins(one.projection, permutation)
        np.testing.assert_array_equal(search.bins[one.slot], expected.rows.T)
        assert search.n_levels[one.slot] == expected.n_levels


def check_scores(search, records, groups, scoring):
    """Compare the best splits of a level with those of integer histograms."""
    kind, noise, seed, l2, step = scoring
    for number, slot in enumerate(search.listed_slots):
        rows = search.bins[slot].T.astype(np.int64)
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
            planes, groups.n_leaves, search.n_bins, 0, count, stride, l2, step, kind, noise,
            own_seed, np.empty((4, stride)), score, split,
        )  # fmt: skip
        np.testing.assert_array_equal(search.best_score[number], score)
        np.testing.assert_array_equal(search.best_bin[number], split)


@pytest.mark.parametrize(("n_classes", "ctrs"), list(zip([0, 2, 3], CTRS, strict=True)))
def test_levels_have_the_statistics_and_scores_of_the_other_code(n_classes, ctrs, monkeypatch):
    original, seen = CombinationSearch.scan, []

    def scan(search, splits, records, groups, scoring):
        original(search, splits, records, groups, scoring)
        projections = search.data.combinations(splits, search.columns)
        assert [one.projection for one in search.listed] == projections
        check_statistics(search)
        check_scores(search, records, groups, scoring)
        seen.extend(one.projection for one in search.listed)

    monkeypatch.setattr(CombinationSearch, "scan", scan)
    X, y = table()
    params = {"iterations": 2, "max_ctr_complexity": 4, "combinations_ctr": ctrs}
    params |= {"model_size_reg": 0, "depth": 5}
    params |= {"cat_features": ["b", "c", "d", "e"], "thread_count": 1, "random_seed": 1}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        SymmetricBoostingClassifier(**params).fit(X, y)
    else:
        SymmetricBoostingRegressor(**params).fit(X, y)
    assert max(one.complexity for one in seen) >= 3
    assert any(one.borders for one in seen)


@pytest.mark.parametrize("max_codes", [10, 1 << 20])
def test_pairs_of_levels_are_numbered(max_codes):
    rng = np.random.default_rng(0)
    base, column = rng.integers(0, 900, (2, 1000)).astype(np.int32)
    out = np.empty(1000, np.int32)
    scratch = KeyScratch(np.empty(2048, np.int64), np.empty(2048, np.int32), max_codes)
    size = combine_codes(base, 900, column, 900, scratch, out)
    keys = base.astype(np.int64) * 900 + column
    if max_codes == 10:
        codes, distinct = pd.factorize(keys)
        np.testing.assert_array_equal(out, codes)
        assert size == len(distinct)
    else:
        np.testing.assert_array_equal(out, keys)
        assert size == 900 * 900
