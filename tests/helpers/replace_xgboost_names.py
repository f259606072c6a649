"""Pytest plugin that runs XGBoost's tests on our module.

``REPLACE_NAMES_OURS=1`` replaces XGBoost's names by those of `algorithms.compat.xgboost` before a
test module is imported; without it the library's own names stay. In both cases each test's
properties hold the number of objects of the replaced classes that it creates (``made``).
"""

import functools
import importlib
import os
import pkgutil
import sys
from collections import Counter

import pytest

OURS = os.environ.get("REPLACE_NAMES_OURS") == "1"
LIBRARY = "xgboost"
CLASSES = (
    *("DMatrix", "QuantileDMatrix", "Booster"),
    *("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker"),
    "XGBModel",
)
CALLBACKS = (
    *("TrainingCallback", "EarlyStopping", "EvaluationMonitor", "LearningRateScheduler"),
    "TrainingCheckPoint",
)
MADE = Counter()
CONSTRUCTORS = {}  # class → its counting constructor


def count_constructions(cls):
    """Make a class count its instances."""
    construct = cls.__init__

    @functools.wraps(construct)
    def counting(self, *args, **params):
        MADE[type(self).__name__] += 1
        construct(self, *args, **params)

    cls.__init__ = CONSTRUCTORS[cls] = counting


def loaded_modules():
    """Return all modules of the library: tests and helpers bind names in several of them."""
    package = importlib.import_module(LIBRARY)
    for name in ("core", "training", "callback", "sklearn", "testing"):
        importlib.import_module(f"{LIBRARY}.{name}")
    for one in pkgutil.iter_modules([*sys.modules[f"{LIBRARY}.testing"].__path__]):
        try:
            importlib.import_module(f"{LIBRARY}.testing.{one.name}")
        except ImportError:  # it needs a package that is not installed
            continue
    names = [name for name in sys.modules if name.partition(".")[0] == LIBRARY]
    return package, [sys.modules[name] for name in names]


def find_names(package):
    """Return the library's objects by name, and ours."""
    theirs = {name: getattr(package, name) for name in CLASSES}
    theirs |= {name: getattr(package.callback, name) for name in CALLBACKS}
    theirs |= {"train": package.train, "cv": package.cv}
    theirs["XGBoostError"] = package.core.XGBoostError
    ours = importlib.import_module("algorithms.compat.xgboost")
    places = [ours, ours.callback]
    found = {}
    for name in theirs:
        own = [getattr(place, name) for place in places if hasattr(place, name)]
        if own:
            found[name] = own[0]
    return theirs, found


def pytest_configure(config):
    """Replace the names, or count the library's own objects."""
    package, modules = loaded_modules()
    theirs, ours = find_names(package)
    counted = ours if OURS else theirs
    for name in ("DMatrix", "QuantileDMatrix", "Booster"):
        count_constructions(counted[name])
    count_constructions(counted["XGBModel"])
    if not OURS:
        return
    for name, mine in ours.items():
        for module in modules:
            if vars(module).get(name) is theirs[name]:
                setattr(module, name, mine)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Record the number of objects that a test creates."""
    MADE.clear()
    try:
        return (yield)
    finally:
        for cls, construct in CONSTRUCTORS.items():  # a test that failed may have left its own
            cls.__init__ = construct
        item.user_properties.append(("made", MADE.total()))
