"""Pytest plugin that runs scikit-learn's HistGradientBoosting tests on our histogram booster.

    TESTS=sklearn.ensemble._hist_gradient_boosting.tests
    PYTHONPATH=tests/helpers python -m pytest -p replace_hgb_classes --pyargs $TESTS.NAME

The adapters of ``hgb_names.py`` replace the library's classes. Each test's properties hold the
number of our estimators that it creates. A test that creates none covers private parts of the
library only.
"""

import hgb_names
import pytest
from sklearn import ensemble
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting

NAMES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def pytest_configure(config):
    """Replace the library's classes by our adapters."""
    for name in NAMES:
        for module in (ensemble, gradient_boosting):
            setattr(module, name, getattr(hgb_names, name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Record how many estimators a test creates."""
    hgb_names.MADE.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("made", hgb_names.MADE.total()))
