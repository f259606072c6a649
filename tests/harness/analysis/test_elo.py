"""Tests of ratings, against a logistic regression, by symmetry, and on simulated strengths."""

import numpy as np
import pytest
import statsmodels.api as sm

from harness.analysis.across import cliques, compare_differences
from harness.analysis.elo import MEAN, elo, ratings_of, victories


def played(strengths, n, seed):
    """Losses of n datasets whose pairwise wins follow the model; Gumbel noise makes it exact."""
    rng = np.random.default_rng(seed)
    logs = np.asarray(strengths) * np.log(10) / 400
    return -(logs + rng.gumbel(size=(n, len(strengths))))


def test_ratings_equal_a_logistic_regression():
    won = victories(played([0, 50, 150, -80], 60, 0)).sum(axis=0)
    rows, wins = [], []
    for i in range(4):
        for j in range(i + 1, 4):
            rows.append([(c == i) - (c == j) for c in range(1, 4)])  # the first is held at 0
            wins.append([won[i, j], won[j, i]])
    fitted = sm.GLM(np.array(wins), np.array(rows), family=sm.families.Binomial()).fit(tol=1e-12)
    expected = np.array([0.0, *fitted.params]) * 400 / np.log(10)
    ratings = ratings_of(won, prior=0.0)
    np.testing.assert_allclose(ratings - ratings[0], expected, atol=1e-5)


def test_mean_is_fixed_and_equal_algorithms_have_equal_ratings():
    losses = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]] * 4)
    ratings = ratings_of(victories(losses).sum(axis=0))
    assert ratings.mean() == pytest.approx(MEAN)
    assert ratings[0] == pytest.approx(ratings[1])
    assert ratings[2] < ratings[0]


def test_undefeated_algorithm_has_a_finite_rating():
    ratings = ratings_of(victories(np.tile([0.0, 1.0], (20, 1))).sum(axis=0))
    # 20½ wins against ½: 400·log₁₀ 41
    assert ratings[0] - ratings[1] == pytest.approx(400 * np.log10(41))


def test_ties_are_half_a_win_each():
    assert victories(np.array([[1.0, 1.0]])).tolist() == [[[0.0, 0.5], [0.5, 0.0]]]


@pytest.mark.slow
def test_intervals_cover_simulated_strengths():
    """A fixed seed, 40 runs of 40 datasets: percentile intervals cover nine of ten or more."""
    truth = np.array([100.0, 0.0, -100.0])
    covered = 0
    for seed in range(40):
        result = elo(played(truth, 40, seed), seed)
        covered += sum(i.low <= MEAN + t <= i.high for i, t in zip(result, truth, strict=True))
    assert covered / 120 >= 0.88


def test_ratings_are_reproducible():
    losses = played([0, 10, 20], 16, 1)
    assert elo(losses) == elo(losses)


@pytest.mark.parametrize(
    ("ranks", "distance", "expected"),
    [
        ([1.0, 2.0, 3.0], 0.5, []),
        ([1.0, 2.0, 3.0], 1.0, [(0, 1), (1, 2)]),
        ([1.0, 2.0, 3.0], 2.0, [(0, 2)]),
        ([1.0, 1.2, 3.0, 3.1, 3.2], 0.3, [(0, 1), (2, 4)]),
        ([2.0], 1.0, []),
    ],
)
def test_cliques_are_the_maximal_groups(ranks, distance, expected):
    assert cliques(ranks, distance) == expected


def test_each_pair_may_have_its_own_datasets_and_tie_band():
    result = compare_differences({("a", "b"): [0.5, 0.005, -0.005], ("a", "c"): [1.0]}, tie=0.01)
    assert [(f.wins, f.ties, f.losses) for f in result] == [(1, 2, 0), (1, 0, 0)]
    assert [f.difference.n for f in result] == [3, 1]
    assert compare_differences({}) == ()
