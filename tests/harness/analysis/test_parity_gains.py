"""Tests that recomputed gains equal those of the libraries, and that their bounds hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parity_kit import N, edited, grow, places, put, rows, rows_at

from harness import ALL_TASKS, Task
from harness.analysis.parity import Side, compare
from harness.analysis.parity.gains import Terms, gain_of, leaf_rounding
from harness.analysis.parity.objectives import RULES, UnknownError, terms_of

ALL_ROWS = {
    "sklearn.random_forest": {"bootstrap": False, "max_depth": 4},
    "sklearn.bagging": {"bootstrap": False, "estimator__max_depth": 4},
    "sklearn.decision_tree": {"max_depth": 5},
}


@pytest.mark.filterwarnings("ignore:When fitting Bagging")
@pytest.mark.parametrize("weight", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("task", sorted(ALL_TASKS), ids=lambda t: t.value)
@pytest.mark.parametrize("name", sorted(RULES))
def test_gains_equal_the_library(name, task, weight):
    if (name, task) == ("sklearn.adaboost", Task.REGRESSION):
        pytest.skip("R2 draws rows, which are not exported")
    training = rows(task, weight=weight)
    side = grow(name, task, training, **ALL_ROWS.get(name, {}))
    e = side.ensemble
    digits = 1e-5 if name.startswith("lightgbm") else 1e-12  # it prints six
    counted = 0
    for tree in range(e.n_trees):
        terms = terms_of(side, training, tree)
        for path, node in places(e, tree):
            # HistGradientBoosting leaves the root's own score out of its gain
            if e.left[node] < 0 or (not path and "hist_gradient" in name):
                continue
            reach = rows_at(training, e, tree, path)
            gain = gain_of(terms, reach, training.goes_left(e, node, reach))
            assert gain.value == pytest.approx(e.gain[node], rel=digits, abs=4 * gain.terms)
            counted += 1
    assert counted >= e.n_trees  # AdaBoost has stumps


VARIANTS = [
    ("sklearn.decision_tree", Task.MULTICLASS, {"criterion": "entropy", "max_depth": 5}),
    ("sklearn.decision_tree", Task.BINARY, {"criterion": "log_loss", "max_depth": 5}),
    ("sklearn.bagging", Task.BINARY, {"bootstrap": False, "estimator__criterion": "entropy"}),
    ("sklearn.gradient_boosting", Task.REGRESSION, {"learning_rate": 0.5}),
    ("xgboost.exact", Task.BINARY, {"reg_lambda": 0.0, "reg_alpha": 0.7}),
    ("xgboost.hist", Task.REGRESSION, {"lambda": 3.0, "base_score": 0.3}),
    ("lightgbm.gbdt", Task.BINARY, {"sigmoid": 2.5, "reg_lambda": 2.0, "reg_alpha": 0.3}),
    ("lightgbm.gbdt", Task.REGRESSION, {"boost_from_average": False}),
]


@pytest.mark.parametrize(("name", "task", "params"), VARIANTS, ids=str)
def test_gain_parameters_are_used(name, task, params):
    training = rows(task)
    side = grow(name, task, training, **params)
    e = side.ensemble
    for tree in range(e.n_trees):
        node, every = int(e.offsets[tree]), np.arange(N)
        terms = terms_of(side, training, tree)
        gain = gain_of(terms, every, training.goes_left(e, node, every))
        assert gain.value == pytest.approx(e.gain[node], rel=1e-5)


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("catboost.plain", {}, "catboost.plain has no rule"),
        ("sklearn.bagging", {}, "not exported"),
        ("sklearn.random_forest", {"bootstrap": True}, "not exported"),
        ("sklearn.decision_tree", {"criterion": "poisson"}, "no rule for the criterion 'poisson'"),
        ("sklearn.decision_tree", {"class_weight": "balanced"}, "with class_weight='balanced'"),
        ("sklearn.gradient_boosting", {"subsample": 0.5}, "with subsample=0.5"),
        ("xgboost.hist", {"objective": "reg:absoluteerror"}, "with objective='reg:absoluteerror'"),
        ("xgboost.hist", {"num_parallel_tree": 2}, "not have one tree per output"),
        ("lightgbm.gbdt", {"bagging_freq": 1}, "with subsample_freq=1"),
        ("mine.unknown", {}, "mine.unknown has no rule"),
        ("", {}, "without a reference library"),
    ],
)
def test_unsupported_parameters_give_the_reason(name, params, reason):
    training = rows(Task.MULTICLASS)
    e = grow("xgboost.hist", Task.MULTICLASS, training).ensemble
    if "num_parallel_tree" in params:
        e = edited(Side(e, ""), output=np.repeat([0, 1, 2, 0], 3)).ensemble
    with pytest.raises(UnknownError, match=reason):
        terms_of(Side(e, "it", params, name), training, 0)


def test_comparison_continues_without_gains_and_gives_the_reason():
    training = rows(Task.BINARY)
    side = grow("sklearn.bagging", Task.BINARY, training)
    e = side.ensemble
    node = int(e.offsets[2])
    first = compare(
        side, edited(side, threshold=put(e.threshold, node, 0.1234)), training
    ).differences[0]
    assert (first.tree, first.path, first.gains) == (2, "", ())
    assert "bootstrap=false" in first.no_gains
    assert first.a.gain == first.b.gain == pytest.approx(e.gain[node])


# ------------------------------------------------------------------ the formula and its bounds


def slow_gain(terms, reach, left):
    """Return the gain from exact sums, term by term; from fractions except for entropy."""

    def score(members):
        if terms.entropy:
            total = [math.fsum(terms.g[i, k] for i in members) for k in range(terms.g.shape[1])]
            weight = math.fsum(terms.h[i] for i in members)
            return math.fsum(t * math.log2(t / weight) for t in total if t > 0)
        total = [sum(Fraction(terms.g[i, k]) for i in members) for k in range(terms.g.shape[1])]
        below = sum(Fraction(terms.h[i]) for i in members) + Fraction(terms.l2)
        if below == 0:
            return Fraction(0)
        return sum(max(abs(t) - Fraction(terms.l1), Fraction(0)) ** 2 for t in total) / below

    parts = [
        [i for i, side in zip(reach, left, strict=True) if side is went] for went in (True, False)
    ]
    return terms.scale * float(sum(map(score, parts)) - score(list(reach)))


def random_terms(seed, entropy=False):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    g = np.abs(rng.normal(size=(n, k))) if entropy else rng.normal(rng.normal(), 1, size=(n, k))
    h = g.sum(axis=1) if entropy else rng.uniform(0.1, 2, n)
    l2, l1 = (0.0, 0.0) if entropy else rng.choice([0.0, 1.5], 2)
    left = rng.random(n) < 0.5
    return Terms("", g, h, float(l2), float(l1), float(rng.choice([1.0, 0.01])), entropy), left


@given(st.integers(0, 10**6), st.booleans())
def test_gain_uses_exact_sums(seed, entropy):
    terms, left = random_terms(seed, entropy)
    reach = np.arange(len(left))
    gain = gain_of(terms, reach, left)
    assert gain.value == pytest.approx(
        slow_gain(terms, reach.tolist(), left.tolist()), abs=8 * gain.resolution + 1e-300
    )
    assert gain.resolution < gain.terms * 1e-6 + 1e-300


@given(st.integers(0, 10**6))
def test_bounds_cover_single_precision_gains(seed):
    terms, left = random_terms(seed)
    exact = slow_gain(terms, range(len(left)), left.tolist())
    gain = gain_of(terms, np.arange(len(left)), left)

    def single(summed):
        def score(part):
            total = np.float32(np.abs(summed(terms.g[part].astype(np.float32))))
            weight = np.float32(summed(terms.h[part].astype(np.float32)[:, None])[0])
            shrunk = np.maximum(total - np.float32(terms.l1), np.float32(0))
            below = weight + np.float32(terms.l2)
            return (
                np.float32((shrunk**2 / below).sum(dtype=np.float32))
                if below > 0
                else np.float32(0)
            )

        parts = score(left) + score(~left)
        return float(np.float32(terms.scale) * (parts - score(np.ones(len(left), bool))))

    def one_by_one(values):
        return (
            np.cumsum(values, axis=0, dtype=np.float32)[-1] if len(values) else values.sum(axis=0)
        )

    assert abs(single(lambda v: v.sum(axis=0, dtype=np.float64)) - exact) <= 4 * gain.terms + 1e-300
    assert abs(single(one_by_one) - exact) <= 4 * gain.sums + 1e-300


def test_integers_have_exact_sums():
    g = np.ones((1000, 1))
    left = np.arange(1000) < 300
    whole = gain_of(Terms("", g, np.ones(1000)), np.arange(1000), left)
    broken = gain_of(Terms("", g * 0.1, np.ones(1000)), np.arange(1000), left)
    assert whole.sums == whole.terms  # only the result is rounded
    assert broken.sums > 10 * broken.terms


def test_leaf_bound_grows_where_gradients_cancel():
    h = np.ones(100)
    alike, opposed = np.ones((100, 1)), np.resize([1.0, -0.98], 100)[:, None]
    bounds = [
        leaf_rounding(Terms("", g, h), np.arange(100), np.array([0.1])) for g in (alike, opposed)
    ]
    assert 0 < bounds[0] < 1e-5 < bounds[1] < 1e-3


@pytest.mark.parametrize("entropy", [True, False])
def test_node_without_rows_has_no_gain(entropy):
    terms = Terms("", np.ones((6, 2)), np.ones(6), entropy=entropy)
    gain = gain_of(terms, np.arange(0), np.zeros(0, bool))
    assert (gain.value, gain.resolution, gain.sums) == (0.0, 0.0, 0.0)
