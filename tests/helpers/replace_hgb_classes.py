"""Pytest plugin that runs scikit-learn's HistGradientBoosting tests on our classes.

    TESTS=sklearn.ensemble._hist_gradient_boosting.tests
    PYTHONPATH=tests/helpers python -m pytest -p replace_hgb_classes --pyargs $TESTS.NAME

Our classes of the same names replace the library's. ``REPLACE_CLASSES_PARITY=1`` sets
``parity="scikit-learn"``; ``REPLACE_CLASSES_LIBRARY=1`` keeps the library's classes, to see what
the library itself passes. Each test's properties hold the number of estimators that it creates. A
test that creates none covers private parts of the library only.
"""

import os
from collections import Counter
from functools import wraps

import pytest
from sklearn import ensemble
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting

import algorithms

NAMES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
PARITY = {"parity": "scikit-learn"} if os.environ.get("REPLACE_CLASSES_PARITY") else {}
IS_LIBRARY = bool(os.environ.get("REPLACE_CLASSES_LIBRARY"))
MADE = Counter()  # number of estimators created, by class


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
