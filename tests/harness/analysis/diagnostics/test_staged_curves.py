"""Tests of losses per round, and of interpolated seconds."""

import numpy as np
import pytest

from harness.analysis.diagnostics import InapplicableError, staged


def loss_against(y):
    return lambda output: float(np.mean((output - y) ** 2))


def test_curves_are_the_losses_of_each_stage():
    y, train_y = np.zeros(4), np.ones(3)
    test = [np.full(4, v) for v in (3.0, 1.0, 2.0)]
    train = [np.full(3, v) for v in (0.0, 0.5, 1.0)]
    score = (loss_against(y), loss_against(train_y))
    clock = ([1, 10], [0.5, 5.0])
    result = staged.curves([1, 5, 10], test, train, "mse", score, clock)
    assert result.test == (9, 1, 4)
    assert result.train == (1, 0.25, 0)
    assert result.best == 5
    assert result.rows == (3, 4)
    assert result.seconds == pytest.approx((0.5, 2.5, 5.0))
    assert "least after 5 of 10 members (1, 4 at the end)" in result.sentence


def test_loss_still_falling_is_reported():
    score = (loss_against(0.0), loss_against(0.0))
    result = staged.curves([1, 2], [np.ones(2), np.zeros(2)], [np.ones(2)] * 2, "mse", score)
    assert result.seconds is None
    assert "still falls at the last of 2 members" in result.sentence


def test_timed_stages_may_be_in_any_order():
    assert staged.seconds_at([3], [4, 2], [4.0, 2.0]) == (3.0,)


def test_model_without_stages_is_reported():
    with pytest.raises(InapplicableError):
        staged.curves([], [], [], "mse", (len, len))
