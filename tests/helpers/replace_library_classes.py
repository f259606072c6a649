"""Pytest plugin that runs the tests of LightGBM and XGBoost on our estimators.

``REPLACE_CLASSES_LIBRARY`` names the library. ``REPLACE_CLASSES_OURS=1`` replaces its classifier
and regressor by ours before a test module is imported; without it the library's own classes stay.
In both cases each test's properties hold the number of estimators that it creates (``made``) and
the number of rankers among them.
"""

import functools
import importlib
import os
from collections import Counter

import pytest

import algorithms
from algorithms.compat.views import BoosterView

LIBRARY = os.environ["REPLACE_CLASSES_LIBRARY"]
OURS = os.environ.get("REPLACE_CLASSES_OURS") == "1"
NAMES = {
    "lightgbm": ("LGBMClassifier", "LGBMRegressor", "HistogramBoosting"),
    "xgboost": ("XGBClassifier", "XGBRegressor", "NewtonBoosting"),
}
BASES = {"lightgbm": "LGBMModel", "xgboost": "XGBModel"}
MADE = Counter()


def count_constructions(cls):
    """Make a class count its instances."""
    construct = cls.__init__

    @functools.wraps(construct)
    def counting(self, *args, **params):
        MADE["ranker" if "Rank" in type(self).__name__ else "made"] += 1
        construct(self, *args, **params)

    cls.__init__ = counting


def no_failed_checks(self):
    """Return the expected check failures that LightGBM's tests read of an estimator: none."""
    return {"_xfail_checks": {}}


class BoosterType(type):
    """Type of a class that stands for the library's Booster and for our view of a model."""

    real = None

    def __instancecheck__(cls, model):
        return isinstance(model, (cls.real, BoosterView))

    def __call__(cls, *args, **params):
        return cls.real(*args, **params)


def stand_in(real):
    """Return a replacement of a library's Booster whose instances include our views."""
    BoosterType.real = real
    return BoosterType("Booster", (), {})


def pytest_configure(config):
    """Replace the classes, or count the library's own."""
    library = importlib.import_module(LIBRARY)
    places = library, importlib.import_module(f"{LIBRARY}.sklearn")
    classifier, regressor, ours = NAMES[LIBRARY]
    count_constructions(getattr(library, BASES[LIBRARY], None) or places[1].XGBModel)
    if not OURS:
        return
    library.Booster = stand_in(library.Booster)
    for name, task in ((classifier, "Classifier"), (regressor, "Regressor")):
        mine = getattr(algorithms, ours + task)
        count_constructions(mine)
        mine._more_tags = no_failed_checks
        for place in places:
            setattr(place, name, mine)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Record the number of estimators that a test creates."""
    MADE.clear()
    try:
        return (yield)
    finally:
        for kind in ("made", "ranker"):
            item.user_properties.append((kind, MADE[kind]))
