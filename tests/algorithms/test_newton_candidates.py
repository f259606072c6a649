"""Tests of weighted bins and candidate thresholds, for all nodes or for each."""

import numpy as np
import pytest
from newton_kit import digest, table
from scipy import sparse

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.gbdt.binning import find_bins
from algorithms.newton import histogram_grower as newton_hist
from algorithms.newton.value_cells import Cells
from algorithms.newton.weighted_bins import weigh_edges
from algorithms.runtime.threads import Workers

METHODS = ["exact", "approx", "hist"]


def test_few_local_candidates_equal_many_global_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 6)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3]) + np.abs(X[:, 4])
    y = (signal + 0.5 * rng.normal(size=8000) > 0.8).astype(int)
    loss = {}
    for name, eps in (("global", 0.3), ("local", 0.3), ("global", 0.05), ("local", 0.004)):
        params = {"tree_method": "approx", "proposal": name, "sketch_eps": eps}
        model = NewtonBoostingClassifier(n_estimators=20, random_state=0, **params)
        proba = model.fit(X[:4000], y[:4000]).predict_proba(X[4000:])
        loss[name, eps] = -np.log(proba[np.arange(4000), y[4000:]]).mean()
    assert loss["local", 0.3] < 0.9 * loss["global", 0.3]
    assert loss["local", 0.3] < 1.1 * loss["global", 0.05]
    assert loss["local", 0.004] < 1.05 * loss["global", 0.05]


def weighed_by_few(n, missing=0.0):
    """Return X, y and weights: eight adjacent values of the first column weigh 10⁹ times more."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3)).astype(np.float32)
    y = rng.normal(size=n)
    heavy = np.argsort(X[:, 0])[n // 2 :][:8]
    weight = np.full(n, 1e-6)
    weight[heavy] = 1e3
    y[heavy] += [5, -5] * 4
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, weight


@pytest.mark.slow
@pytest.mark.parametrize("n", [40_000, 400_000])  # ten rows a cell; more than a sample
def test_candidates_follow_the_weight(n):
    X, y, weight = weighed_by_few(n)
    heavy = weight > 1
    for method in METHODS:
        model = NewtonBoostingRegressor(tree_method=method, n_estimators=40, min_child_weight=0)
        predictions = model.fit(X[:, :1], y, sample_weight=weight).predict(X[heavy, :1])
        np.testing.assert_allclose(predictions, y[heavy], atol=0.05)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("method", ["approx", "hist"])
def test_weighted_bins_do_not_depend_on_threads_or_sparsity(method, missing):
    X, y, weight = weighed_by_few(20_000, missing)
    params = {"tree_method": method, "n_estimators": 4, "random_state": 0}
    listed = sparse.csr_matrix(np.where(np.isnan(X), 0.0, X))
    wholes = [X, X, listed, listed] if missing else [X, X]
    results = set()
    for rows, n_jobs in zip(wholes, [1, 3, 1, 3], strict=False):
        model = NewtonBoostingRegressor(**params, n_jobs=n_jobs)
        results.add(digest(model.fit(rows, y, sample_weight=weight)))
    assert len(results) == 1


@pytest.mark.parametrize("weight", [None, 2.0])
def test_bins_are_weighted_only_if_weights_differ(weight, monkeypatch):
    X, y = table(500)
    weights = None if weight is None else np.full(500, weight)
    monkeypatch.setattr(newton_hist, "weigh_edges", None)
    NewtonBoostingRegressor(n_estimators=1).fit(X, y, sample_weight=weights)
    with pytest.raises(TypeError):
        NewtonBoostingRegressor(n_estimators=1).fit(X, y, sample_weight=1 + (y > 0))


@pytest.mark.parametrize("unit", [2.0**-1040, 2.0**1013])  # whose sum is infinite
def test_bins_do_not_depend_on_the_unit_of_weights(unit):
    X, _, weight = weighed_by_few(3000, missing=0.1)
    weight = 1.0 + np.round(weight)
    with Workers(1) as workers:
        binner = find_bins(X, np.zeros(3, bool), 256, 3000, 1, workers)
        given = [weigh_edges(binner, X, w, 256, workers, "test") for w in (weight, unit * weight)]
    assert all(map(np.array_equal, given[0].edges, given[1].edges))


@pytest.mark.parametrize("digits", [9, 3])
def test_columns_are_not_sketched_again_for_even_weights(digits, monkeypatch):
    X, y = table(20_000)
    X = np.round(X, digits)
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    model = NewtonBoostingRegressor(tree_method="approx", n_estimators=5, random_state=0)
    result = digest(model.fit(X, y, sample_weight=weight))
    monkeypatch.setattr(Cells, "weigh_finely", lambda cells, f, h, room: cells.weigh(f, h))
    assert digest(model.fit(X, y, sample_weight=weight)) == result
