"""Import the plugin of one algorithm, plugins of its dataset, and its libraries."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
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
        The same for plugins that may contain the dataset; may include ``plugin``.
    """
    plugins = list(dict.fromkeys([*builtin_data(), plugin, *others]))
    files = [name for name in plugins if is_file(name)]
    return load_registry(files, modules=[name for name in plugins if name not in files])


def import_libraries(distributions: Sequence[str]) -> None:
    """Import the libraries of an algorithm now, because plugins import them at the first use.

    Otherwise the import would be part of the first ``native`` or ``fit`` phase.
    """
    for name in distributions:
        for package in _packages_of(name):
            importlib.import_module(package)


@cache
def _packages_of(name: str) -> frozenset[str]:
    """Return the top-level packages of a distribution; only the one of its name if it has one."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return frozenset()  # the plugin itself reports missing libraries
    packages = {f.parts[0] for f in files if f.parts[1:] == ("__init__.py",)}
    return frozenset({name.replace("-", "_")} & packages or packages)


def import_splitters() -> None:
    """Import the splitters now: that takes seconds, which should not count for a trial."""
    importlib.import_module("sklearn.model_selection")


def builtin_data() -> list[str]:
    """Return the modules of the built-in datasets."""
    return [f"{providers.__name__}.{m.name}" for m in pkgutil.iter_modules(providers.__path__)]
