"""Losses on a common scale."""

import numpy as np
import pytest

from harness.analysis.normalized_loss import geometric_mean_ratio, mean_normalized_loss

LOSSES = np.array([[1.0, 2.0, 5.0], [4.0, 2.0, 3.0], [0.0, 0.0, 0.0]])


def test_mean_normalized_loss_is_0_for_the_best_and_at_most_1():
    # Row 1: best 1, median 2. Row 2: best 2, median 3. The third row has no spread.
    assert mean_normalized_loss(LOSSES) == pytest.approx([(0 + 1) / 2, (1 + 0) / 2, (1 + 1) / 2])
    assert not mean_normalized_loss(LOSSES[2:]).any()


def test_geometric_mean_ratio_leaves_out_a_best_loss_of_0():
    expected = [np.sqrt(1 * 2), np.sqrt(2 * 1), np.sqrt(5 * 1.5)]
    assert geometric_mean_ratio(LOSSES) == pytest.approx(expected)
    assert geometric_mean_ratio(LOSSES[2:]) == pytest.approx([1.0, 1.0, 1.0])
