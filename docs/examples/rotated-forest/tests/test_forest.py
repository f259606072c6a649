"""What is this project's own: the rotation, and what it is good for."""

import numpy as np
from rotated_forest import RotatedForestClassifier
from rotated_forest.forest import draw_rotation, rotate
from rotated_forest.stripes import STRIPES
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state


def test_a_rotation_keeps_lengths():
    X = np.random.default_rng(0).normal(size=(20, 5))
    turned = rotate(X, *draw_rotation(check_random_state(0), 5))
    assert not np.allclose(turned, X)
    np.testing.assert_allclose((turned**2).sum(axis=1), (X**2).sum(axis=1))


def test_the_dataset_is_what_it_says():
    table = STRIPES.load()
    assert table.X.shape == (STRIPES.rows, STRIPES.columns)
    assert table.y.dtype == np.int64
    np.testing.assert_array_equal(STRIPES.load().y, table.y)


def test_it_learns_stripes_better_than_a_forest():
    table = STRIPES.load()
    X, y = table.X.to_numpy(), table.y
    train, test = slice(0, 1500), slice(1500, None)
    ours = RotatedForestClassifier(random_state=0).fit(X[train], y[train])
    theirs = RandomForestClassifier(50, random_state=0).fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > theirs.score(X[test], y[test])
