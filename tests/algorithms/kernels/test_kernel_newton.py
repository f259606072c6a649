import numba
import numpy as np
import oracles_newton as oracles
import pytest
from scipy import sparse

from algorithms import NewtonBoostingRegressor
from algorithms.levelwise.binned_columns import lay_flat
from algorithms.newton.exact_grower import ExactGrower
from algorithms.newton.kernels import exact_arrays
from algorithms.newton.kernels.rows import scan_node_columns, start_rows
from algorithms.newton.kernels.search import search_columns
from algorithms.newton.levelwise_grower import LevelwiseGrower
from algorithms.newton.params import make_limits
from algorithms.newton.pruning import (
    keep_splits,
    splits_by_depth,
    splits_by_gain,
    splits_with_min_gain,
)
from algorithms.newton.sampling import Columns
from algorithms.newton.sorted_columns import sort_lists
from algorithms.runtime.threads import Workers

NONE = np.empty(0, bool)


def draw_table(seed, n=60, d=3, missing=0.2, distinct=0):
    """Return X, g and h; ``distinct`` rounds values to make ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    if distinct:
        X = np.round(X * distinct) / np.float32(distinct)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.normal(size=n).astype(np.float32), rng.uniform(0.1, 1, n).astype(np.float32)


def grower_of(X, workers, kind=ExactGrower, step=0.0, **params):
    """Return a grower, the limits, and column lists with all columns."""
    model = NewtonBoostingRegressor(tree_method="exact", **params)
    limits = make_limits(model, X.shape[1], [])
    more = (step,) if step else ()
    return kind(X, limits, workers, "test", *more), Columns(model, X.shape[1], 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "given_rules",
    [
        {},
        {"least_h": 3.0, "reg_lambda": 0.0},
        {"reg_alpha": 0.8, "max_delta_step": 0.5, "plain": 0},
        {"plain": 0, "sign": 1, "bounds": (-0.4, 0.3)},
        {"step": 0.2},
    ],
)
def test_every_slot_finds_its_best_split(seed, given_rules):
    options = dict(given_rules)
    sign, bounds = options.pop("sign", 0), options.pop("bounds", (-np.inf, np.inf))
    kept = {
        "least_h": 0.5,
        "reg_lambda": 1.0,
        "reg_alpha": 0.0,
        "max_delta_step": 0.0,
        "step": 0.0,
        "plain": 1,
    }
    rules = exact_arrays.Rules(**kept | options)
    X, g, h = draw_table(seed, missing=0.3 * (seed % 2), distinct=(0, 2, 4)[seed % 3])
    slots = np.random.default_rng(seed).integers(0, 4, len(X))  # slot 3: in no open node
    rows = np.zeros(len(X), exact_arrays.ROW)
    start_rows(rows, g, h, NONE)
    rows["slot"] = np.where(slots == 3, 0, slots + 1)
    of = [slots == k for k in range(3)]
    totals = np.array([[g[own].sum(), h[own].sum(), own.sum()] for own in of])
    level = exact_arrays.Level(
        totals, np.full(3, -1e9), np.full(3, bounds[0]), np.full(3, bounds[1]), np.ones(3, bool),
        np.empty((0, 0), bool),
    )  # fmt: skip
    with Workers(1) as workers:
        lists = sort_lists(X, workers, "test")
    values = np.empty((3, 3), exact_arrays.FOUND)
    states = np.zeros(4, exact_arrays.STATE)
    signs = np.full(3, sign, np.int64)
    search_columns(lists, rows, level, rules, signs, np.arange(3), states, values, 0, 3)
    for f in range(3):
        for k in range(3):
            own = of[k]
            x, own_g, own_h = X[own, f].astype(float), g[own].astype(float), h[own].astype(float)
            known = list(oracles.splits(x, own_g, own_h, rules, sign, bounds))
            score = max((s[0] for s in known), default=-np.inf)
            assert values["score"][f, k] == pytest.approx(score, rel=1e-6, abs=1e-6)
            if known:
                best = values[f, k]
                ways = [s for s in known if s[0] == pytest.approx(score, rel=1e-5, abs=1e-6)]
                assert any(
                    s[1] < best["threshold"] <= s[2] and s[3] == best["missing_left"] for s in ways
                )


def keep_rows(X, used):
    """Change nothing; return an empty set of rows."""
    return np.zeros(len(X), bool)


def move_to_midpoints(X, used):
    """Move unused rows to the midpoints between used ones."""
    X[used] = 2 * np.round(X[used])
    X[~used] = np.round(2 * X[~used])
    return keep_rows(X, used)


def make_missing(X, used):
    """Make a column missing in unused rows; return the rows where it was high."""
    is_high = X[:, 0] > 1
    X[~used, 0] = np.nan
    return is_high


def move_above(X, used):
    """Move unused rows above the others in a column; return the rows where it is missing."""
    X[~used, 0] += 100
    return np.isnan(X[:, 0])


@pytest.mark.parametrize(
    ("missing", "change"),
    [
        (0.0, keep_rows),
        (0.3, keep_rows),
        (0.0, move_to_midpoints),
        (0.3, move_to_midpoints),
        (0.0, make_missing),
        (0.3, move_above),
    ],
)
@pytest.mark.parametrize("kind", [ExactGrower, LevelwiseGrower])
def test_rows_are_at_the_node_the_tree_sends_them_to(kind, missing, change):
    X, g, h = draw_table(1, n=400, d=4, missing=missing)
    used = np.random.default_rng(0).random(400) < 0.7
    g = (0.1 * g + 9 * change(X, used)).astype(np.float32)
    with Workers(2) as workers:
        grower, draws = grower_of(X, workers, kind, max_depth=4)
        grown = grower.grow(g, h, used, draws)
    assert len(grown.nodes) > 9
    paths = [oracles.walk(grown.nodes, x) for x in X]
    assert [path[-1] for path in paths] == grown.at.tolist()
    cover = np.zeros(len(grown.nodes))
    for row in np.flatnonzero(used):
        cover[paths[row]] += h[row]
    np.testing.assert_allclose(grown.nodes["cover"], cover, rtol=1e-5)


def test_sparse_and_dense_rows_grow_the_same_tree():
    X, g, h = draw_table(2, n=300, d=5, missing=0.6)
    listed = sparse.csr_matrix(np.where(np.isnan(X), 0, X))
    with Workers(1) as workers:
        trees = []
        for rows in (X, listed):
            grower, draws = grower_of(rows, workers, max_depth=5)
            trees.append(grower.grow(g, h, None, draws))
    assert trees[0].nodes.tobytes() == trees[1].nodes.tobytes()
    assert np.array_equal(trees[0].at, trees[1].at)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_histograms_and_sorted_columns_grow_the_same_tree(missing):
    for seed in range(5):
        X, g, h = draw_table(seed, n=500, d=4, missing=missing)
        X[:, 1] *= np.float32(1e-30)  # any scale: no two values are held for one
        with Workers(1) as workers:
            results = []
            for kind in (ExactGrower, LevelwiseGrower):
                grower, draws = grower_of(X, workers, kind, max_depth=4, gamma=0.0)
                nodes = grower.grow(g, h, None, draws).nodes
                results.append([describe(nodes, x) for x in X])
        assert results[0] == results[1]


def describe(nodes, x):
    """Return the splits on the path of a row."""
    names = ("feature", "threshold", "missing_left")
    return [tuple(nodes[n][at].item() for n in names) for at in oracles.walk(nodes, x)[:-1]]


def test_nodes_record_features_missing_in_their_rows():
    X, g, h = draw_table(4, n=200, d=3, missing=0.1)
    with Workers(1) as workers:
        grower, draws = grower_of(X, workers, max_depth=3)
        nodes = grower.grow(g, h, None, draws).nodes
    missing, largest = np.zeros(len(nodes), np.uint8), np.full(len(nodes), -np.inf, np.float32)
    table = lay_flat(X, np.empty((3, 0), np.uint32), np.zeros(3, np.int64), np.float32(0.0))
    scan_node_columns(table, nodes, NONE, missing, largest, 0, len(X))
    paths = [oracles.walk(nodes, x) for x in X]
    for node in np.flatnonzero(nodes["left"] >= 0):
        seen = np.array([X[i, nodes["feature"][node]] for i, p in enumerate(paths) if node in p])
        assert missing[node] == np.isnan(seen).any()
        assert largest[node] == np.nanmax(seen)


def test_thresholds_of_adjacent_values_exceed_the_lower_one():
    rng = np.random.default_rng(0)
    x = np.float32(1.0) + np.arange(64, dtype=np.float32) * np.float32(2**-23)
    X = np.column_stack([x, rng.permutation(x)]).astype(np.float32)
    y = rng.normal(size=64)
    model = NewtonBoostingRegressor(
        n_estimators=1, tree_method="exact", min_child_weight=0, reg_lambda=0, learning_rate=1
    )
    tree = model.set_params(max_depth=10).fit(X, y).ensemble_
    result = np.bincount(model.apply(X)[:, 0], minlength=tree.n_nodes)
    leaves = tree.left < 0
    assert leaves.sum() > 40
    assert np.array_equal(result[leaves], tree.cover[leaves])


def test_trees_are_pruned_by_the_rules():
    for seed in range(5):
        X, g, h = draw_table(seed, n=400, d=4)
        with Workers(1) as workers:
            grower, draws = grower_of(X, workers, max_depth=5)
            grown = grower.grow(g, h, None, draws)
        nodes = grown.nodes
        gamma = float(np.median(nodes["gain"][nodes["left"] >= 0]))
        kept = splits_with_min_gain(nodes, gamma)
        assert set(np.flatnonzero(kept)) == oracles.prune(nodes, gamma)
        for choose in (splits_by_depth, splits_by_gain):
            for leaves in (1, 2, 5, 8):
                assert choose(nodes, leaves).sum() == leaves - 1
        small = keep_splits(grown, kept)
        for row in range(0, 400, 7):
            path = oracles.walk(nodes, X[row])
            stop = next(at for at in path if not kept[at])
            assert oracles.walk(small.nodes, X[row])[-1] == small.where[grown.at[row]]
            assert small.nodes["value"][small.where[grown.at[row]]] == nodes["value"][stop]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_values_need_no_kernels_of_their_own(dtype):
    X = np.ones((4, 2), dtype)
    frozen = X.copy()
    frozen.flags.writeable = False  # as the arrays of pandas
    given = np.empty((2, 4), np.uint32), np.zeros(2, np.int64), np.float32(0.0)
    assert numba.typeof(lay_flat(frozen, *given)) == numba.typeof(lay_flat(X, *given))
    assert X.flags.writeable
