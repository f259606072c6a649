"""Pytest plugin that runs scikit-learn's HistGradientBoosting tests on our classes.

    TESTS=sklearn.ensemble._hist_gradient_boosting.tests
    PYTHONPATH=tests/helpers python -m pytest -p replace_hgb_classes --pyargs $TESTS.NAME

Our classes of the same names replace the library's. ``REPLACE_CLASSES_PARITY=1`` sets
``parity="scikit-learn"``; ``REPLACE_CLASSES_LIBRARY=1`` keeps the library's classes, to see what
the library itself passes. Each test's properties hold the number of estimators that it creates, and
whether it reads private attributes or matches an error's text. A test that creates no estimator
covers private parts of the library only. Some tests read the trees from the
private attribute ``_predictors``; the plugin adds it to our classes.
"""

import inspect
import os
import re
from collections import Counter
from functools import wraps

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting

import algorithms

NAMES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
PARITY = {"parity": "scikit-learn"} if os.environ.get("REPLACE_CLASSES_PARITY") else {}
IS_LIBRARY = bool(os.environ.get("REPLACE_CLASSES_LIBRARY"))
PRIVATE = re.compile(r"[\w)]\._[a-z]|_assert_predictor_equal|match=|monkeypatch")
MADE = Counter()  # number of estimators created, by class


class TreeView:
    """A tree under the names of scikit-learn's TreePredictor."""

    def __init__(self, tree):
        fields = {
            "value": tree.value[:, 0],
            "feature_idx": tree.feature,
            "num_threshold": tree.threshold,
            "left": tree.left,
            "right": tree.right,
        }
        self.nodes = np.rec.fromarrays([*fields.values()], names=[*fields])
        held = [np.isin(np.arange(256), codes) for codes, _ in tree.sets.values()]
        self.raw_left_cat_bitsets = [
            np.packbits(one, bitorder="little").view(np.uint32) for one in held
        ]

    def get_n_leaf_nodes(self):
        return int((self.nodes["left"] < 0).sum())

    def get_max_depth(self):
        depth = np.zeros(len(self.nodes), int)
        for node, (left, right) in enumerate(zip(self.nodes.left, self.nodes.right, strict=True)):
            if left >= 0:
                depth[[left, right]] = depth[node] + 1
        return int(depth.max())


def view_trees(model):
    """Return the trees of a model, one list a round."""
    trees, k = model.ensemble_, model.n_trees_per_iteration_
    views = [TreeView(trees.tree(number)) for number in range(trees.n_trees)]
    return [views[first : first + k] for first in range(0, len(views), k)]


def count_instances(kind, extra):
    """Make the constructor of a class count its calls and add arguments."""
    init = kind.__init__

    @wraps(init)
    def counted(self, *args, **kwargs):
        MADE[kind.__name__] += 1
        init(self, *args, **{**extra, **kwargs})

    kind.__init__ = counted


def pytest_configure(config):
    """Replace the library's classes by ours."""
    for name in NAMES:
        kind = getattr(ensemble if IS_LIBRARY else algorithms, name)
        if not IS_LIBRARY:
            kind._predictors = property(view_trees)
        count_instances(kind, {} if IS_LIBRARY else PARITY)
        for module in (ensemble, gradient_boosting):
            setattr(module, name, kind)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Record how many estimators a test creates."""
    MADE.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("made", MADE.total()))
        is_private = PRIVATE.search(inspect.getsource(item.function)) is not None
        item.user_properties.append(("private", int(is_private)))
