"""Imports of pandas and scipy.stats on first use, instead of with an estimator.

The two took more than half of the processor time of importing an estimator. Training on NumPy
arrays and sparse matrices uses neither. scikit-learn imports both but uses them in few functions.
"""

import importlib
import sys
from types import ModuleType

UNUSED = "pandas", "scipy.stats"  # modules that sklearn.utils.fixes imports


class DeferredModule(ModuleType):
    """Module that is imported when one of its attributes is first read."""

    def __getattr__(self, name):
        found = self.__dict__.get("_imported")
        if found is None:
            remove_placeholder(self)
            found = self.__dict__["_imported"] = importlib.import_module(self.__name__)
        return getattr(found, name)


def remove_placeholder(module):
    """Remove a deferred module from the imported modules, so that the real one can be imported."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]


def import_sklearn():
    """Import scikit-learn's base classes, but neither pandas nor scipy.stats.

    While this function runs, `sys.modules` has placeholders for the two. If an attribute of a
    placeholder is read, also by another thread, the real module is imported.
    """
    placeholders = [DeferredModule(name) for name in UNUSED if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in placeholders})
    try:
        importlib.import_module("sklearn.utils.validation")
    finally:
        for module in placeholders:
            remove_placeholder(module)


def is_frame(X):
    """Return whether X is a pandas frame, without importing pandas."""
    return is_of_pandas(X, "DataFrame")


def is_of_pandas(value, name):
    """Return whether a value is an instance of the class of pandas with this name."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, name, ()))


pd = DeferredModule("pandas")
