"""A pytest plugin: scikit-learn's own tests of HistGradientBoosting, on our histogram booster.

``python -m pytest -p rebound_hgb --pyargs sklearn.ensemble._hist_gradient_boosting.tests.NAME``
(``tests/helpers`` on the path). The adapters of ``hgb_names.py`` stand in the library's places.
Each test is noted with how many estimators of ours it made: what makes none is about the
library's own parts, and says nothing of ours.
"""

import hgb_names
import pytest
from sklearn import ensemble
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting

NAMES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def pytest_configure(config):
    """Put our adapters in place."""
    for name in NAMES:
        for place in (ensemble, gradient_boosting):
            setattr(place, name, getattr(hgb_names, name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note how many estimators a test makes."""
    hgb_names.MADE.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("made", hgb_names.MADE.total()))
