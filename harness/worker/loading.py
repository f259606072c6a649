"""Load one algorithm's plugin, and the plugins that may hold its dataset, and no other."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution

from harness.data import providers
from harness.plugins.files import is_file
from harness.plugins.registry import Registry, load_registry


def load_plugins(plugin: str, others: Sequence[str] = ()) -> Registry:
    """Return a registry of one algorithm plugin, the built-in datasets, and further plugins.

    Parameters
    ----------
    plugin
        Module name, or path of a file.
    others
        The same, of plugins that may hold the dataset; the algorithm's own may be among them.
    """
    wanted = list(dict.fromkeys([*builtin_data(), plugin, *others]))
    files = [name for name in wanted if is_file(name)]
    return load_registry(files, modules=[name for name in wanted if name not in files])


def import_libraries(distributions: Sequence[str]) -> None:
    """Import the libraries of an algorithm now: plugins import theirs when first used.

    Else the import would be counted as the first native form or the first fit.
    """
    for name in distributions:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue  # the plugin itself will say what it cannot do without
        packages = {f.parts[0] for f in files if f.parts[1:] == ("__init__.py",)}
        usual = name.replace("-", "_")
        for package in {usual} & packages or packages:
            importlib.import_module(package)


def import_what_splits() -> None:
    """Import what splits tables now: it takes seconds, which are not a trial's to pay for."""
    importlib.import_module("sklearn.model_selection")


def builtin_data() -> list[str]:
    """Return the modules of the built-in datasets."""
    return [f"{providers.__name__}.{m.name}" for m in pkgutil.iter_modules(providers.__path__)]
