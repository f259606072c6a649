"""Tests of the facts of training targets that a worker reports."""

import numpy as np
import pytest

from harness.core.model import Spec, Task
from harness.worker.facts import targets


def test_class_frequencies_are_weighted_and_name_every_class():
    spec = Spec(Task.MULTICLASS, n_classes=4)
    y = np.array([0, 0, 1, 3])
    assert targets(spec, y, None) == {"train_prior": [0.5, 0.25, 0.0, 0.25]}
    weighted = targets(spec, y, np.array([1.0, 1.0, 6.0, 2.0]))
    assert weighted == {"train_prior": [0.2, 0.6, 0.0, 0.2]}


def test_mean_is_weighted():
    spec = Spec(Task.REGRESSION)
    assert targets(spec, np.array([1.0, 3.0]), None) == {"train_mean": 2.0}
    assert targets(spec, np.array([1.0, 3.0]), np.array([3.0, 1.0])) == {
        "train_mean": pytest.approx(1.5)
    }
    assert targets(spec, np.array([1.0, 3.0]), np.zeros(2)) == {}
