"""Algorithms named by the import path of a scikit-learn estimator; they need no plugin.

``sklearn.neighbors.KNeighborsClassifier`` is such a name. The registry resolves it when an
experiment, a command or a worker asks for it. The tags of the estimator say which tasks and which
data it accepts.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib.metadata import packages_distributions
from types import ModuleType
from typing import Any

from harness.core.errors import ConfigError, together, unknown
from harness.core.model import CLASSIFICATION, Accepts, Algorithm, Argument, Dataset, Spec, Task

METHODS = ("fit", "predict", "get_params", "set_params")
# The path of a class. The second form has a class name in lower case, which gets a "did you mean".
PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\.[A-Z]\w*|[A-Za-z_]\w*(\.[A-Za-z_]\w*){2,}")
SEEDS = ("random_state",)
THREADS = ("n_jobs", "thread_count")
# Ends of the names of a classifier and of its regressor.
ENDS = (("Classifier", "Regressor"), ("Classifier", ""), ("C", "R"))
# Common parameter → name in scikit-learn. It is used if its default is None or a number.
CAPACITY = {
    "trees": "n_estimators",
    "depth": "max_depth",
    "leaves": "max_leaf_nodes",
    "min_samples": "min_samples_leaf",
    "rate": "learning_rate",
}


def is_estimator_path(name: str, registered: Iterable[str] = ()) -> bool:
    """Return whether a name has the form of an import path of a class.

    A name whose package does not exist is not one if it is close to a registered name.
    """
    if PATH.fullmatch(name) is None:
        return False
    package = name.partition(".")[0]
    if package in packages() or importlib.util.find_spec(package) is not None:
        return True
    return not difflib.get_close_matches(name, registered, n=1)


@cache
def declare_estimator(path: str) -> Algorithm:
    """Return the declaration of the estimator with an import path.

    Raises
    ------
    ConfigError
        If the class cannot be imported, or is neither a classifier nor a regressor.
    """
    from harness.plugins.named_estimator_adapter import NamedEstimatorAdapter

    cls = load_estimator(path)
    tags = _tags(cls)
    tasks = _tasks(path, cls, tags)
    inputs = getattr(tags, "input_tags", None)
    is_library = _is_installed(cls)
    return Algorithm(
        name=path,
        adapter=partial(NamedEstimatorAdapter, partial(build_estimator, cls)),
        tasks=tasks,
        origin="reference" if is_library else "scratch",
        accepts=Accepts(
            missing=bool(getattr(inputs, "allow_nan", False)),
            sparse=bool(getattr(inputs, "sparse", False)),
            weights="sample_weight" in inspect.signature(cls.fit).parameters,
        ),
        capacity=_capacity(path, cls),
        estimators=("", path) if Task.REGRESSION in tasks else (path, ""),
        libraries=_distributions(path),
        summary=f"{path}, named by its import path",
        skip=_skip_sparse_missing if path.startswith("sklearn.") else None,
    )


def source_of(path: str) -> str:
    """Return the file whose code belongs to the identity of an estimator's results.

    It is this file for an installed library, because the version of the library is known.
    """
    cls = load_estimator(path)
    return __file__ if _is_installed(cls) else str(inspect.getsourcefile(cls))


def load_estimator(path: str) -> type[Any]:
    """Return the class with an import path; raise ConfigError with "did you mean" if it fails."""
    module_name, _, class_name = path.rpartition(".")
    module = _import(path, module_name)
    cls = getattr(module, class_name, None)
    if cls is None:
        close = _closest(class_name, _estimators_in(module))
        near = f"{module_name}.{close}" if close else _same_class_in_sklearn(path)
        hint = f"did you mean {near!r}?" if near else f"{module_name} has no such class"
        raise ConfigError(f"unknown estimator {path[:80]!r}; {hint}")
    if not inspect.isclass(cls):
        raise ConfigError(f"{path} is not a class: name the class of a scikit-learn estimator")
    if missing := [name for name in METHODS if not hasattr(cls, name)]:
        plural = "s" if len(missing) > 1 else ""
        raise ConfigError(
            f"{path} is not a classifier or regressor with scikit-learn's methods: it has no "
            f"method{plural} {', '.join(missing)}"
        )
    estimator: type[Any] = cls
    return estimator


def build_estimator(cls: type[Any], spec: Spec) -> Any:
    """Return a new estimator with the params, the seed and the threads of a spec."""
    names = parameters_of(cls)
    settings = {name: spec.seed for name in SEEDS if name in names}
    settings |= {name: spec.threads for name in THREADS if name in names}
    settings |= spec.params
    nested = {name: value for name, value in settings.items() if "__" in name}
    model = cls(**{name: value for name, value in settings.items() if name not in nested})
    return model.set_params(**nested) if nested else model


def parameters_of(cls: type[Any]) -> dict[str, Any]:
    """Return the names of an estimator's params with their defaults; nested ones are included."""
    own = _constructor(cls)
    return {**own, **_default_instance(cls).get_params(deep=True)}


def check_params(path: str, params: Mapping[str, Any]) -> None:
    """Raise ConfigError for unknown params, and for required ones that are missing."""
    cls = load_estimator(path)
    mistakes = []
    if not _accepts_any_param(cls):
        known = parameters_of(cls)
        hint = f"its parameters are {', '.join(sorted(known))}" if known else "it has none"
        mistakes = [
            unknown(f"parameter of {path}", name, known, hint)
            for name in params
            if name not in known
        ]
    mistakes += [
        f"{path} needs the parameter {name!r}: set it in params"
        for name in _required(cls)
        if name not in params
    ]
    if mistakes:
        raise ConfigError(together(mistakes))


def check_tasks(algorithm: Algorithm, datasets: Iterable[Dataset]) -> None:
    """Raise ConfigError if no dataset has a task that the estimator supports."""
    chosen = list(datasets)
    if not chosen or any(dataset.task in algorithm.tasks for dataset in chosen):
        return
    is_regressor = Task.REGRESSION in algorithm.tasks
    kind = "regressor" if is_regressor else "classifier"
    if not is_regressor and Task.MULTICLASS not in algorithm.tasks:
        kind = "classifier of two classes"
    listed = ", ".join(f"{d.name} ({d.task})" for d in chosen[:3])
    more = f" and {len(chosen) - 3} more" if len(chosen) > 3 else ""
    counterpart = _counterpart(algorithm.name, is_regressor=is_regressor)
    raise ConfigError(
        f"{algorithm.name} is a {kind}, but the datasets are for other tasks: {listed}{more}"
        + (f"; did you mean {counterpart!r}?" if counterpart else "")
    )


def _counterpart(path: str, *, is_regressor: bool) -> str:
    """Return the path of the classifier of a regressor, or the reverse; "" if there is none."""
    for ends in ENDS:
        new, old = ends if is_regressor else reversed(ends)
        other = path.removesuffix(old) + new
        if path.endswith(old) and other != path and _exists(other):
            return other
    return ""


def _exists(path: str) -> bool:
    try:
        load_estimator(path)
    except ConfigError:
        return False
    return True


def _import(path: str, module_name: str) -> ModuleType:
    """Import the module of a path; the error names the first part that does not exist."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigError(f"{path} cannot be imported: {error}") from error
        parent, _, last = error.name.rpartition(".")
        close = _closest(last, _submodules(parent) if parent else packages())
        near = _same_class_in_sklearn(path) or (f"{parent}.{close}".strip(".") if close else "")
        missing = f"there is no module {error.name[:80]!r}"
        hint = f"did you mean {near!r}?" if near else "install its package, or correct the name"
        raise ConfigError(f"{path}: {missing}; {hint}") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{path} cannot be imported: {reason}") from error


def _closest(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to a name, ignoring case; "" if none is similar."""
    lower = {one.lower(): one for one in known}
    return next((lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=1)), "")


def _submodules(package: str) -> list[str]:
    folders = getattr(importlib.import_module(package), "__path__", [])
    return [m.name for m in pkgutil.iter_modules(folders) if not m.name.startswith("_")]


@cache
def packages() -> Mapping[str, list[str]]:
    """Return the distributions of each installed top-level package."""
    return packages_distributions()


def _estimators_in(module: ModuleType) -> list[str]:
    """Return the public classes of a module that can be named as estimators."""
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and inspect.isclass(cls := getattr(module, name, None))
        and all(hasattr(cls, method) for method in METHODS)
    ]


def _same_class_in_sklearn(path: str) -> str:
    """Return the public path of scikit-learn's class of that name, or ""."""
    package, class_name = path.partition(".")[0], path.rpartition(".")[2]
    if package != "sklearn":
        return ""
    from sklearn.utils import all_estimators

    for name, cls in all_estimators():
        if name == class_name:
            public = re.split(r"\._", cls.__module__)[0]
            return f"{public}.{name}"
    return ""


def _signature(cls: type[Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(cls.__init__).parameters.values())[1:]


def _constructor(cls: type[Any]) -> dict[str, Any]:
    """Return the named arguments of a constructor with their defaults; None without one."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        one.name: None if one.default is one.empty else one.default
        for one in _signature(cls)
        if one.kind not in variable
    }


def _required(cls: type[Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in _signature(cls) if p.default is p.empty and p.kind in kinds]


def _accepts_any_param(cls: type[Any]) -> bool:
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in _signature(cls))


def _default_instance(cls: type[Any]) -> Any:
    """Return an estimator with its defaults; params without a default are None."""
    return cls(**dict.fromkeys(_required(cls)))


def _tags(cls: type[Any]) -> Any:
    """Return scikit-learn's tags of an estimator; None if they depend on required params."""
    from sklearn.utils import get_tags

    try:
        return get_tags(_default_instance(cls))
    except Exception:  # noqa: BLE001 - tags of a meta-estimator depend on members that are missing here
        return None


def _tasks(path: str, cls: type[Any], tags: Any) -> frozenset[Task]:
    from sklearn.base import ClassifierMixin, RegressorMixin

    kind = getattr(tags, "estimator_type", None)
    if kind is None:
        mixins = {"classifier": ClassifierMixin, "regressor": RegressorMixin}
        kind = next((name for name, mixin in mixins.items() if issubclass(cls, mixin)), None)
    if kind not in ("classifier", "regressor"):
        is_kind = f" (it is a {kind.replace('_', ' ')})" if kind else ""
        raise ConfigError(f"{path} is neither a classifier nor a regressor{is_kind}")
    if tags is not None and not tags.target_tags.single_output:
        raise ConfigError(f"{path} needs several targets; the datasets have one target")
    if kind == "regressor":
        return frozenset({Task.REGRESSION})
    of_classifier = getattr(tags, "classifier_tags", None)
    several = of_classifier is None or of_classifier.multi_class
    return CLASSIFICATION if several else frozenset({Task.BINARY})


def _capacity(path: str, cls: type[Any]) -> dict[str, Argument]:
    """Return the common parameters that an estimator has under scikit-learn's names."""
    found, defaults = {}, parameters_of(cls)
    for key, name in CAPACITY.items():
        default = defaults.get(name, "")
        is_number = isinstance(default, int | float) and not isinstance(default, bool)
        if default is None or is_number:
            found[key] = _depth(path, name, default) if key == "depth" else Argument(name)
    return found


def _depth(path: str, name: str, default: Any) -> Argument:
    """Return the argument of the depth; a common depth of 0 means the estimator's default."""

    def convert(depth: Any) -> Any:
        return depth or default

    if path.startswith("sklearn."):
        return Argument(name, convert=convert)
    return Argument(name, "approximate", "a depth of 0 is the estimator's default", convert)


def _distributions(path: str) -> tuple[str, ...]:
    return tuple(sorted(set(packages().get(path.partition(".")[0], []))))


def _is_installed(cls: type[Any]) -> bool:
    """Return whether a class belongs to an installed library, so that its version identifies it."""
    try:
        file = inspect.getsourcefile(cls) or ""
    except (OSError, TypeError):  # a compiled class
        return True
    return bool({"site-packages", "dist-packages"} & set(re.split(r"[\\/]", file)))


def _skip_sparse_missing(dataset: Dataset) -> str | None:
    both = dataset.sparse and dataset.missing
    return "scikit-learn does not accept missing values in sparse data" if both else None
