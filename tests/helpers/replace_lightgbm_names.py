"""Pytest plugin that runs the tests of LightGBM on our classes.

``REPLACE_NAMES_OURS=1`` replaces every name of `algorithms.compat.lightgbm` by ours before a test
module is imported. Without it the library's own classes stay. In both cases each test's properties
hold the number of replaced objects that it creates (``made``), and a test fails after ``SECONDS``.
"""

import functools
import importlib
import inspect
import os
import signal
from collections import Counter

import pytest

OURS = os.environ.get("REPLACE_NAMES_OURS") == "1"
SECONDS = 240
MADE = Counter()


def count_constructions(cls):
    """Make a class count its instances."""
    construct = cls.__init__

    @functools.wraps(construct)
    def counting(self, *args, **params):
        MADE["made"] += 1
        construct(self, *args, **params)

    counting.__signature__ = inspect.signature(construct)  # tests read the arguments
    cls.__init__ = counting


def no_failed_checks(self):
    """Return the expected check failures that LightGBM's tests read of an estimator: none."""
    return {"_xfail_checks": {}}


def replace_lightgbm():
    """Replace the names of LightGBM and of its modules by those of our module."""
    library = importlib.import_module("lightgbm")
    sources = [library, *map(importlib.import_module, ("lightgbm.basic", "lightgbm.sklearn"))]
    for name in ("Dataset", "Booster"):
        count_constructions(getattr(library, name))
    count_constructions(library.LGBMModel)
    if not OURS:
        return
    ours = importlib.import_module("algorithms.compat.lightgbm")
    for name in ("Dataset", "Booster"):
        count_constructions(getattr(ours, name))
    for name in ("LGBMModel", "LGBMClassifier", "LGBMRegressor", "LGBMRanker"):
        count_constructions(getattr(ours, name))
        getattr(ours, name)._more_tags = no_failed_checks
    sources += map(importlib.import_module, ("lightgbm.callback", "lightgbm.engine"))
    for name in ours.__all__:
        for source in sources:
            if hasattr(source, name):
                setattr(source, name, getattr(ours, name))


def pytest_configure(config):
    """Replace the names, or count the library's own objects."""
    replace_lightgbm()


def fail_late(_number, _frame):
    """Fail the test that runs."""
    pytest.fail(f"the test takes more than {SECONDS} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Limit the time of a test and record the number of objects that it creates."""
    MADE.clear()
    signal.signal(signal.SIGALRM, fail_late)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        item.user_properties.append(("made", MADE["made"]))
