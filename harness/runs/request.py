"""Options of runs, duels and tree comparisons, and the requests and experiments they give."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.config.diagnostics import Diagnostics
from harness.config.experiment import Choice, Experiment, Parity, load_experiment, parse_experiment
from harness.core.errors import ConfigError
from harness.core.model import Dataset
from harness.data.in_memory import dataset_from_given
from harness.planning.candidates import labels_of, without_pairs_of
from harness.plugins.registry import Registry
from harness.runs.run import Request

Params = Mapping[str, Any] | Sequence[str]  # {"max_depth": 3} or ["max_depth=3"]


def default_results() -> Path:
    """Return the folder of results: ``HARNESS_RESULTS``, else ``results`` in this folder."""
    return Path(os.environ.get("HARNESS_RESULTS") or "results")


@dataclass(frozen=True)
class RunOptions:
    """Options of a run; the fields are the parameters of :func:`harness.run`."""

    experiment: str | Path | Mapping[str, Any] | None = None  # own_data with data, else quick
    algorithms: Sequence[str] = ()
    datasets: Sequence[str] = ()
    data: Any = None
    target: str | None = None
    task: str | None = None
    drop_flagged: bool = False
    group: str | None = None
    time: str | None = None
    weight: str | None = None
    drop: Sequence[str] = ()
    test: str | Path | None = None
    metric: str | None = None
    class_weight: str | None = None
    early_stopping: int | None = None
    overrides: Params = ()
    seed: int | None = None
    threads: int | None = None
    jobs: int | None = None
    timeout: str | float | None = None
    memory: str | int | None = None
    budget: str | float | None = None
    track: str | None = None
    quick: bool = False
    executor: str = "local"
    scheduler: str | None = None
    plugins: Sequence[str | Path] = ()
    results: str | Path = field(default_factory=default_results)
    fresh: bool = False
    retry_failed: bool = False
    wait: bool = True

    def request(self, registry: Registry) -> Request:
        """Return the request for these options."""
        results = Path(self.results)
        extra = own_data(self.data, results, self.target, self.task, self._columns())
        if self.drop_flagged:
            extra = drop_identifiers(extra)
        return Request(
            experiment=self._experiment(registry, extra),
            extra=extra,
            plugin_files=whole_paths(self.plugins),
            results=results,
            executor=self.executor,
            executor_options={"scheduler": self.scheduler} if self.scheduler else {},
            fresh=self.fresh,
            retry_failed=self.retry_failed,
            wait=self.wait,
            named_algorithms=bool(self.algorithms),
        )

    def _columns(self) -> dict[str, Any]:
        """Return the options on columns and rows of the user's own data."""
        roles = {name: getattr(self, name) for name in ("group", "time", "weight", "test")}
        drop = [name for text in self.drop for name in text.split(",") if name]
        return {key: value for key, value in roles.items() if value} | (
            {"drop": drop} if drop else {}
        )

    @property
    def named(self) -> str | Mapping[str, Any]:
        """Return the chosen experiment: a name, a path, or the content of an experiment file."""
        if self.experiment is None:
            return "own_data" if self.data is not None and not self.quick else "quick"
        if self.quick:
            raise ConfigError("quick is a separate experiment: leave out the other one")
        return self.experiment if isinstance(self.experiment, Mapping) else str(self.experiment)

    def _experiment(self, registry: Registry, extra: tuple[Dataset, ...]) -> Experiment:
        """Return the experiment with the changes of these options."""
        limits = ("threads", "jobs", "timeout", "memory", "budget")
        values = {f"run.{name}": getattr(self, name) for name in limits}
        changes = {key: value for key, value in values.items() if value is not None}
        if self.seed is not None:
            changes |= {"run.seeds": [self.seed], "splits.seed": self.seed}
        names = _with_references(self.algorithms, registry) if self.algorithms else []
        datasets = [*(d.name for d in extra), *self.datasets]
        if datasets:
            changes |= {"datasets": datasets, "duels.datasets": datasets, "track_datasets": {}}
        if names:
            changes["duels.algorithms"] = ["*"]
        values = {
            "verdicts.metric": self.metric,
            "training.class_weight": self.class_weight,
            "training.early_stopping": self.early_stopping,
        }
        changes |= {key: value for key, value in values.items() if value is not None}
        if self.track is not None:
            changes["tracks"] = [self.track]
        elif self.quick and self.data is not None:
            changes["tracks"] = ["equal"]  # 1 000 rounds on a large table are not quick
        if changes.get("run.budget") is not None and self.timeout is None:
            changes["run.timeout"] = self.budget
        named = self.named
        if isinstance(self.overrides, Mapping):
            experiment = load_experiment(named, changes={**self.overrides, **changes})
        else:
            experiment = load_experiment(named, overrides=self.overrides, changes=changes)
        if names:  # replaces the algorithms; labels are dropped
            labels = labels_of(experiment)
            chosen = with_own_params(experiment.algorithms, names)
            experiment = without_pairs_of(
                experiment.model_copy(update={"algorithms": chosen}), labels
            )
        return _narrowed(experiment, changes, names)


def own_data(
    data: Any,
    results: Path,
    target: str | None,
    task: str | None,
    columns: Mapping[str, Any] | None = None,
) -> tuple[Dataset, ...]:
    """Return the dataset of the user's own data as a tuple; empty without own data."""
    if data is not None:
        roles = columns or {}
        return (dataset_from_given(data, results, target=target, task=task, columns=roles),)
    if columns:
        names = ", ".join(columns)
        raise ConfigError(f"{names} need your own data (--data FILE), but none are given")
    if target is not None or task is not None:
        raise ConfigError("target and task need your own data (--data FILE), but none are given")
    return ()


def drop_identifiers(extra: tuple[Dataset, ...]) -> tuple[Dataset, ...]:
    """Return the user's own data without the columns that the checks flag as identifiers."""
    from harness.checks.own_data import without_flagged

    if not extra:
        raise ConfigError("--drop-flagged needs your own data (--data FILE), but none are given")
    return tuple(without_flagged(dataset) for dataset in extra)


def whole_paths(plugins: Iterable[str | Path]) -> tuple[str, ...]:
    """Return absolute paths of plugin files, for workers in other folders."""
    return tuple(str(Path(plugin).resolve()) for plugin in plugins)


def duel_experiment(
    sides: tuple[str, str],
    dataset: str,
    *,
    settings: Mapping[str, Any],
    params: tuple[Params, Params] = ((), ()),
    both: Params = (),
    capacity: Params = (),
    seed: int = 0,
    timeout: str | float = "10m",
) -> Experiment:
    """Return the experiment of one duel; ``settings`` are keys of its ``[duels]`` table."""
    given = {key: value for key, value in settings.items() if value is not None}
    if "launches" in given and ("precision" in given or "claim" in given):
        raise ConfigError("launches cannot be combined with precision or claim: set one of them")
    return parse_experiment(
        {
            "name": "duel",
            "algorithms": _choices(sides, params_of_sides(params, both)),
            "datasets": [dataset],
            "capacity": plain_params(capacity),
            "run": {"seeds": [seed], "timeout": timeout},
            "splits": {"seed": seed},
            "duels": {**given, "datasets": [dataset]},
        },
        "the duel",
    )


def parity_experiment(
    a: str,
    b: str | None,
    datasets: Sequence[str],
    registry: Registry,
    *,
    params: tuple[Params, Params] = ((), ()),
    both: Params = (),
    capacity: Params = (),
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
    timeout: str | float = "10m",
) -> Experiment:
    """Return the experiment that compares the trees of A with those of B or A's reference."""
    names = (a, b or _reference(a, registry))
    return parse_experiment(
        {
            "name": "parity",
            "algorithms": _choices(names, params_of_sides(params, both)),
            "datasets": list(datasets),
            "capacity": plain_params(capacity),
            "splits": {"folds": folds, "seed": seed},
            "run": {"threads": threads, "timeout": timeout, "seeds": [seed]},
            "verdicts": {"pairs": [names]},
        },
        "the comparison",
    )


def _choices(names: Sequence[str], params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": n, "params": dict(p)} for n, p in zip(names, params, strict=True)]


def params_of_sides(
    params: tuple[Params, Params], both: Params
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the params of both sides; ``both`` are for each, or named ``a.KEY`` and ``b.KEY``."""
    a, b = (parsed_params(side) for side in params)
    for key, value in parsed_params(both).items():
        side, dot, rest = key.partition(".")
        if dot and side.lower() in {"a", "b"}:
            (a if side.lower() == "a" else b)[rest] = value
        else:
            a[key] = b[key] = value
    return a, b


def parsed_params(params: Params) -> dict[str, Any]:
    """Return params by name; the value of a text ``KEY=VALUE`` is TOML, else plain text."""
    if isinstance(params, Mapping):
        return dict(params)
    parsed: dict[str, Any] = {}
    for text in params:
        key, equals, value = text.partition("=")
        if not equals or not key.strip(" .") or key.strip().endswith("."):
            raise ConfigError(f"a param is KEY=VALUE, such as max_depth=3, not {text!r}")
        try:
            parsed[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed[key.strip()] = value.strip()
    return parsed


def plain_params(params: Params) -> dict[str, Any]:
    """Return params by name, with values of ``KEY=VALUE`` texts as strings."""
    if isinstance(params, Mapping):
        return dict(params)
    return dict(text.partition("=")[::2] for text in params)


def _reference(name: str, registry: Registry) -> str:
    reference = registry.algorithm(name).reference
    if reference is None:
        raise ConfigError(f"{name} has no reference: name the algorithm to compare it with")
    return reference


def with_own_params(algorithms: Sequence[str | Choice], names: Sequence[str]) -> list[str | Choice]:
    """Return algorithms by name, each with its params in the experiment.

    If the experiment has an algorithm several times, under labels, all of them are kept.
    """
    chosen: list[str | Choice] = []
    for name in names:
        own = [
            choice.model_copy(update={"name": name, "label": ""})
            for choice in algorithms
            if isinstance(choice, Choice)
            and (choice.params or choice.grid)
            and fnmatchcase(name, choice.name)
        ]
        plain = any(
            fnmatchcase(name, choice if isinstance(choice, str) else choice.name)
            for choice in algorithms
            if isinstance(choice, str) or not (choice.params or choice.grid)
        )
        chosen += own
        chosen += [name] if plain or not own else []
    return chosen


def _narrowed(
    experiment: Experiment, changes: Mapping[str, Any], names: Sequence[str]
) -> Experiment:
    """Return the experiment with pairs and parity datasets limited to the chosen ones."""
    parity, diagnostics = experiment.parity, experiment.diagnostics
    if parity.datasets and "datasets" in changes:
        parity = parity.model_copy(update={"datasets": ["*"]})
    if names:
        parity, diagnostics = (_of(part, names) for part in (parity, diagnostics))
    return experiment.model_copy(update={"parity": parity, "diagnostics": diagnostics})


def _of(part: Parity | Diagnostics, algorithms: Iterable[str]) -> Any:
    """Return a part of an experiment with only the pairs among some algorithms."""
    pairs, chosen = part.pairs, set(algorithms)
    kept = [pair for pair in pairs or () if chosen.issuperset(pair)]
    return part.model_copy(update={"pairs": kept}) if pairs else part


def _with_references(patterns: Sequence[str], registry: Registry) -> list[str]:
    """Return the algorithms that match patterns, and their references."""
    chosen = registry.matching("algorithm", patterns)
    answers = (registry.algorithm(name).reference for name in chosen)
    known = registry.names("algorithm")
    return list(dict.fromkeys([*chosen, *(a for a in answers if a in known)]))
