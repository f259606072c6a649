"""Pytest plugin that runs scikit-learn's own tests on the classes of this package.

``python -m pytest -p replace_sklearn_classes --pyargs sklearn.ensemble.tests.test_voting``
(with ``tests/helpers`` on the path). The names are replaced in scikit-learn's public packages
before a test module is imported, so classes in parametrize lists are replaced, too. The classes of
HistGradientBoosting stay: ``replace_hgb_classes.py`` replaces them for tests of their own.
"""

import importlib
import os

import algorithms

PACKAGES = ("sklearn.ensemble", "sklearn.tree")


def pytest_configure(config):
    """Replace the classes that ``REPLACE_CLASSES`` names, or all if it is empty."""
    replaced = os.environ.get("REPLACE_CLASSES", "").split() or algorithms.__all__
    for package in map(importlib.import_module, PACKAGES):
        for name in set(replaced) & set(dir(package)):
            if name.startswith("HistGradientBoosting"):
                continue
            setattr(package, name, getattr(algorithms, name))
