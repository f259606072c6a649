"""A pytest plugin: scikit-learn's own tests, with its classes replaced by those of this package.

``python -m pytest -p rebound --pyargs sklearn.ensemble.tests.test_voting``
(``tests/helpers`` on the path). The names are replaced before a test module is imported, wherever
scikit-learn's public packages hold them, so also classes in parameter lists are ours.
"""

import importlib
import os

import algorithms

PACKAGES = ("sklearn.ensemble", "sklearn.tree")


def pytest_configure(config):
    """Put our classes in place; ``REBOUND`` names some, or all are replaced."""
    wanted = os.environ.get("REBOUND", "").split() or algorithms.__all__
    for package in map(importlib.import_module, PACKAGES):
        for name in set(wanted) & set(dir(package)):
            setattr(package, name, getattr(algorithms, name))
