"""Tests of the trajectories of searches."""

import math

import pytest

from harness.analysis.trajectories import (
    Trajectory,
    bands_by_number,
    bands_by_time,
    steps_of,
)


def of(*folds):
    return Trajectory("a", "d", ("tuned",), tuple(map(steps_of, folds)))


def test_best_loss_falls_with_each_better_configuration():
    fact = {"trajectory": [[0, 1.0, 0.5, 1.0], [1, 1.0, None, 2.0], [2, 1.0, 0.4, 3.0],
                           [3, 1.0, 0.6, 4.0]]}  # fmt: skip
    steps = steps_of(fact)
    assert [(s.tried, s.seconds, s.loss) for s in steps] == [
        (1, 1.0, 0.5), (2, 2.0, 0.5), (3, 3.0, 0.4), (4, 4.0, 0.4),
    ]  # fmt: skip


def test_losses_of_fewer_rows_do_not_count_in_a_later_iteration():
    tried = [[0, 0.5, 0.2, 1.0], [1, 0.5, 0.3, 2.0], [0, 1.0, 0.4, 4.0]]
    assert [s.loss for s in steps_of({"trajectory": tried})] == [0.2, 0.2, 0.4]


def test_older_results_have_the_order_of_random_search_and_no_times():
    steps = steps_of({"losses": [None, 0.5, 0.6, 0.1]})
    assert [(s.tried, s.loss) for s in steps] == [(2, 0.5), (3, 0.5), (4, 0.1)]
    assert math.isnan(steps[0].seconds)
    assert steps_of({"losses": [0.5], "iterations": [[1.0, [0]]]}) == ()
    assert bands_by_time(of({"losses": [0.5, 0.4]})) == []


def test_bands_are_the_range_over_folds_from_where_all_have_a_loss():
    searches = of({"losses": [None, 3.0, 1.0]}, {"losses": [5.0, 4.0]}, {"losses": [2.0, 2.0, 0.0]})
    bands = [(b.at, b.low, b.middle, b.high) for b in bands_by_number(searches)]
    assert bands == [(2.0, 2.0, 3.0, 4.0), (3.0, 0.0, 1.0, 4.0)], "a shorter fold keeps its loss"


def test_bands_against_time_have_few_points_and_the_last_loss():
    folds = [
        {"trajectory": [[i, 1.0, 1.0 / (i + 1), float(i + 1 + 0.1 * fold)] for i in range(200)]}
        for fold in range(3)
    ]
    bands = bands_by_time(of(*folds))
    assert 50 < len(bands) <= 62
    assert bands[0].at == 1.2, "the first configuration of the slowest fold"
    assert bands[-1].middle == pytest.approx(1 / 200)
    assert all(b.low <= b.middle <= b.high for b in bands)


def test_bands_against_time_are_only_where_the_loss_changes():
    losses = [0.5, 0.6, 0.4, 0.7, 0.8]
    fold = {"trajectory": [[i, 1.0, loss, float(i)] for i, loss in enumerate(losses, 1)]}
    bands = [(b.at, b.low, b.middle, b.high) for b in bands_by_time(of(fold))]
    assert bands == [(1.0, 0.5, 0.5, 0.5), (3.0, 0.4, 0.4, 0.4), (5.0, 0.4, 0.4, 0.4)]
