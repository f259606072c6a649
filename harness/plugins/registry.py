"""Registry of plugins: discovery, registration and lookup by name.

Discovery: the project's own packages, entry points of the group ``harness``, and files named
with ``--plugin``. ``HARNESS_DISABLE_PLUGINS=1`` turns entry points off. A plugin that fails to
import is kept as :class:`Broken` with its reason; it is an error only if it was requested.
"""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import os
import pkgutil
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from harness import __plugin_api__
from harness.core.errors import ConfigError, OtherPluginAPIError, PluginError, together, unknown
from harness.core.model import Algorithm, Dataset, Executor, Metric, Outcome, ReportWriter, Section
from harness.plugins import hookspecs
from harness.plugins.contract import check_source, check_version, fault_of
from harness.plugins.estimators import declare_estimator, is_estimator_path, source_of
from harness.plugins.files import import_file, plugin_errors

NO_ALGORITHMS = (  # fast to import; the algorithms take seconds
    "harness.data.providers",
    "harness.plugins.metrics",
    "harness.executors",
    "reports.sections",
    "reports.writers",
)
OWN_PACKAGES = (*NO_ALGORITHMS, "algorithms", "algorithms.reference")
HOOKS: dict[str, tuple[str, type[Any]]] = {
    "register_algorithms": ("algorithm", Algorithm),
    "register_datasets": ("dataset", Dataset),
    "register_metrics": ("metric", Metric),
    "register_report_sections": ("section", Section),
    "register_report_writers": ("report writer", ReportWriter),
    "register_executors": ("executor", Executor),
}
KNOWN = ", ".join([*HOOKS, "trial_finished"])
ESTIMATORS = "harness.plugins.estimators"  # the plugin of algorithms named by an import path
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Broken:
    """Plugin that could not be loaded."""

    plugin: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Entry:
    """Registered object and the plugin (module name or file) that registered it."""

    value: Any
    plugin: str
    path: str


def new_manager() -> pluggy.PluginManager:
    """Return a plugin manager with the hook specifications and no plugins."""
    manager = pluggy.PluginManager("harness")
    manager.add_hookspecs(hookspecs)
    return manager


@dataclass
class Registry:
    """Objects that the loaded plugins registered, by kind and name."""

    entries: dict[str, dict[str, Entry]] = field(
        default_factory=lambda: {kind: {} for kind, _ in HOOKS.values()}
    )
    broken: list[Broken] = field(default_factory=list)
    manager: pluggy.PluginManager = field(default_factory=new_manager)

    def names(self, kind: str) -> list[str]:
        """Return the registered names of a kind, sorted."""
        return sorted(self.entries[kind])

    def all(self, kind: str) -> list[Any]:
        """Return the registered objects of a kind, sorted by name."""
        return [self.entries[kind][name].value for name in self.names(kind)]

    def entry(self, kind: str, name: str) -> Entry:
        """Return one entry; raise ConfigError with "did you mean" and broken plugins if missing.

        The import path of a scikit-learn estimator is the name of an algorithm, too.
        """
        known = self.entries[kind].get(name)
        if known is not None:
            return known
        try:
            return Entry(self._unregistered(kind, name), ESTIMATORS, source_of(name))
        except ConfigError as error:
            raise ConfigError(f"{error}{self._broken_hint()}") from error

    def algorithm(self, name: str) -> Algorithm:
        """Return the algorithm of that name."""
        value: Algorithm = self.entry("algorithm", name).value
        return value

    def dataset(self, name: str) -> Dataset:
        """Return the dataset of that name."""
        value: Dataset = self.entry("dataset", name).value
        return value

    def matching(self, kind: str, patterns: Iterable[str]) -> list[str]:
        """Return the names that match any of the globs; a glob without a match is an error.

        The import path of a scikit-learn estimator matches itself.
        """
        known = self.names(kind)
        hits = {pattern: fnmatch.filter(known, pattern) for pattern in patterns}
        missed = []
        for pattern in [pattern for pattern, found in hits.items() if not found]:
            try:
                hits[pattern] = [self._unregistered(kind, pattern).name]
            except ConfigError as error:
                missed.append(str(error))
        if missed:
            raise ConfigError(together(missed) + self._broken_hint())
        return list(dict.fromkeys(name for found in hits.values() for name in found))

    def add(self, kind: str, expected: type[Any], value: Any, plugin: str, path: str) -> None:
        """Register one object; a wrong type, an invalid name or a duplicate is an error."""
        if not isinstance(value, expected):
            raise PluginError(
                f"{path} registers a {type(value).__name__} as {kind}; "
                f"it must be a harness.{expected.__name__}"
            )
        if fault := fault_of(value):
            raise PluginError(f"{path}: the {kind} {str(value.name)[:80]!r}: {fault}")
        name = value.name
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise PluginError(
                f"{path} registers the {kind} name {str(name)[:80]!r}; a name is 1 to 64 "
                "letters, digits, dots, dashes or underscores, and starts with a letter or digit"
            )
        if name in self.entries[kind]:
            other = self.entries[kind][name].path
            raise PluginError(f"two plugins register the {kind} {name!r}: {other} and {path}")
        self.entries[kind][name] = Entry(value, plugin, path)

    def announce(self, outcome: Outcome) -> list[str]:
        """Call the ``trial_finished`` hook of every plugin; return messages on failures."""
        failed = []
        listeners = [one.plugin for one in self.manager.hook.trial_finished.get_hookimpls()]
        for plugin in listeners:  # one call each: pluggy stops at the first error
            others = [other for other in listeners if other is not plugin]
            try:
                self.manager.subset_hook_caller("trial_finished", others)(outcome=outcome)
            except Exception as error:  # noqa: BLE001 - third-party code may raise anything
                reason = f"{type(error).__name__}: {error}"
                name = self.manager.get_name(plugin)
                failed.append(f"a plugin's trial_finished failed: {reason} ({name})")
        return failed

    def missing_references(self) -> dict[str, str]:
        """Return a message, by algorithm, for algorithms whose reference is not registered."""
        known = self.names("algorithm")
        algorithms: list[Algorithm] = self.all("algorithm")
        return {
            a.name: f"{a.name} has as reference the {unknown('algorithm', a.reference, known)}"
            for a in algorithms
            if a.reference is not None and a.reference not in known
        }

    def _unregistered(self, kind: str, name: str) -> Algorithm:
        """Return the algorithm of an estimator's import path; raise ConfigError for other names."""
        known = self.names(kind)
        if kind != "algorithm" or not is_estimator_path(name, known):
            raise ConfigError(unknown(kind, name, known))
        return declare_estimator(name)

    def _broken_hint(self) -> str:
        if not self.broken:
            return ""
        listed = "; ".join(f"{b.plugin}: {b.reason}" for b in self.broken)
        return f" (plugins that failed to load: {listed})"


def load_registry(
    files: Sequence[str | Path] = (),
    *,
    modules: Sequence[str] | None = None,
    strangers: bool | None = None,
    packages: Sequence[str] = OWN_PACKAGES,
) -> Registry:
    """Load plugins and return what they register.

    Parameters
    ----------
    files
        Paths of plugin files; a broken one is an error.
    modules
        Modules to load instead of all own packages and entry points. A worker uses this to load
        one algorithm without importing the others. A broken module is an error.
    strangers
        Whether entry points are loaded; by default unless ``HARNESS_DISABLE_PLUGINS`` is set.
    packages
        Own packages to load; ``NO_ALGORITHMS`` lists all that contain no algorithms.
    """
    registry = Registry()
    if modules is None:
        for name in own_modules(packages):
            _load(registry, name, lambda name=name: importlib.import_module(name))
        if strangers is None:
            strangers = os.environ.get("HARNESS_DISABLE_PLUGINS", "") in ("", "0")
        for point in sorted(entry_points(group="harness"), key=str) if strangers else ():
            _load(registry, point.value, point.load)
    else:
        for name in modules:
            _register(registry, importlib.import_module(name), name)
    for file in files:
        _load_file(registry, Path(file))
    return registry


def own_modules(packages: Sequence[str] = OWN_PACKAGES) -> list[str]:
    """Return the project's own plugin modules: the public modules of its plugin packages.

    An entry of ``packages`` may also be a module.
    """
    root = Path(__file__).resolve().parents[2]
    modules = []
    for package in packages:
        module = importlib.import_module(package)
        folder = Path(str(module.__file__)).resolve().parent
        if not folder.is_relative_to(root):
            raise PluginError(
                f"{folder} is not the {package!r} that belongs to this harness ({root}): rename "
                f"your own {package.split('.', maxsplit=1)[0]!r}, or start from another folder"
            )
        if not hasattr(module, "__path__"):
            modules.append(package)
            continue
        names = (m.name for m in pkgutil.iter_modules([str(folder)]) if not m.ispkg)
        modules += [f"{package}.{name}" for name in names if not name.startswith("_")]
    return modules


def _load_file(registry: Registry, path: Path) -> None:
    """Load a requested plugin file; any failure is an error."""
    check_source(path)
    module = import_file(path)
    path = path.resolve()
    with plugin_errors(path, "fails in its hook"):
        _register(registry, module, str(path))
    if not registry.manager.get_hookcallers(module):
        raise PluginError(
            f"{path} offers nothing: mark its functions with @hookimpl; the known hooks are {KNOWN}"
        )


def _load(registry: Registry, name: str, get: Any) -> None:
    """Load one discovered plugin; record it as broken if it fails."""
    try:
        _register(registry, get(), name)
    except OtherPluginAPIError as error:  # not an error: it may have fitted when installed
        registry.broken.append(Broken(name, str(error), traceback.format_exc()))
    except PluginError:
        raise  # a broken contract is always an error
    except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code may raise anything
        reason = f"{type(error).__name__}: {error}"
        registry.broken.append(Broken(name, reason, traceback.format_exc()))


def _register(registry: Registry, module: ModuleType, plugin: str) -> None:
    """Register a module with pluggy, check its hooks, and call its ``register_*`` hooks."""
    path = inspect.getsourcefile(module) or plugin
    check_version(getattr(module, "__plugin_api__", __plugin_api__), path)
    manager = registry.manager
    try:
        manager.register(module, name=plugin)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as error:
        message = str(error).splitlines()[-1].partition(" in plugin <")[0]
        raise PluginError(f"{path}: {message}; the known hooks are {KNOWN}") from error
    for hook, (kind, expected) in HOOKS.items():
        for implementation in getattr(manager.hook, hook).get_hookimpls():
            if implementation.plugin is not module:
                continue
            if not implementation.argnames:
                raise PluginError(f"{path}: {hook} must take one argument, `register`")
            implementation.function(
                register=lambda value, k=kind, e=expected: registry.add(k, e, value, plugin, path)
            )
